// Benchmarks of the core without Python: a table on stdout, JSON with every sample on request.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

#include "base/settings.h"
#include "context.h"
#include "rows_dispatch.h"
#include "rows_matmul.h"
#include "rows_memory.h"

namespace {

constexpr const char* kUsage = R"(harness [--quick | --smoke] [--rows A,B] [--matmul-variants]
        [--device SELECTOR] [--json FILE] [--count-ops N]

  --quick            small sizes, few repeats
  --smoke            tiny sizes, two repeats: does it run, and are the results right
  --rows A,B         only rows whose names begin so
  --matmul-variants  each variant of the matmul kernel too
  --device SELECTOR  as WGTENSOR_DEVICE: index, backend, part of a name
  --count-ops N      tiny rows record N operations once, for instruction counters
  --json FILE        writes adapter, versions and every sample

Exits with 1 where a result is wrong, and with 2 where there is no adapter or an option is unknown.
)";

struct Options {
  bench::Mode mode = bench::Mode::full;
  std::string rows, device, json, command, count_ops;
  bool variants = false, help = false;
};

bool parse(int argc, char** argv, Options& o) {
  o.device = wgt::settings().device;
  o.command = "harness";
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg != "--json") o.command += " " + std::string(arg);
    std::string* text = arg == "--rows"        ? &o.rows
                        : arg == "--device"    ? &o.device
                        : arg == "--json"      ? &o.json
                        : arg == "--count-ops" ? &o.count_ops
                                               : nullptr;
    if (text && i + 1 < argc) {
      *text = argv[++i];
      if (text != &o.json) o.command += " " + *text;
    } else if (arg == "--quick") {
      o.mode = bench::Mode::quick;
    } else if (arg == "--smoke") {
      o.mode = bench::Mode::smoke;
    } else if (arg == "--matmul-variants") {
      o.variants = true;
    } else if (arg == "--help" || arg == "-h") {
      o.help = true;
    } else {
      return false;
    }
  }
  return true;
}

const char* mode_name(bench::Mode m) {
  return m == bench::Mode::full ? "full" : m == bench::Mode::quick ? "quick" : "smoke";
}

bench::Effort effort_of(bench::Mode m) {
  if (m == bench::Mode::smoke) return {2, 0, 0};
  if (m == bench::Mode::quick) return {7, 0.01, 1};
  return {};
}

// What else ran on the machine: programs that wanted a core in the last minute.
std::string load() {
  double average = 0;
#ifndef _WIN32
  if (getloadavg(&average, 1) != 1) return "unknown";
#endif
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", average);
  return text;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

// Clocks rise only under load.
void warm_up(const bench::Context& c, double seconds) {
  bench::Tensor x = wgt::full(c.engine, {1024, 1024}, bench::scalar(1), bench::DType::float32);
  auto start = bench::Clock::now();
  while (bench::seconds_since(start) < seconds) {
    for (int i = 0; i < 50; ++i) wgt::eval({x = bench::op(bench::graph_op::sqrt, {x})});
    c.synchronize();
  }
}

int run(const Options& o) {
  const wgt::rt::AdapterInfo& adapter = wgt::rt::choose_adapter(o.device);
  wgt::graph::Engine* engine =
      wgt::graph::Engine::create(adapter, {wgt::settings().limits == "default", false});
  std::string threads = std::to_string(std::thread::hardware_concurrency());
  bench::Report report;
  report.write_to(o.json);
  report.describe("program", "harness");
  report.describe("command", o.command);
  report.describe("mode", mode_name(o.mode));
  report.describe("adapter", {{"name", adapter.name},
                              {"backend", adapter.backend},
                              {"type", adapter.type},
                              {"driver", adapter.driver}});
  report.describe("host", {{"threads", threads}, {"load", load()}});
  report.describe("versions", {{"wgtensor", WGTENSOR_VERSION},
                               {"wgpu-native", wgt::rt::wgpu_version()},
                               {"compiler", compiler()}});
  std::printf("%s (%s, %s); wgtensor %s, wgpu-native %s; %s; %s host threads\n\n",
              adapter.name.c_str(), adapter.backend.c_str(), adapter.driver.c_str(),
              WGTENSOR_VERSION, wgt::rt::wgpu_version().c_str(), mode_name(o.mode),
              threads.c_str());
  bench::Context c{*engine, report, effort_of(o.mode), o.mode, o.rows, o.variants};
  c.count_ops = std::atoi(o.count_ops.c_str());
  if (o.mode != bench::Mode::smoke) warm_up(c, 0.5);
  bench::dispatch_rows(c);
  bench::memory_rows(c);
  bench::matmul_rows(c);
  c.synchronize();
  if (!report.empty() || c.failed) return c.failed ? 1 : 0;
  std::fprintf(stderr, "harness: no row is called so: %s\n", o.rows.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    if (!parse(argc, argv, options) || options.help) {
      std::fputs(kUsage, options.help ? stdout : stderr);
      return options.help ? 0 : 2;
    }
    return run(options);
  } catch (const wgt::Error& e) {
    std::fprintf(stderr, "harness: %s\n", e.what());
    return e.kind == wgt::ErrorKind::device_not_found ? 2 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "harness: %s\n", e.what());
    return 1;
  }
}

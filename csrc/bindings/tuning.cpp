// Choices of kernels: the tables that Python keeps in files, and what tests prescribe.
#include "tensor/tuning.h"

#include <pybind11/stl.h>

#include <atomic>

#include "base/settings.h"
#include "bindings/bindings.h"

namespace wgt::bind {

namespace {

using graph::TuningTable;

py::module_ keeper() {
  return py::module_::import("wgtensor._autotune");
}

std::atomic<bool> save_is_due{false};

// In the main thread, between two steps of the interpreter.
int save_news(void*) {
  save_is_due.store(false);
  try {
    keeper().attr("save")();
  } catch (py::error_already_set& e) {
    e.discard_as_unraisable("wgtensor._autotune.save");
  }
  return 0;
}

// With the device's lock held, and not the GIL.
void on_news() {
  if (!Py_IsInitialized() || save_is_due.exchange(true)) return;
  if (Py_AddPendingCall(save_news, nullptr) < 0) save_is_due.store(false);
}

py::list choice_rows(const TuningTable::Choices& choices) {
  constexpr const char* origins[] = {"estimate", "stored", "measured"};
  py::list rows;
  for (const auto& [shape_class, c] : choices) {
    py::dict ms;
    for (const auto& [kernel, seconds] : c.seconds) ms[py::str(kernel)] = seconds * 1e3;
    rows.append(py::make_tuple(shape_class, c.kernel, origins[static_cast<size_t>(c.origin)], ms));
  }
  return rows;
}

}  // namespace

std::string tuning_key(const rt::AdapterInfo& a, const rt::DeviceOptions& o) {
  const bool software = rt::wants_software_kernels(a, o);
  return "wgtensor " WGTENSOR_VERSION " | wgpu-native " + rt::wgpu_version() + " | " + a.name +
         " | " + a.backend + " | " + a.driver + " | " + (software ? "software" : "gpu") +
         " kernels" + (o.default_limits ? ", default limits" : "") + (o.debug ? ", debug" : "");
}

graph::Tuning tuning_of(const rt::AdapterInfo& a, const rt::DeviceOptions& o) {
  if (settings().autotune == "0") return {};
  TuningTable& table = TuningTable::of(tuning_key(a, o));
  if (!table.loaded()) keeper().attr("prepare")(table.key());
  using Mode = graph::TuningMode;
  return {&table, settings().autotune == "1" ? Mode::measure : Mode::stored};
}

void init_tuning(py::module_& m) {
  graph::set_tuning_notice(on_news);
  m.def(
      "tuning_key",
      [](py::object device) -> std::optional<std::string> {
        const TuningTable* table = to_device(device)->engine().tuning().table;
        return table ? std::optional(table->key()) : std::nullopt;
      },
      py::arg("device") = py::none(), "What a device's table is kept by; None where it has none.");
  m.def(
      "tuning_load",
      [](const std::string& key, const std::vector<std::pair<std::string, std::string>>& kernels) {
        TuningTable::of(key).load(kernels);
      },
      py::arg("key"), py::arg("kernels"), "(class, kernel) of each choice: the first call counts.");
  m.def(
      "tuning_choices",
      [](const std::string& key) { return choice_rows(TuningTable::of(key).choices()); },
      py::arg("key"), "(class, kernel, origin, milliseconds by kernel) of each choice.");
  m.def(
      "tuning_news",
      [] {
        py::list out;
        for (TuningTable* table : TuningTable::all()) {
          TuningTable::News news = table->take_news();
          if (!news.measured.empty() || !news.reports.empty())
            out.append(py::make_tuple(table->key(), choice_rows(news.measured), news.reports));
        }
        return out;
      },
      "(key, rows as of tuning_choices, reports) of each table with news since the last call.");
  m.def(
      "tuning_forget", [](const std::string& key) { TuningTable::of(key).forget(); },
      py::arg("key"), "Forgets its choices: devices made later load or measure them anew.");
  m.def(
      "tuning_rules",
      [](double budget, std::set<std::string> wrong, std::map<std::string, double> seconds,
         double step) {
        graph::set_tuning_rules({budget, std::move(wrong), std::move(seconds), step});
      },
      py::arg("budget") = 0.2, py::arg("wrong") = std::set<std::string>(),
      py::arg("seconds") = std::map<std::string, double>(), py::arg("step") = 0.0,
      "Seconds that a measurement may take. For tests: kernels that shall go wrong, times that "
      "count instead of measured ones, seconds by which each kernel moves the clock.");
}

}  // namespace wgt::bind

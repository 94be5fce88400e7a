// Rows of results: a table on stdout, and JSON with every sample.
#pragma once
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "timing.h"

namespace bench {

/// A measured row. Exactly one of bytes and flops is set where the row has a rate.
struct Row {
  std::string name, unit;  // the unit of `value`: us, GB/s or GFLOP/s
  double value = 0;
  Timing timing;
  double bytes = 0, flops = 0;  // per iteration, the fewest that the task needs
  std::vector<double> cpu_us;   // of the calling thread per operation, each sample
  std::string note;
};

inline Row in_microseconds(std::string name, Timing t, double operations = 1) {
  Row r{std::move(name), "us", t.median() / operations * 1e6, std::move(t), 0, 0, {}, {}};
  for (double& s : r.timing.seconds) s /= operations;
  return r;
}

inline Row with_bandwidth(std::string name, Timing t, double bytes) {
  return {std::move(name), "GB/s", bytes / t.median() * 1e-9, std::move(t), bytes, 0, {}, {}};
}

inline Row with_rate(std::string name, Timing t, double flops) {
  return {std::move(name), "GFLOP/s", flops / t.median() * 1e-9, std::move(t), 0, flops, {}, {}};
}

inline std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    char escape[8];
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

inline std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", v);
  return std::isfinite(v) ? text : "null";
}

class Report {
 public:
  /// A member of the JSON's head, such as "adapter": name and value pairs.
  void describe(const std::string& section,
                const std::vector<std::pair<std::string, std::string>>& members) {
    std::string text;
    for (const auto& [name, value] : members)
      text += (text.empty() ? "" : ", ") + quoted(name) + ": " + quoted(value);
    head_ += "  " + quoted(section) + ": {" + text + "},\n";
  }
  void describe(const std::string& name, const std::string& value) {
    head_ += "  " + quoted(name) + ": " + quoted(value) + ",\n";
  }

  /// Where each added row goes at once: a run that is cut short leaves what it has.
  void write_to(const std::string& path) { path_ = path; }

  void add(Row row) {
    if (rows_.empty())
      std::printf("%-34s %12s %-8s %11s %9s  %s\n", "row", "median", "", "time", "spread", "");
    double middle = row.timing.median();
    double spread = (row.timing.slowest() - row.timing.fastest()) / middle * 100;
    std::string notes = row.note;
    if (!row.cpu_us.empty()) {
      char text[64];
      std::snprintf(text, sizeof text, "CPU %.2f us", median(row.cpu_us));
      notes = text + (notes.empty() ? "" : "; " + notes);
    }
    std::printf("%-34s %12.5g %-8s %8.4g %s %8.0f%%  %s\n", row.name.c_str(), row.value,
                row.unit.c_str(), middle < 1e-3 ? middle * 1e6 : middle * 1e3,
                middle < 1e-3 ? "us" : "ms", spread, notes.c_str());
    std::fflush(stdout);
    rows_.push_back(std::move(row));
    if (!path_.empty()) write();
  }

  void skip(const std::string& name, const std::string& why) {
    std::printf("%-34s %12s %s\n", name.c_str(), "-", why.c_str());
    std::fflush(stdout);
  }

  bool empty() const { return rows_.empty(); }

 private:
  void write() const {
    std::ofstream out(path_);
    out << "{\n" << head_ << "  \"rows\": [\n";
    for (size_t i = 0; i < rows_.size(); ++i)
      out << "    " << json(rows_[i]) << (i + 1 < rows_.size() ? ",\n" : "\n");
    out << "  ]\n}\n";
    if (!out.flush()) throw std::runtime_error("cannot write " + path_);
  }

  static std::string json(const Row& r) {
    std::string s =
        "{\"name\": " + quoted(r.name) + ", \"library\": \"core\", \"value\": " + number(r.value) +
        ", \"unit\": " + quoted(r.unit) + ", \"inner\": " + std::to_string(r.timing.inner);
    if (r.bytes > 0) s += ", \"bytes\": " + number(r.bytes);
    if (r.flops > 0) s += ", \"flops\": " + number(r.flops);
    if (!r.note.empty()) s += ", \"note\": " + quoted(r.note);
    if (!r.cpu_us.empty()) s += ", \"cpu_us\": " + number(median(r.cpu_us));
    if (!r.cpu_us.empty()) s += ", \"cpu_us_samples\": " + list(r.cpu_us);
    return s + ", \"seconds\": " + list(r.timing.seconds) + "}";
  }

  static std::string list(const std::vector<double>& values) {
    std::string s;
    for (double v : values) s += (s.empty() ? "" : ", ") + number(v);
    return "[" + s + "]";
  }

  std::string head_, path_;
  std::vector<Row> rows_;
};

/// Fails the run: what was timed did not compute what it should.
inline void check_close(const std::string& row, double got, double want, double tolerance) {
  if (std::abs(got - want) <= tolerance) return;
  throw std::runtime_error(row + ": wrong result: " + number(got) + " instead of " + number(want));
}

}  // namespace bench

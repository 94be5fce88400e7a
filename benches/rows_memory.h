// Rows bound by memory: elementwise work, reductions, softmax, and transfers.
#pragma once
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "context.h"

namespace bench {

constexpr int64_t kMi = int64_t{1} << 20;

inline void add_row(Context& c, int64_t n) {
  std::string name = "add_" + count_name(n);
  if (!c.wanted(name) || !c.fits(name, 4 * n)) return;
  std::vector<float> host = noise(n);
  Tensor a = upload(c, {n}, host), b = op(graph_op::multiply, {a, scalar(0.5)});
  wgt::eval({b});
  Tensor last;
  auto make = [&] { return last = op(graph_op::add, {a, b}); };
  auto report = [&](const std::string& row, Timing t, const char* note) {
    auto at = places(n);
    auto got = peek(c, last, at);
    for (size_t i = 0; i < at.size(); ++i)
      check_close(row, got[i], 1.5 * host[static_cast<size_t>(at[i])], 1e-6);
    Row r = with_bandwidth(row, std::move(t), 12.0 * static_cast<double>(n));
    r.note = note;
    c.report.add(std::move(r));
  };
  report(name, measure_op(c, make), "");
  if (n > 16 * kMi) return;
  report(name + "_evals", measure_evals(c, make), "a submission each");
}

/// relu((y * 2 + 1).abs().sqrt() * y - 1), one kernel.
inline void chain_row(Context& c, int64_t n) {
  std::string name = "chain6_" + count_name(n);
  if (!c.wanted(name) || !c.fits(name, 4 * n)) return;
  std::vector<float> host = noise(n);
  Tensor y = upload(c, {n}, host), last;
  Timing t = measure_op(c, [&] {
    Tensor v = op(graph_op::multiply, {y, scalar(2)});
    v = op(graph_op::sqrt, {op(graph_op::abs, {op(graph_op::add, {v, scalar(1)})})});
    v = op(graph_op::subtract, {op(graph_op::multiply, {v, y}), scalar(1)});
    return last = op(graph_op::relu, {v});
  });
  auto at = places(n);
  auto got = peek(c, last, at);
  for (size_t i = 0; i < at.size(); ++i) {
    double x = host[static_cast<size_t>(at[i])];
    check_close(name, got[i], std::max(std::sqrt(std::abs(x * 2 + 1)) * x - 1, 0.0), 1e-5);
  }
  c.report.add(with_bandwidth(name, std::move(t), 8.0 * static_cast<double>(n)));
}

/// Sums over all, rows (axis 0) and columns (axis 1) of a matrix.
inline void sum_rows(Context& c, int64_t rows, int64_t columns) {
  std::string shape = count_name(rows) + "x" + count_name(columns);
  auto name = [&](int axis) {
    return "sum" + (axis < 0 ? "" : std::to_string(axis)) + "_" + shape;
  };
  if (!c.wanted(name(-1)) && !c.wanted(name(0)) && !c.wanted(name(1))) return;
  int64_t n = rows * columns;
  if (!c.fits("sum_" + shape, 4 * n)) return;
  std::vector<float> host = noise(n);
  std::vector<double> by_axis[2] = {std::vector<double>(static_cast<size_t>(columns)),
                                    std::vector<double>(static_cast<size_t>(rows))};
  double all = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k) {
      double v = host[static_cast<size_t>(r * columns + k)];
      all += v;
      by_axis[0][static_cast<size_t>(k)] += v;
      by_axis[1][static_cast<size_t>(r)] += v;
    }
  Tensor x = upload(c, {rows, columns}, host);
  for (int axis = -1; axis < 2; ++axis) {
    if (!c.wanted(name(axis))) continue;
    std::optional<std::vector<int64_t>> axes;
    if (axis >= 0) axes = std::vector<int64_t>{axis};
    Tensor last;
    Timing t = measure_op(c, [&] { return last = wgt::reduce("sum", x, axes, false); });
    auto at = places(last.size());
    auto got = peek(c, last, at);
    double terms = static_cast<double>(n) / static_cast<double>(last.size());
    for (size_t i = 0; i < at.size(); ++i)
      check_close(name(axis), got[i], axis < 0 ? all : by_axis[axis][static_cast<size_t>(at[i])],
                  1e-5 * terms);
    c.report.add(with_bandwidth(name(axis), std::move(t), 4.0 * static_cast<double>(n)));
  }
}

inline void softmax_row(Context& c, int64_t rows, int64_t columns) {
  std::string name = "softmax_" + count_name(rows) + "x" + count_name(columns);
  if (!c.wanted(name) || !c.fits(name, 4 * rows * columns)) return;
  std::vector<float> host = noise(rows * columns);
  Tensor x = upload(c, {rows, columns}, host), last;
  Timing t = measure_op(c, [&] { return last = wgt::softmax(x, -1); });
  for (int64_t r : {int64_t{0}, rows / 2, rows - 1}) {
    const float* row = host.data() + r * columns;
    double sum = 0;
    for (int64_t k = 0; k < columns; ++k) sum += std::exp(static_cast<double>(row[k]));
    for (int64_t k : {int64_t{0}, columns / 2, columns - 1}) {
      double want = std::exp(static_cast<double>(row[k])) / sum;
      check_close(name, peek(c, last, {r * columns + k})[0], want, 1e-5 * want);
    }
  }
  c.report.add(with_bandwidth(name, std::move(t), 8.0 * static_cast<double>(rows * columns)));
}

/// Host memory to the device and back; the host buffers are ordinary pages, touched before.
inline void transfer_rows(Context& c, int64_t bytes) {
  std::string size = std::to_string(bytes / kMi) + "MB";
  std::string up = "upload_" + size, down = "download_" + size;
  if (!c.wanted(up) && !c.wanted(down)) return;
  if (!c.fits(up, bytes)) return;
  std::vector<float> host = noise(bytes / 4), back(host.size());
  Dims shape{bytes / 4};
  Tensor x = upload(c, shape, host);
  if (c.wanted(up)) {
    Timing t = measure(c.effort, [&](int n) {
      for (int i = 0; i < n; ++i) x = upload(c, shape, host);
      c.synchronize();
    });
    c.report.add(with_bandwidth(up, std::move(t), static_cast<double>(bytes)));
  }
  Timing t = measure(c.effort, [&](int n) {
    for (int i = 0; i < n; ++i)
      std::memcpy(back.data(), wgt::to_host(x)->data, static_cast<size_t>(bytes));
  });
  if (back != host) throw std::runtime_error(down + ": wrong result");
  Row row = with_bandwidth(down, std::move(t), static_cast<double>(bytes));
  row.note = "and copied out";
  if (c.wanted(down)) c.report.add(std::move(row));
}

inline void memory_rows(Context& c) {
  c.attempt([&] { add_row(c, c.size(16 * kMi, 16 * kMi, kMi / 4)); });
  c.attempt([&] { add_row(c, c.size(256 * kMi, 32 * kMi, kMi / 4 + 4)); });
  c.attempt([&] { chain_row(c, c.size(64 * kMi, 16 * kMi, kMi / 4)); });
  c.attempt([&] { sum_rows(c, c.size(4096, 4096, 256), c.size(4096, 4096, 512)); });
  if (c.mode != Mode::smoke) {
    c.attempt([&] { sum_rows(c, 64, c.size(kMi, kMi / 4, kMi)); });
    c.attempt([&] { sum_rows(c, c.size(kMi, kMi / 4, kMi), 64); });
  }
  c.attempt([&] { softmax_row(c, c.size(4096, 2048, 64), c.size(4096, 2048, 512)); });
  c.attempt([&] { transfer_rows(c, c.size(256 * kMi, 64 * kMi, 4 * kMi)); });
}

}  // namespace bench

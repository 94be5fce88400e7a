// What the rows share: the device, the effort, and small helpers over the core's tensors.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "report.h"
#include "tensor/tensor.h"
#include "timing.h"

namespace bench {

using graph_op = wgt::graph::OpId;
using wgt::Dims;
using wgt::DType;
using wgt::Tensor;

enum class Mode { full, quick, smoke };

struct Context {
  wgt::graph::Engine& engine;
  Report& report;
  Effort effort;
  Mode mode = Mode::full;
  std::string rows;  // comma-separated beginnings of the names to run; empty: all
  bool matmul_variants = false;
  int count_ops = 0;  // tiny rows record so many operations once, and time nothing else
  bool failed = false;

  /// Runs what may make a row. A failure is told, and the rows after it still run.
  template <class F>
  void attempt(F&& row) {
    try {
      row();
    } catch (const std::exception& e) {
      std::fflush(stdout);
      std::fprintf(stderr, "harness: %s\n", e.what());
      failed = true;
    }
  }
  bool software() const { return engine.device().is_software(); }
  /// The first for real adapters, the second for software ones, the third for smoke tests.
  int64_t size(int64_t full, int64_t reduced, int64_t smoke) const {
    if (mode == Mode::smoke) return smoke;
    return mode == Mode::quick || software() ? reduced : full;
  }
  bool wanted(const std::string& name) const {
    if (rows.empty()) return true;
    for (size_t at = 0; at <= rows.size();) {
      size_t end = std::min(rows.find(',', at), rows.size());
      if (end > at && name.compare(0, end - at, rows, at, end - at) == 0) return true;
      at = end + 1;
    }
    return false;
  }
  bool fits(const std::string& name, int64_t bytes) const {
    const wgt::rt::Limits& l = engine.device().limits();
    if (static_cast<uint64_t>(bytes) <= std::min(l.max_binding, l.max_buffer)) return true;
    report.skip(name, "above this adapter's largest binding");
    return false;
  }

  void submit() const {
    wgt::rt::Lock lock = engine.lock();
    engine.device().submit();
  }
  void synchronize() const {
    wgt::rt::Lock lock = engine.lock();
    engine.device().synchronize(lock);
  }
};

/// "16M", "4096": counts in powers of two.
inline std::string count_name(int64_t n) {
  for (auto [unit, letter] : {std::pair{int64_t{1} << 20, "M"}, {int64_t{1} << 10, "K"}})
    if (n >= unit && n % unit == 0 && (n > 8192 || unit > 1024))
      return std::to_string(n / unit) + letter;
  return std::to_string(n);
}

/// Repeatable noise in [-0.5, 1.5): sums of it do not cancel out.
inline std::vector<float> noise(int64_t n, uint64_t seed = 1) {
  std::vector<float> v(static_cast<size_t>(n));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (float& x : v) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x = static_cast<float>(state >> 40) * 0x1p-23f - 0.5f;
  }
  return v;
}

inline Dims byte_strides(const Dims& shape) {
  Dims strides(shape.size(), 4);
  for (int d = shape.size() - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

inline Tensor upload(const Context& c, const Dims& shape, const std::vector<float>& values) {
  return wgt::from_host(c.engine, DType::float32, shape, byte_strides(shape), values.data());
}

inline Tensor op(graph_op id, const std::vector<wgt::Operand>& operands) {
  return wgt::elementwise(id, operands);
}

inline wgt::Scalar scalar(double v) {
  return {wgt::Kind::f, v, 0};
}

/// Elements of a computed tensor, by their row-major index.
inline std::vector<float> peek(const Context& c, const Tensor& t, const std::vector<int64_t>& at) {
  wgt::eval({t});
  wgt::rt::Lock lock = c.engine.lock();
  if (!t.node()->buffer) throw std::runtime_error("peek: not computed");
  std::vector<float> out;
  for (int64_t i : at) {
    uint64_t offset = static_cast<uint64_t>(t.node()->layout.offset + i) * 4;
    auto r = c.engine.device().read_begin(*t.node()->buffer, offset, 4);
    c.engine.device().read_wait(*r, lock);
    float v;
    std::memcpy(&v, r->data, 4);
    out.push_back(v);
  }
  return out;
}

/// A few places in [0, n), the ends among them.
inline std::vector<int64_t> places(int64_t n) {
  return {0, 1 % n, n / 3, n / 2, n - 1 - n / 7, n - 1};
}

/// Records the work of a tensor; the stream submits after 48 dispatches, as it does for programs
/// that ask for nothing in between.
inline void record(const Context& c, const Tensor& t) {
  wgt::rt::Lock lock = c.engine.lock();
  c.engine.flush({t.node().get()});
}

/// Times `make`, whose results are computed and let go.
inline Timing measure_op(const Context& c, const std::function<Tensor()>& make) {
  return measure(c.effort, [&](int n) {
    for (int i = 0; i < n; ++i) record(c, make());
    c.synchronize();
  });
}

/// The same with a submission for each, as eval() after every operation makes them.
inline Timing measure_evals(const Context& c, const std::function<Tensor()>& make) {
  return measure(c.effort, [&](int n) {
    for (int i = 0; i < n; ++i) wgt::eval({make()});
    c.synchronize();
  });
}

}  // namespace bench

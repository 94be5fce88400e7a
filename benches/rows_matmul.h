// Matrix products: what the graph picks, and each variant of the kernel on demand.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "context.h"
#include "kernels/matmul.h"

namespace bench {

struct MatmulData {
  int64_t m, n, k;
  std::vector<float> a, b;
  double flops() const { return 2.0 * static_cast<double>(m * n) * static_cast<double>(k); }

  void check(const Context& c, const std::string& name, const Tensor& result) const {
    for (int64_t at : places(m * n)) {
      double want = 0, size = 0;
      for (int64_t i = 0; i < k; ++i) {
        double term = static_cast<double>(a[static_cast<size_t>(at / n * k + i)]) *
                      static_cast<double>(b[static_cast<size_t>(i * n + at % n)]);
        want += term;
        size += std::abs(term);
      }
      // The error of a sum in any order grows about as the root of its length.
      double most = std::max(1e-6, 3e-8 * std::sqrt(static_cast<double>(k)));
      check_close(name, peek(c, result, {at})[0], want, most * size);
    }
  }
};

inline MatmulData matmul_data(int64_t m, int64_t n, int64_t k) {
  return {m, n, k, noise(m * k, 1), noise(k * n, 2)};
}

inline std::string matmul_name(int64_t m, int64_t n, int64_t k) {
  if (m == n && n == k) return "matmul_" + std::to_string(m);
  return "matmul_" + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
}

inline void matmul_row(Context& c, int64_t m, int64_t n, int64_t k) {
  std::string name = matmul_name(m, n, k);
  if (!c.wanted(name)) return;
  MatmulData d = matmul_data(m, n, k);
  Tensor a = upload(c, {m, k}, d.a), b = upload(c, {k, n}, d.b), last;
  Timing t = measure_op(c, [&] { return last = wgt::matmul(a, b); });
  d.check(c, name, last);
  c.report.add(with_rate(name, std::move(t), d.flops()));
}

/// One variant through the runtime alone, on row-major operands.
inline void matmul_variant_row(Context& c, const MatmulData& d, int variant) {
  namespace rt = wgt::rt;
  namespace kernels = wgt::kernels;
  std::string name = matmul_name(d.m, d.n, d.k) + "/" + kernels::matmul_variant_name(variant);
  rt::Device& device = c.engine.device();
  kernels::MatmulProblem p{DType::float32, 1, d.m, d.n, d.k, d.k, 1, d.n, 1, true, true};
  kernels::MatmulLaunch launch;
  try {
    launch = kernels::plan_matmul({device.limits(), device.is_software(), device.compute_units()},
                                  p, variant);
  } catch (const wgt::Error& e) {
    return c.report.skip(name, e.what());
  }
  auto array = [](bool vec4) { return vec4 ? "array<vec4<f32>>" : "array<f32>"; };
  std::vector<uint32_t> params;
  for (int64_t v : {d.m, d.n, d.k, int64_t{1}, p.a_rs, p.a_cs, p.b_rs, p.b_cs})
    params.push_back(static_cast<uint32_t>(v));
  rt::KernelDesc desc;
  desc.label = name;
  desc.bindings = {rt::Access::read, rt::Access::read, rt::Access::read_write};
  desc.param_bytes = static_cast<uint32_t>(4 * params.size());
  desc.immediates = device.use_immediates(desc.param_bytes);
  std::string declarations =
      "struct Params { m: u32, n: u32, k: u32, batch: u32, a_rs: u32, a_cs: u32, b_rs: u32, "
      "b_cs: u32 }\n"
      "@group(0) @binding(0) var<storage, read> in0: " +
      std::string(array(launch.a_vec4)) +
      ";\n"
      "@group(0) @binding(1) var<storage, read> in1: " +
      array(launch.b_vec4) +
      ";\n"
      "@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;\n" +
      (desc.immediates ? "var<immediate> p: Params;\n"
                       : "@group(0) @binding(3) var<uniform> p: Params;\n") +
      "fn batch_offset(b: u32) -> vec2<u32> { return vec2<u32>(0u, 0u); }\n"
      "fn emit4(b: u32, r: u32, c: u32, v: vec4<f32>) { out[(r * p.n + c) >> 2u] = v; }\n";
  desc.source = kernels::matmul_source(launch, declarations);

  Tensor a = upload(c, {d.m, d.k}, d.a), b = upload(c, {d.k, d.n}, d.b),
         out = wgt::empty(c.engine, {d.m, d.n}, DType::float32);
  rt::Buffer* buffers[] = {a.node()->buffer.get(), b.node()->buffer.get(),
                           out.node()->buffer.get()};
  rt::KernelRef kernel;
  auto start = Clock::now();
  {
    rt::Lock lock = c.engine.lock();
    kernel = device.kernel(std::move(desc));
    device.compile(*kernel);
  }
  double compile_ms = seconds_since(start) * 1e3;
  Timing t = measure(c.effort, [&](int n) {
    rt::Lock lock = c.engine.lock();
    for (int i = 0; i < n; ++i)
      device.dispatch(*kernel, buffers, params.data(), launch.gx, launch.gy, launch.gz);
    device.synchronize(lock);
  });
  d.check(c, name, out);
  Row row = with_rate(name, std::move(t), d.flops());
  row.note = "compiled in " + std::to_string(static_cast<int>(compile_ms)) + " ms";
  c.report.add(std::move(row));
}

/// Many small products at once, and an operand read across its rows.
inline void matmul_form_rows(Context& c, int64_t batch, int64_t small, int64_t large) {
  std::string name = "matmul_" + std::to_string(batch) + "of" + std::to_string(small);
  MatmulData d = matmul_data(batch * small, small, small);
  if (c.wanted(name)) {
    // One right-hand matrix for all: the result is that of the tall product.
    Tensor a = upload(c, {batch, small, small}, d.a), b = upload(c, {small, small}, d.b), last;
    b = wgt::copy(wgt::broadcast_to(b, {batch, small, small}));
    wgt::eval({b});
    Timing t = measure_op(c, [&] { return last = wgt::matmul(a, b); });
    d.check(c, name, last);
    c.report.add(with_rate(name, std::move(t), d.flops()));
  }
  name = matmul_name(large, large, large) + "_transposed";
  if (!c.wanted(name)) return;
  d = matmul_data(large, large, large);
  std::vector<float> across(d.b.size());
  for (int64_t i = 0; i < large; ++i)
    for (int64_t j = 0; j < large; ++j)
      across[static_cast<size_t>(j * large + i)] = d.b[static_cast<size_t>(i * large + j)];
  Tensor a = upload(c, {large, large}, d.a), b = upload(c, {large, large}, across), last;
  Timing t = measure_op(c, [&] { return last = wgt::matmul(a, wgt::permute(b, {1, 0})); });
  d.check(c, name, last);
  c.report.add(with_rate(name, std::move(t), d.flops()));
}

inline void matmul_rows(Context& c) {
  bool reduced = c.software() || c.mode != Mode::full;
  std::vector<int64_t> sizes = {512, 1024, 2048, 4096, 8192};
  if (reduced) sizes = {256, 512, 1024};
  if (c.mode == Mode::smoke) sizes = {128};
  for (int64_t n : sizes) c.attempt([&] { matmul_row(c, n, n, n); });
  if (!reduced) {
    c.attempt([&] { matmul_row(c, 4096, 4096, 64); });
    c.attempt([&] { matmul_row(c, 64, 4096, 4096); });
    c.attempt([&] { matmul_row(c, 4096, 64, 4096); });
  }
  if (c.mode == Mode::smoke)
    c.attempt([&] { matmul_form_rows(c, 3, 32, 64); });
  else
    c.attempt([&] { matmul_form_rows(c, 64, reduced ? 64 : 256, reduced ? 512 : 4096); });
  if (!c.matmul_variants) return;
  Context brief = c;
  brief.effort.repeats = std::min(c.effort.repeats, 7);
  for (int64_t n : sizes) {
    if (n > 4096 || !c.wanted(matmul_name(n, n, n))) continue;
    MatmulData d = matmul_data(n, n, n);
    for (int v = 0; v < wgt::kernels::matmul_variant_count(); ++v)
      if (!wgt::kernels::matmul_variant_of_halves(v))
        c.attempt([&] { matmul_variant_row(brief, d, v); });
  }
}

}  // namespace bench

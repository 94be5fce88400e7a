#include "graph/products.h"

#include <algorithm>

#include "base/errors.h"
#include "graph/codegen.h"

namespace wgt::graph {

kernels::MatmulTarget matmul_target(const rt::Device& device) {
  return {device.limits(), device.software_kernels(), device.compute_units(),
          device.workgroups_meet()};
}

// Few tiles leave most of a large GPU idle: the axis is cut where that makes up for the second
// kernel, whose cost is counted in multiply-adds of a multiprocessor (measured on an NVIDIA H100:
// about 10 us with what the host does for it, and the time to move the pieces' results).
int64_t product_pieces(const rt::Device& device, DType dtype, const Dims& shape, int64_t k) {
  constexpr double kDispatch = 1.8e6;
  constexpr int64_t kShortest = 128;
  const kernels::MatmulTarget target = matmul_target(device);
  if (target.software || k < 2 * kShortest) return 1;
  const int64_t m = shape[shape.size() - 2], n = shape.back(), matrices = numel(shape) / (m * n);
  int64_t best = 1;
  double least = 0;
  for (int64_t pieces : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32}) {
    if (pieces > 1 && k / pieces < kShortest) break;
    const int64_t length = length_of_pieces(k, pieces);
    kernels::MatmulProblem p{dtype, matrices * pieces, m, n, length, k, 1, n, 1, true, true};
    double cost = kernels::matmul_cost(target, p);
    if (pieces > 1)
      cost += kDispatch +
              static_cast<double>(numel(shape) * pieces) * kernels::kMatmulMove / target.units;
    if (pieces > 1 && cost >= least) continue;
    least = cost;
    best = pieces;
  }
  return best;
}

// Above a binding a product has kernels for parts of its result, which cut nothing.
bool meets_in_product(const rt::Device& device, DType dtype, const Dims& a, const Dims& b) {
  const int64_t m = a[a.size() - 2], n = b.back(), k = a.back();
  return device.workgroups_meet() && !device.software_kernels() && !is_packed(dtype) &&
         !is_wide(dtype) && numel(a) == m * k && numel(b) == k * n &&
         std::max({m * k, k * n, m * n}) * info(dtype).size <= KernelCode::window_limit(device);
}

std::vector<std::string> matmul_kernels(const rt::Device& device) {
  std::vector<std::string> names;
  for (int v = 0; v < kernels::matmul_variant_count(); ++v)
    if (kernels::matmul_variant_fits(device.limits(), v, DType::float32) &&
        (device.features().f16 || !kernels::matmul_variant_of_halves(v)))
      names.emplace_back(kernels::matmul_variant_name(v));
  return names;
}

namespace {

constexpr std::string_view kPrefix = "matmul:";

/// Of the kernel that a value of the setting `kernels` names; -1 where it names none. `setting`: as
/// the user knows it.
int named_variant(std::string_view kernels, const char* setting) {
  if (!kernels.starts_with(kPrefix)) return -1;
  int variant = kernels::matmul_variant_named(kernels.substr(kPrefix.size()));
  if (variant >= 0) return variant;
  std::string names;
  for (int v = 0; v < kernels::matmul_variant_count(); ++v)
    names += std::string(v ? ", " : "") + kernels::matmul_variant_name(v);
  raise(ErrorKind::value, std::string(setting) + "='" + std::string(kernels) +
                              "': expected 'gpu', 'gpu:ballots', 'software', nothing, or "
                              "'matmul:' and one of " +
                              names);
}

}  // namespace

void check_kernels(std::string_view kernels, const char* setting) {
  named_variant(kernels, setting);
}

int forced_variant(const rt::Device& device, DType operands) {
  int variant = named_variant(device.options().kernels, "kernels");
  if (variant < 0) return -1;
  if (kernels::matmul_variant_of_halves(variant) && operands != DType::float16) return -1;
  return kernels::matmul_variant_fits(device.limits(), variant, unpacked(operands)) ? variant : -1;
}

bool reads_packed(const rt::Device& device, DType operands) {
  return operands == DType::float16 && device.features().f16;
}

}  // namespace wgt::graph

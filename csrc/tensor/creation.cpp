#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/called.h"
#include "tensor/tensor.h"

namespace wgt {

namespace {

// Copies a strided host array to dense memory; recursion is as deep as the rank.
void pack(std::byte* dst, const std::byte* src, const Dims& shape, const Dims& strides, int d,
          int64_t item, int64_t dense) {
  int64_t n = shape[d], step = strides[d];
  if (d == shape.size() - 1) {
    if (step == item) {
      std::memcpy(dst, src, static_cast<size_t>(n * item));
    } else {
      for (int64_t i = 0; i < n; ++i)
        std::memcpy(dst + i * item, src + i * step, static_cast<size_t>(item));
    }
    return;
  }
  dense /= n;
  for (int64_t i = 0; i < n; ++i)
    pack(dst + i * dense, src + i * step, shape, strides, d + 1, item, dense);
}

bool dense_bytes(const Dims& shape, const Dims& strides, int64_t item) {
  int64_t step = item;
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

}  // namespace

Tensor from_host(graph::Engine& e, DType dtype, const Dims& shape, const Dims& strides,
                 const void* data) {
  int64_t item = info(dtype).size, bytes = numel(shape) * item;
  rt::Lock lock = e.lock();
  e.device().catch_up(lock);
  e.collect();
  if (bytes == 0) return Tensor(e.fill(dtype, shape, 0));
  graph::NodeRef n = e.empty(dtype, shape, "asarray");
  naming("asarray", [&] {
    if (dense_bytes(shape, strides, item)) {
      e.device().upload(*n->buffer, 0, data, static_cast<uint64_t>(bytes));
      return;
    }
    uint64_t padded = static_cast<uint64_t>((bytes + 3) / 4 * 4);
    auto* dst = static_cast<std::byte*>(e.device().upload_begin(*n->buffer, 0, padded));
    pack(dst, static_cast<const std::byte*>(data), shape, strides, 0, item, bytes);
  });
  return Tensor(std::move(n));
}

Tensor empty(graph::Engine& e, const Dims& shape, DType dtype, bool blank) {
  check_dtype(e, dtype, "empty");
  rt::Lock lock = e.lock();
  if (numel(shape) == 0) return Tensor(e.fill(dtype, shape, 0));
  graph::NodeRef n = e.empty(dtype, shape);
  if (blank) e.device().blank(*n->buffer, n->bytes());
  return Tensor(n);
}

Tensor arange(graph::Engine& e, double start, double stop, double step, DType dtype) {
  double count = std::ceil((stop - start) / step);
  auto values = [&] {
    return "start " + std::to_string(start) + ", stop " + std::to_string(stop) + ", step " +
           std::to_string(step);
  };
  if (step == 0) raise(ErrorKind::value, "[arange] the step is zero: " + values());
  if (!std::isfinite(count))
    raise(ErrorKind::value, "[arange] the number of elements is not finite: " + values());
  if (count >= 4294967296.0)
    raise(ErrorKind::unsupported, "[arange] has 2^32 elements or more: " + values());
  int64_t n = count > 0 ? static_cast<int64_t>(count) : 0;
  if (is_bool(dtype)) raise(ErrorKind::dtype, "[arange] is not defined for bool");
  DType wide = unpacked(dtype);
  rt::Lock lock = e.lock();
  e.device().check();
  if (n == 0) return Tensor(e.fill(dtype, Dims{0}, 0));
  Tensor whole(e.iota(wide, n, scalar_bits(wide, start), scalar_bits(wide, step)));
  lock.unlock();
  return astype(whole, dtype);
}

Tensor eye(graph::Engine& e, int64_t n, int64_t m, int64_t k, DType dtype) {
  check_dtype(e, dtype, "eye");
  k = std::clamp(k, -n, m);  // beyond the matrix all are alike
  Tensor rows = expand_dims(
      arange(e, static_cast<double>(k), static_cast<double>(n + k), 1, DType::int32), {1});
  Tensor columns = arange(e, 0, static_cast<double>(m), 1, DType::int32);
  return astype(elementwise(graph::OpId::equal, {rows, columns}), dtype);
}

}  // namespace wgt

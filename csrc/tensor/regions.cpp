#include "tensor/regions.h"

#include <algorithm>

#include "tensor/scatter.h"

namespace wgt {

bool is_basic(const std::vector<KeyItem>& key) {
  return std::all_of(key.begin(), key.end(), [](const KeyItem& k) {
    return k.what != KeyItem::indices && k.what != KeyItem::mask;
  });
}

std::vector<IndexItem> basic_items(const std::vector<KeyItem>& key) {
  std::vector<IndexItem> items;
  for (const KeyItem& k : key)
    if (k.what != KeyItem::gap) items.push_back(k.item);
  return items;
}

bool is_integer_item(const KeyItem& k) {
  return k.what == KeyItem::basic && k.item.what == IndexItem::integer;
}

IndexItem whole_axis(int64_t size) {
  return {IndexItem::slice, 0, 1, size};
}

namespace {

// Beside arrays integers count as some: NumPy puts the dimensions of the indices where those stand
// together, and in front where they do not.
int place_of(const std::vector<KeyItem>& key) {
  int before = 0, state = 0;  // no array yet, among arrays, behind them
  for (const KeyItem& k : key) {
    bool array = k.what == KeyItem::indices || k.what == KeyItem::mask || is_integer_item(k);
    if (array && state == 2) return 0;
    if (array) state = 1;
    if (!array && state == 1) state = 2;
    if (!array && state == 0 && k.what != KeyItem::gap) ++before;
  }
  return before;
}

void add_mask(Resolved& r, const Tensor& mask, IndexMode mode) {
  bool scalar = mask.rank() == 0;  // a new axis, once or not at all
  for (int d = 0; d < mask.rank(); ++d) r.basic.push_back(whole_axis(mask.shape()[d]));
  if (scalar) r.basic.push_back({IndexItem::newaxis, 0, 1, 1});
  for (Tensor& i : places_of_true(scalar ? reshape(mask, Dims{1}) : mask))
    r.indices.push_back(AxisIndex{std::move(i), mode});
}

bool is_whole(const std::vector<IndexItem>& items, const Dims& shape) {
  if (static_cast<int>(items.size()) != shape.size()) return false;
  for (int d = 0; d < shape.size(); ++d) {
    const IndexItem& i = items[static_cast<size_t>(d)];
    if (i.what != IndexItem::slice || i.step != 1 || i.length != shape[d]) return false;
  }
  return true;
}

}  // namespace

Resolved resolve(const std::vector<KeyItem>& key) {
  Resolved r;
  r.at = place_of(key);
  auto arrays = std::count_if(key.begin(), key.end(), [](const KeyItem& k) {
    return k.what == KeyItem::indices || k.what == KeyItem::mask;
  });
  int axis = 0;  // of the tensor
  for (const KeyItem& k : key) {
    if (k.what == KeyItem::gap) continue;
    if (k.what == KeyItem::mask) {
      add_mask(r, k.tensor, arrays == 1 ? IndexMode::distinct : IndexMode::trusted);
      axis += k.tensor.rank();
      continue;
    }
    int own = axis;
    axis += k.item.what != IndexItem::newaxis;
    r.basic.push_back(k.item);
    if (is_integer_item(k)) continue;
    if (k.what == KeyItem::indices)
      r.indices.push_back(AxisIndex{k.tensor, k.mode, own});
    else
      r.indices.push_back(std::nullopt);
  }
  return r;
}

Dims indexed_sizes(const Dims& region, const Indices& indices) {
  Dims sizes;
  for (int d = 0; d < region.size(); ++d)
    if (indices[static_cast<size_t>(d)]) sizes.push_back(region[d]);
  return sizes;
}

Dims spread(const Dims& strides, const Indices& indices) {
  Dims out;
  int next = 0;
  for (const auto& i : indices) out.push_back(i ? strides[next++] : 0);
  return out;
}

std::vector<int64_t> free_axes(const Indices& indices) {
  std::vector<int64_t> axes;
  for (size_t d = 0; d < indices.size(); ++d)
    if (!indices[d]) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

Tensor fitted_value(const Tensor& t, const Operand& value, const Dims& shape, const char* op) {
  Tensor v = std::holds_alternative<Tensor>(value)
                 ? astype(std::get<Tensor>(value), t.dtype())
                 : full(t.engine(), Dims(), std::get<Scalar>(value), t.dtype(), op);
  if (&v.engine() != &t.engine())
    raise(ErrorKind::device_mismatch, std::string("[") + op + "] the tensor is on " +
                                          t.engine().name() + ", the value on " +
                                          v.engine().name());
  while (v.rank() > shape.size() && v.shape()[0] == 1) v = squeeze(v, std::vector<int64_t>{0});
  bool fits = v.rank() <= shape.size();
  for (int d = 1; fits && d <= v.rank(); ++d) {
    int64_t size = v.shape()[v.rank() - d];
    fits = size == 1 || size == shape[shape.size() - d];
  }
  if (!fits)
    raise(ErrorKind::shape, std::string("[") + op + "] a value of shape " + to_string(v.shape()) +
                                " does not fit the shape " + to_string(shape) + " of what is set");
  return v;
}

Tensor put_back(const Tensor& t, const std::vector<IndexItem>& basic, const Tensor& region) {
  return is_whole(basic, t.shape()) ? region : index_assign(t, basic, region);
}

}  // namespace wgt

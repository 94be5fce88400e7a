// NumPy's indexing by arrays and masks, mixed with integers, slices and new axes.
#pragma once
#include "tensor/gather.h"

namespace wgt {

/// One part of a key.
struct KeyItem {
  enum What : uint8_t {
    basic,    // `item`
    indices,  // along one axis, which `item` keeps whole
    mask,     // of as many axes as it has dimensions
    gap,      // an ellipsis for no axes: it keeps arrays apart
  } what = basic;
  IndexItem item;
  Tensor tensor;
  IndexMode mode = IndexMode::raise;
};

/// Whether basic indexing does for the key.
bool is_basic(const std::vector<KeyItem>& key);
std::vector<IndexItem> basic_items(const std::vector<KeyItem>& key);

/// Masks take reading back how many are true.
Tensor advanced_index(const Tensor& t, const std::vector<KeyItem>& key, const char* op);
/// `t` with the indexed elements replaced by `value`, broadcast and cast; of several writes to an
/// element the last one in row-major order stays.
Tensor advanced_assign(const Tensor& t, const std::vector<KeyItem>& key, const Operand& value,
                       const char* op);

}  // namespace wgt

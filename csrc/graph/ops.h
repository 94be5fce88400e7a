// The elementwise table as data, and its dtype rules.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace wgt::graph {

enum class OpId : uint16_t {
#define ROW(name, ...) name,
#include "graph/elementwise.def"
#undef ROW
  // Not in the table: no function of their own name.
  cast,     // to the node's dtype
  copy,     // identity that makes a dense result
  checked,  // an index along an axis, counted from its start; what is out of range is recorded
  checked_write,  // the same, for an element to write: out of range it leads nowhere
  gather,         // elements of inputs[0], which is in memory, at inputs[1]
  // Of random words (shaders/lib/random.wgsl).
  unit,         // the upper bits of a word, the lower `shift` dropped, as a float32 in [0, 1)
  unit64,       // 53 bits of two words as a float64 in [0, 1)
  minus_log,    // -log(u) of a word
  minus_log64,  // of two words
  cos_turn,     // cosine of a part of a turn, by a word
  cos_turn64,   // by two words
  below,        // two words as an integer below the third operand, whose dtype the result has
  affine,       // x1 * x2 + x3, the product rounded: alike on every adapter
};

enum class Rule : uint8_t {
  arith,        // operands promote; result alike
  arith_float,  // operands promote, integers become the default float
  same,         // unary, dtype kept
  unary_float,  // unary, integers and bool become the default float
  compare,      // operands promote; bool result
  logical,      // operands become bool; bool result
  bits,         // operands promote; no floats
  predicate,    // unary in its own dtype; bool result
  select,       // bool condition; the others promote
};

struct OpInfo {
  const char* name;
  const char* parameters;  // "x, slope=0.01"
  int arity;
  Rule rule;
  const char* wgsl[4];  // by Kind: b, i, u, f; "" where not taken
  const char *numpy, *domain, *dunder, *doc;
};

/// Number of rows of the table.
constexpr int kTableRows = 0
#define ROW(...) +1
#include "graph/elementwise.def"
#undef ROW
    ;

const OpInfo& op_info(OpId op);
constexpr bool is_check(OpId op) {
  return op == OpId::checked || op == OpId::checked_write;
}
/// The row of that name, or -1.
int find_op(std::string_view name);

/// Whether the operation computes in this dtype.
bool is_defined(OpId op, DType compute);

/// Whether the operation takes operands of this dtype.
bool takes(OpId op, DType operands);

struct OpTypes {
  DType compute;  // operands are cast to it (but for where's condition)
  DType result;
};
/// Dtypes of an operation whose operands promote to `common`. Raises DTypeError naming op and
/// dtype.
OpTypes op_types(OpId op, DType common);

}  // namespace wgt::graph

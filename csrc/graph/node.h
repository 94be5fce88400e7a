// A node of the lazy graph: immutable in what it means, mutable in where its value is.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/layout.h"
#include "base/refcount.h"
#include "graph/ops.h"
#include "runtime/buffer.h"

namespace wgt::graph {

class Engine;

enum class NodeKind : uint8_t {
  leaf,     // value in `buffer`, read through `layout`
  input,    // stands for a tensor while a program is recorded
  fill,     // every element is `bits`
  iota,     // 1-D: start + i * step, both as bits of the dtype
  random,   // uint32: word i of the Philox counter that begins at `step`, by the key `bits`
  map,      // elementwise operation `op`; a gather reads inputs[0] at `layout` over its own index,
            // moved by inputs[1] elements, which lie from `bits` to `step`; of a checked index
            // `bits` is the axis's size
  view,     // reads inputs[0], a pending node, through `layout` over its row-major index
  reduce,   // over `axes` of inputs[0]; the axes are gone from `shape`. Some fold pairs, of
            // inputs[1] too
  softmax,  // over the last axis, or its logarithm
  normalize,  // the last axis to a mean square of 1, epsilon in `bits`; or a gradient, inputs[1]
  scan,     // along the last axis by `reduce`; one place longer than the input: behind the identity
  sort,     // rows of the last axis, by `sort`: their elements, or their places in the input
  tally,    // how many elements of inputs[0], a vector of bools, are true in each block
  compact,  // places of those elements, or inputs[2] at them; inputs[1]: how many are before a
            // block
  search,   // for each element of inputs[0] its place in inputs[1], a sorted vector
  matmul,   // inputs [batch.., rows.., shared..] and [batch.., shared.., columns..]; batches
            // broadcast
  assign,  // inputs[0] with the elements at `layout` (over inputs[1]'s shape) replaced by inputs[1]
  scatter,  // inputs[0] with inputs[1] put at `layout` over its index, moved by inputs[2] elements;
            // what moves beyond `step` is left out
  segments,  // inputs[0], with rows of inputs[1] folded by `reduce` into those rows of it that
             // inputs[2] say, which ascend but in any_order; those it lacks are left out
  failed,    // its computation raised `error`
};

enum class ReduceOp : uint8_t {
  sum,
  prod,
  max,
  min,
  any,
  all,
  argmax,  // place among the reduced elements in row-major order; the first, or the first NaN
  argmin,
  deviations,  // of differences from a mean: the sum of their squares
  logsumexp,
  // Of pairs of elements (inputs[1] has inputs[0]'s shape); results are words in a last dimension.
  cross_entropy,  // scores and targets: sum(t) logsumexp(s) - sum(t s), max(s), log(sum(exp(s -
                  // max(s)))), sum(t)
  weighted_mean,  // sum(a) / sum(b), 1 / sum(b)
};
const char* reduce_name(ReduceOp op);
/// How many words a result has: one, which no dimension of the result counts, or several.
int result_words(ReduceOp op);
/// The dtype that reducing elements of dtype `input` gives.
DType reduced_dtype(ReduceOp op, DType input);
/// What changes nothing when it is folded in: what an empty fold gives.
uint64_t identity_bits(ReduceOp op, DType t);

/// What a scatter does with an element and one that is there: all but `store` are atomic, on 32-bit
/// integers.
enum class ScatterOp : uint8_t { store, add, max, min };

/// Over how many dimensions the indexes of a matrix product run: one each in the plain case.
struct ProductRanks {
  uint8_t rows = 1, columns = 1, shared = 1;
};

/// How rows are sorted: stable, NaN last in either order, both zeros alike.
struct SortForm {
  bool descending = false;
  bool places = false;   // the result is where elements were, in int32, not the elements
  uint8_t key_bits = 0;  // of the integers, none of them negative; 0: all that the dtype has
};

/// Where an index is used, as errors name it.
struct IndexSite {
  std::string op;
  int axis = 0;
  int64_t size = 0;        // of that axis
  std::string message;     // of a value that is checked as an index below 1 is: what the error says
  bool is_signed = false;  // indices from int32's half on were negative ones
  bool operator==(const IndexSite&) const = default;
};
/// What a search gives: how many elements of the sorted vector are less, or less or equal, or
/// whether one is equal, as 0 or 1.
enum class SearchSide : uint8_t { left, right, found };

/// Elements that a tally counts together.
constexpr int64_t kTallyBlock = 4096;

struct Node;
using NodeRef = Ref<Node>;

/// What a node computes.
struct Meaning {
  NodeKind kind = NodeKind::leaf;
  DType dtype = DType::float32;
  OpId op = OpId::copy;
  ReduceOp reduce = ReduceOp::sum;
  uint8_t arity = 0;
  bool logarithm = false;  // softmax
  bool centred = false;    // normalize: less the mean
  bool quads = false;      // gather: inputs[1] are multiples of four
  bool any_order = false;  // segments: inputs[2] need not ascend; sums of float32, which are exact
  SortForm sort;
  ScatterOp scatter = ScatterOp::store;
  SearchSide side = SearchSide::left;  // search
  Dims shape;
  Layout layout;                // leaf, view, assign, scatter, gather
  uint32_t axes = 0;            // reduce: bit mask of the input's axes
  uint32_t stream = 0;          // random: the counter's third word
  ProductRanks ranks;           // matmul
  uint64_t bits = 0, step = 0;  // fill, iota: in the compute form; random: key and counter;
                                // matmul: see lower_matmul.cpp; gather, scatter
  NodeRef inputs[3];
  std::shared_ptr<IndexSite> site;  // a checked index: what its errors name
};

struct Node : RefCounted, Meaning {
  bool deferred = false;  // held, but cheaper to keep than to compute: not a root any more
  bool traced = false;    // made while its thread recorded a program, which may know its value
  std::atomic<uint32_t> handles{0};  // live tensors of this node (a part of refs)
  uint32_t readers = 0;              // pending nodes that read it [engine lock]
  rt::BufferRef buffer;              // leaf
  Engine* engine = nullptr;
  std::shared_ptr<Error> error;  // failed; or pending, while a flush runs that lacks memory for it
  std::shared_ptr<std::string> origin;  // debug: the Python line that made it

  // Position in the engine's list of pending nodes, or of small results.
  Node *prev = nullptr, *next = nullptr;
  bool pending = false, small = false;
  // Scratch of one flush [engine lock].
  int mark = -1;       // number in the flush's graph
  uint32_t edges = 0;  // references that the flush's nodes hold
  uint64_t epoch = 0;  // flush that these belong to
  bool wanted = false;

  Node* next_dead = nullptr;
  void on_zero();
  uint64_t bytes() const {
    return static_cast<uint64_t>(numel(shape)) * static_cast<uint64_t>(info(dtype).size);
  }
};

/// A counted handle: what a live tensor holds. Roots of a flush are found by it.
class Handle {
 public:
  Handle() = default;
  explicit Handle(NodeRef n) : n_(std::move(n)) { inc(); }
  Handle(const Handle& o) : n_(o.n_) { inc(); }
  Handle(Handle&& o) noexcept : n_(std::move(o.n_)) {}
  Handle& operator=(Handle o) noexcept {
    std::swap(n_, o.n_);
    return *this;
  }
  ~Handle() {
    if (n_) n_->handles.fetch_sub(1, std::memory_order_relaxed);
  }
  const NodeRef& ref() const { return n_; }
  Node* get() const { return n_.get(); }
  Node* operator->() const { return n_.get(); }
  explicit operator bool() const { return static_cast<bool>(n_); }

 private:
  void inc() {
    if (n_) n_->handles.fetch_add(1, std::memory_order_relaxed);
  }
  NodeRef n_;
};

}  // namespace wgt::graph

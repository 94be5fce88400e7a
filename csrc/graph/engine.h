// One device's lazy graph: makes nodes, decides when to compute, runs plans.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "graph/faults.h"
#include "graph/node.h"
#include "graph/plan.h"
#include "graph/program.h"
#include "runtime/device.h"

namespace wgt::graph {

class Engine {
 public:
  /// Raises DeviceNotFoundError. Engines live until the process ends.
  /// The shared one of its adapter is "gpu:0", others "gpu:0#1" and on.
  static Engine* create(const rt::AdapterInfo& adapter, const rt::DeviceOptions& options,
                        Tuning tuning = {}, bool shared = false);

  /// How choices among kernels are made.
  Tuning tuning() const { return tuning_; }

  /// The lock of everything below. Release the GIL first.
  rt::Lock lock();
  /// The lock if it is free and the next node starts no work: then making nodes takes well under a
  /// microsecond.
  rt::Lock try_lock_for_node();
  rt::Device& device() { return *device_.load(std::memory_order_acquire); }
  const std::string& name() const { return name_; }  // "gpu:0"
  const rt::AdapterInfo& adapter() const { return adapter_; }

  // Nodes. [lock] Shapes are checked by the tensor layer; these check what only the engine knows.
  NodeRef leaf(DType dtype, const Dims& shape, rt::BufferRef buffer);
  NodeRef fill(DType dtype, const Dims& shape, uint64_t bits);
  NodeRef iota(DType dtype, int64_t n, uint64_t start, uint64_t step);
  /// Words of 32 random bits: element i is word i % 4 of Philox4x32-10 by the key `seed` at the
  /// counter (offset + i / 4, stream).
  NodeRef random(const Dims& shape, uint64_t seed, uint64_t offset, uint32_t stream);
  NodeRef map(OpId op, DType dtype, const Dims& shape, const NodeRef* inputs, int arity);
  /// Reads `base` (leaf, view or pending) through `layout`, which counts elements of what base
  /// counts from.
  NodeRef view(const NodeRef& base, const Dims& shape, const Layout& layout);
  /// A view that may show elements so often that nothing but a product can take it whole.
  NodeRef overlapping_view(const NodeRef& base, const Dims& shape, const Layout& layout);
  NodeRef reduce(ReduceOp op, const NodeRef& input, uint32_t axes, const NodeRef& second = {});
  NodeRef softmax(const NodeRef& input, bool logarithm = false);
  /// Rows over the last axis to a mean square of 1, `eps` in the dtype's bits; with `gradient` of
  /// the result, the gradient of the input.
  NodeRef normalize(const NodeRef& input, const NodeRef& gradient, bool centred, uint64_t eps);
  /// Inclusive, along the last axis; `shape` is the input's, or one longer there to begin with the
  /// operation's identity.
  NodeRef scan(ReduceOp op, const NodeRef& input, const Dims& shape);
  /// Along the last axis, of two elements or more. Elements come in the dtype of whole words that
  /// holds them.
  NodeRef sort(const NodeRef& input, SortForm form);
  /// Of a vector of bools that is not empty: its true elements, for each block of kTallyBlock.
  NodeRef tally(const NodeRef& mask);
  /// Places (int32) of the `count` true elements, or `values` there in the dtype of whole words
  /// that holds them; `before`: how many are before each block.
  NodeRef compact(const NodeRef& mask, const NodeRef& before, const NodeRef& values, int64_t count);
  /// In a sorted vector that is not empty, of the values' dtype; int32.
  NodeRef search(const NodeRef& values, const NodeRef& sorted, SearchSide side);
  NodeRef matmul(const NodeRef& a, const NodeRef& b, const Dims& shape, ProductRanks ranks = {});
  NodeRef assign(const NodeRef& base, const NodeRef& value, const Layout& layout);

  /// `index` along an axis, counted from its start, as uint32. What the site's axis does not have
  /// is recorded, so that a later read raises IndexError, and becomes the nearest place, or where
  /// something is to be written 2^32 - 1.
  NodeRef checked_index(const NodeRef& index, std::shared_ptr<IndexSite> site, bool writes);
  /// Elements of `source`, which is written first if it is pending: over `shape` with `strides`,
  /// each moved by as many elements as `position` (uint32, broadcast) says, which lie in `span`;
  /// `quads`: always multiples of four.
  NodeRef gather(const NodeRef& source, const NodeRef& position, const Dims& shape,
                 const Dims& strides, const Reach& span, bool quads);
  /// `base` with the elements of `value` (of its dtype, in whole words) put in: over value's shape
  /// with `strides`, each moved by as many elements as `position` (uint32, broadcast) says; those
  /// that move beyond `last` are left out. Where several meet, the operation must not depend on
  /// their order.
  NodeRef scatter(ScatterOp op, const NodeRef& base, const NodeRef& value, const NodeRef& position,
                  const Dims& strides, int64_t last);
  /// `base` [rows, elements] with the rows of `values` [n, elements] folded into those that `rows`
  /// [n, 1] (uint32) say; these ascend, and are rows of base. Always in the same order. With
  /// `any_order` rows need not ascend: sums of float32, which are exact (see sums_exactly()).
  NodeRef segments(ReduceOp op, const NodeRef& base, const NodeRef& values, const NodeRef& rows,
                   bool any_order = false);
  /// What indices that kernels found out of range are kept in. [lock]
  Faults& faults() { return faults_; }
  /// Waits until all work is done; raises IndexError for indices out of range.
  void synchronize(rt::Lock& lock);
  /// A moment in the device's stream.
  struct Moment {
    rt::Device* device = nullptr;
    uint64_t submission = 0;
  };
  /// Starts all work that waits; the moment at which it will be done. What fails keeps its error.
  Moment record();
  /// Both raise DeviceLostError. `seconds`: as of Device::wait().
  bool passed(const Moment& m);
  bool wait(const Moment& m, std::optional<double> seconds);

  /// The layout that views of this node build on. [lock]
  static Layout layout_of(Node& n);
  /// Bytes of a buffer that one binding of a kernel shows.
  int64_t window_limit();
  /// Turns a view of a computed node into a leaf; raises what a failed node holds, DeviceLostError
  /// for a node of a lost device. [lock]
  void settle(Node& n);
  /// The same, raising nothing. [lock]
  void resolve(Node& n);
  /// Whether the value went with a device, or could not be computed before that was lost. [lock]
  bool is_lost(Node& n);

  /// Computes every root and `targets`. Work is recorded and submitted, not waited for. What fails
  /// holds its error from then on, and nothing else does; raises the error of a target, and
  /// DeviceLostError. Returns the first error, if there was one. [lock]
  /// What there is no memory for, and what is made of it, is still to be computed: only when it is
  /// asked for. `whole`: starts nothing and raises where there is no memory for all.
  std::shared_ptr<Error> flush(const std::vector<Node*>& targets, bool whole = false);
  /// Computes `targets`, which are made of `before`, or where there is no memory for all, nothing:
  /// then gives the error, and in `back`, for each target that can go back, what it was before.
  std::shared_ptr<Error> flush_whole(const std::vector<Node*>& targets,
                                     const std::vector<Node*>& before, std::vector<NodeRef>& back);
  /// A text that says which kernels computing `target` now takes, and what did not fuse. [lock]
  std::string explain(Node* target);
  /// Starts the copy of a node's value (dense, row-major, dtype's storage form) to the host. [lock]
  rt::ReadbackRef read(const NodeRef& n);
  /// A leaf with unspecified contents. [lock]
  NodeRef empty(DType dtype, const Dims& shape, const char* op = "empty");

  /// A leaf with the node's value, which is computed now but not waited for. [lock]
  NodeRef computed(const NodeRef& n);
  /// A leaf's memory as another dtype, of that shape and layout. [lock]
  NodeRef reinterpret(const NodeRef& leaf, DType dtype, const Dims& shape, const Layout& layout);

  // Recording what one thread does, to run it again. [lock]
  /// From now on this thread's nodes are only made. Raises where a recording goes on.
  void begin_trace();
  bool tracing() const { return tracer_ == std::this_thread::get_id() && !trace_pauses_; }
  /// What this thread does meanwhile is no part of its recording.
  void pause_trace(bool pause) { trace_pauses_ = pause; }
  /// Raises, saying that `what` cannot be, where this thread records.
  void check_not_traced(const char* what);
  /// What stands for a tensor that was there before; it is computed now.
  NodeRef trace_input(const NodeRef& of);
  /// Random numbers drawn so far in this recording.
  const std::vector<NodeRef>& traced_random() const { return traced_random_; }
  /// The program of what was recorded: from inputs to results.
  Program recorded(const std::vector<NodeRef>& results, const std::vector<NodeRef>& inputs,
                   const std::vector<NodeRef>& varying);
  /// Ends the recording; its nodes hold an error from now on.
  void end_trace();
  /// Results of a program for values of its inputs, which have their dtypes and shapes. A value
  /// that `take` names is overwritten where nothing but its tensor and `given` refers to it: then
  /// it holds an error, until the tensor moves to the result. Raises what computing raises.
  std::vector<NodeRef> run(Program& p, std::vector<NodeRef> given, std::vector<bool> take);

  void destroy();
  /// The process is about to end: from now on the calling thread alone gets the lock of any device.
  static void begin_exit();
  /// After begin_exit(): waits until no thread is inside a driver any more.
  void close();
  /// A new device from the same adapter for one that is lost; its tensors raise DeviceLostError
  /// when touched. Does nothing for a device that is well: one of several threads has been faster.
  void recover();
  rt::Stats stats();
  /// Bytes that buffers may have, also on what recover() makes; 0: no limit.
  void set_memory_limit(uint64_t bytes);
  void reset_peak();
  /// Gives back what nothing uses: free buffers, and of plans and kernels what is beyond their
  /// settings.
  void empty_cache();
  rt::MemoryReport memory();
  std::vector<rt::BufferReport> buffers();
  /// The Python line that made a node: for errors, and for what its memory is. [lock]
  void set_origin(Node& n, std::string line);
  /// Frees what died since. [lock]
  void collect();

  bool has(DType dtype);
  /// Raises DTypeError where the adapter lacks a dtype of 64 bits.
  void check_wide(DType dtype, const char* op);

 private:
  Engine() = default;
  friend struct Node;
  NodeRef make(NodeKind kind, DType dtype, const Dims& shape, const char* op);
  NodeRef make(NodeKind kind, DType dtype, const Dims& shape);
  NodeRef make_map(OpId op, DType dtype, const Dims& shape, const NodeRef* inputs, int arity);
  NodeRef near(const NodeRef& n);
  void set_input(Node& n, int i, const NodeRef& input);
  void enqueue(Node& n);
  void adopt(std::unique_ptr<rt::Device> fresh);
  void note_memory(Node& n);
  NodeRef written_over(const NodeRef& base);
  void unlink(Node& n);
  void release_inputs(Node& n);
  void note_small(Node& n);
  void forget_small(Node& n);
  void gather_small();
  int64_t flush_limit() const;
  void flush_if_due();
  std::shared_ptr<Plan> plan_of(FlushGraph& g);
  std::shared_ptr<Error> flush_once(FlushGraph& g, bool whole);
  void start(const FlushGraph& g, int values);
  std::shared_ptr<Error> execute(FlushGraph& g, const Plan& plan);
  void run_step(FlushGraph& g, const Step& step);
  rt::Window window_of(const FlushGraph& g, const Step& step, size_t binding);
  void finish(FlushGraph& g);
  void set_failed(Node& n, std::shared_ptr<Error> error);
  NodeRef copy_of(const Node& n);
  bool give(Node& input, const NodeRef& value, bool take, const std::shared_ptr<Error>& taken);
  void give_back(const FlushGraph& g, const Program& p, const std::vector<NodeRef>& given,
                 const std::vector<bool>& taken);
  NodeRef result_of(Node& n);
  void refuse(const std::vector<Node*>& results, const std::shared_ptr<Error>& error);
  std::shared_ptr<Error> fail(FlushGraph& g, const std::vector<int>& results, const Error& error,
                              bool again = true);

  std::atomic<rt::Device*> device_{nullptr};
  rt::AdapterInfo adapter_;
  rt::DeviceOptions options_;
  std::string name_;
  Graveyard<Node> dead_;
  Node *first_ = nullptr, *last_ = nullptr;  // pending nodes, oldest first
  // Results of a few bytes that have a buffer of their own, oldest first: see gather_small().
  Node *small_first_ = nullptr, *small_last_ = nullptr;
  int small_count_ = 0;
  int since_flush_ = 0;    // nodes made since the last flush
  int own_flushes_ = 0;    // that started by themselves since a value was asked for
  int since_collect_ = 0;  // nodes made since dead ones were freed
  static constexpr int kCollectEvery = 1024;
  uint64_t epoch_ = 0;
  PlanCache plans_;
  Tuning tuning_;
  Faults faults_;
  FlushGraph graph_;                   // of the flush that runs; kept for its memory
  std::vector<rt::BufferRef> values_;  // likewise
  std::vector<Node*> refused_;         // pending nodes that this flush has no memory for
  std::vector<bool> written_;
  std::vector<uint32_t> params_;
  std::vector<rt::Window> windows_;
  std::vector<Node*> spare_;  // memory of dead nodes
  std::thread::id tracer_;    // the thread that records a program, if one does
  bool trace_pauses_ = false;
  std::vector<NodeRef> traced_random_;
  // The current one last. Lost ones have given back what they held; what is left of them stays, as
  // any thread may still be on its way out of one.
  std::vector<std::unique_ptr<rt::Device>> devices_;
  std::vector<rt::Device*> mourned_;  // lost ones whose buffers somebody refers to
  std::mutex recovery_;
  friend void collect_graph(Engine& e, FlushGraph& g, const std::vector<Node*>& targets);
  friend void collect_program(Engine& e, FlushGraph& g, const Program& p,
                              const std::vector<bool>& taken);
};

/// Numbers the nodes that `targets` and the roots need, and writes the key of their plan.
void collect_graph(Engine& e, FlushGraph& g, const std::vector<Node*>& targets);
/// The same of a program whose inputs are given; those that `taken` names may be overwritten.
void collect_program(Engine& e, FlushGraph& g, const Program& p, const std::vector<bool>& taken);
/// What a new plan needs beyond the key: who reads what, and how.
void resolve_operands(FlushGraph& g);

/// Engines in order of creation.
std::vector<Engine*> engines();

}  // namespace wgt::graph

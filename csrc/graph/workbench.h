// Runs the kernels of one group on memory of its own, to compare and time ways to compute it.
#pragma once
#include <map>
#include <vector>

#include "graph/codegen.h"
#include "runtime/stopwatch.h"

namespace wgt::graph {

/// Small whole numbers as operands: sums of them are exact in every order, so that results of right
/// kernels differ by no more than what follows the sums.
class Workbench {
 public:
  /// Whether the group can run on operands that are made up, and takes little enough memory and
  /// time for that: nothing in it reads places that are data, or has parts.
  static bool suits(const LowerContext& c, int group, double most_seconds);

  Workbench(const LowerContext& c, int group, rt::Stopwatch& watch);
  /// Memory for all that the plan's steps bind, with fresh operands; results hold garbage.
  void prepare(const Plan& plan);
  /// Dispatches the steps; `half`: leaves out half of the workgroups, to be caught.
  void run(const Plan& plan, bool half = false);

  /// Bytes of the group's results, all or parts spread over them.
  using Sample = std::vector<char>;
  Sample results();
  /// Whether two samples are the same within what the dtypes hold.
  bool agree(const Sample& a, const Sample& b) const;

 private:
  struct Piece {
    int value;
    DType dtype;
    uint64_t offset, bytes;
  };
  static uint64_t bytes_of(const LowerContext& c, int group);
  rt::Buffer* buffer(int value, uint64_t bytes);
  void fill(rt::Buffer& to, uint64_t bytes, rt::Buffer& pattern, uint64_t length, uint64_t from);
  rt::Buffer& pattern(DType t);
  rt::Buffer& garbage();
  rt::Buffer& zeros();  // for workspaces: of its own, as half of the workgroups leave them dirty
  rt::BufferRef upload(const std::vector<char>& bytes);
  void give_operand(int value);

  const FlushGraph& g_;
  rt::Device& device_;
  rt::Stopwatch& watch_;
  std::map<int, rt::BufferRef> buffers_;  // by value
  std::map<DType, rt::BufferRef> patterns_;
  rt::BufferRef garbage_, zeros_;
  std::vector<Piece> pieces_;
};

}  // namespace wgt::graph

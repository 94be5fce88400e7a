// How the operands of a matrix product are found: what its kernels call.
#pragma once
#include <optional>
#include <string>

#include "graph/codegen.h"
#include "kernels/matmul.h"

namespace wgt::graph {

/// An index of an operand: the dimensions that it runs over, the last one fastest.
struct Index {
  Dims sizes, strides;

  int64_t size() const { return numel(sizes); }
  bool walks() const { return sizes.size() > 1; }
  std::optional<kernels::MatmulWalk> walk() const {
    if (!walks()) return std::nullopt;
    bool fours = true;
    for (int d = 0; d < sizes.size() - 1; ++d) fours = fours && strides[d] % 4 == 0;
    return kernels::MatmulWalk{sizes.back(), fours};
  }
};

/// One operand: kept is its rows' index for A, its columns' for B.
struct Side {
  Operand operand;
  int binding;  // 0: A, 1: B
  Index batch, kept, shared;
  bool aligned;  // every offset, but those that `kept` and `shared` add, is a multiple of 4

  Side(const FlushGraph& g, const Node& n, const Operand& o, int which);

  Range range(const Part& part) const { return part[static_cast<size_t>(binding) + 1]; }

  /// What a part of the kept index reaches: all of the shared one.
  Reach reach(const Part& part) const {
    Reach out{operand.layout.offset, operand.layout.offset};
    out.add(reach_of(batch.sizes, batch.strides, part[0]));
    out.add(reach_of(kept.sizes, kept.strides, range(part)));
    out.add(reach_of(shared.sizes, shared.strides, {0, shared.size()}));
    return out;
  }
};

/// fn batch_offset(b): first elements of both operands, over the batch dimensions collapsed
/// together.
std::string batch_offset(KernelCode& k, const Side& a, const Side& b, const Part& part);
/// fn depth_of(b): the last piece of each matrix, whose pieces are the last dimension of the batch,
/// has less of the shared axis (the node's `step`).
std::string depth_of(KernelCode& k, const Node& n, const Side& a, const Part& part);
/// fn x_offset_N and k_offset_N, where the kept and the shared index run over several dimensions.
std::string walks(KernelCode& k, const Side& side, const Part& part);
/// fn mm_read_N: elements of a float16 operand as float32.
std::string read_halves(int operand, bool vec4);

}  // namespace wgt::graph

#include "graph/product_code.h"

#include <bit>

namespace wgt::graph {

namespace {

/// `count` dimensions of an operand from `first` on, those merged that make one.
Index index_of(const Dims& sizes, const Layout& layout, int first, int count) {
  Index out;
  for (int d = first; d < first + count; ++d) {
    int64_t stride = layout.strides[d];
    if (sizes[d] == 1 && count > 1) continue;
    if (!out.sizes.empty() && out.strides.back() == stride * sizes[d]) {
      out.sizes.back() *= sizes[d];
      out.strides.back() = stride;
    } else {
      out.sizes.push_back(sizes[d]);
      out.strides.push_back(stride);
    }
  }
  return out.sizes.empty() ? Index{{1}, {0}} : out;
}

/// A variable that is where an index leads, and the strides that lead there.
struct Target {
  std::string var;
  Dims strides;
};

// Longest index that floats can divide: the error of (i + 0.5) * (1 / n), at most 2^-23 of it, must
// stay below 0.5 / n.
constexpr int64_t kMostByFloat = int64_t{1} << 21;

// Adds to each variable where `index` leads. `by_float`: divides by multiplying with reciprocals,
// for what runs often: integer division takes many instructions, also to compile.
std::string offsets(KernelCode& k, const std::string& index, const Dims& sizes,
                    const std::vector<Target>& targets, bool by_float) {
  if (sizes.empty()) return "";
  std::string s = "  var rest = " + index + ";\n";
  for (int d = sizes.size() - 1; d >= 0; --d) {
    std::string c = "rest";
    if (d > 0) {
      c = "c" + std::to_string(d);
      std::string q = "q" + std::to_string(d);
      std::string size = k.params.add("size", static_cast<uint32_t>(sizes[d]));
      std::string quotient = "rest / " + size;
      if (by_float) {
        float inverse = 1.0f / static_cast<float>(sizes[d]);
        quotient = "u32((f32(rest) + 0.5) * bitcast<f32>(" +
                   k.params.add("inverse", std::bit_cast<uint32_t>(inverse)) + "))";
      }
      s += "  let " + q + " = " + quotient + ";\n  let " + c + " = rest - " + q + " * " + size +
           ";\n  rest = " + q + ";\n";
    }
    for (const Target& t : targets)
      s += "  " + t.var + " += " + c + " * " +
           k.params.add("stride", static_cast<uint32_t>(t.strides[d])) + ";\n";
  }
  return s;
}

}  // namespace

Side::Side(const FlushGraph& g, const Node& n, const Operand& o, int which)
    : operand(o), binding(which) {
  int kept_rank = which == 0 ? n.ranks.rows : n.ranks.columns;
  int batch_rank = n.shape.size() - n.ranks.rows - n.ranks.columns;
  const Dims& own = n.inputs[which]->shape;
  Dims sizes;
  for (int d = 0; d < batch_rank; ++d) sizes.push_back(n.shape[d]);
  for (int d = own.size() - kept_rank - n.ranks.shared; d < own.size(); ++d)
    sizes.push_back(own[d]);
  for (int d = 0; d < batch_rank; ++d) {
    batch.sizes.push_back(sizes[d]);
    batch.strides.push_back(o.layout.strides[d]);
  }
  int shared_at = batch_rank + (which == 0 ? kept_rank : 0);
  int kept_at = batch_rank + (which == 0 ? 0 : n.ranks.shared);
  kept = index_of(sizes, o.layout, kept_at, kept_rank);
  shared = index_of(sizes, o.layout, shared_at, n.ranks.shared);
  int64_t offset = o.layout.offset + (g.is_leaf(o.value) ? g.leaf(o.value)->layout.offset : 0);
  aligned = offset % 4 == 0;
  for (int64_t stride : batch.strides) aligned = aligned && stride % 4 == 0;
}

std::string batch_offset(KernelCode& k, const Side& a, const Side& b, const Part& part) {
  const Dims& shape = a.batch.sizes;
  Dims sizes, sa, sb;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    int64_t da = a.batch.strides[d], db = b.batch.strides[d];
    if (!sizes.empty() && sa.back() == da * shape[d] && sb.back() == db * shape[d]) {
      sizes.back() *= shape[d];
      sa.back() = da;
      sb.back() = db;
    } else {
      sizes.push_back(shape[d]);
      sa.push_back(da);
      sb.push_back(db);
    }
  }
  // The first row of a part of A, the first column of a part of B, unless x_offset() counts from
  // there. in0 and in1 are their bindings.
  auto base = [&](const Side& side) {
    int64_t first = side.operand.layout.offset;
    if (!part.empty() && !side.kept.walks())
      first += side.range(part).begin * side.kept.strides.back();
    uint32_t fixed = static_cast<uint32_t>(first);
    if (k.windowed) return k.params.add_patched("offset", Patch::window, side.binding, fixed);
    int value = side.operand.value;
    return k.g.is_leaf(value) ? k.params.add_patched("offset", Patch::offset, value, fixed)
                              : k.params.add("offset", fixed);
  };
  std::string s = "fn batch_offset(b: u32) -> vec2<u32> {\n  var ia = " + base(a) +
                  ";\n  var ib = " + base(b) + ";\n";
  std::string begin =
      part.empty() ? "" : " + " + k.params.add("begin", static_cast<uint32_t>(part[0].begin));
  s += offsets(k, "b" + begin, sizes, {{"ia", sa}, {"ib", sb}}, false);
  return s + "  return vec2<u32>(ia, ib);\n}\n";
}

std::string depth_of(KernelCode& k, const Node& n, const Side& a, const Part& part) {
  if (n.step == 0) return "";
  std::string begin =
      part.empty() ? "" : " + " + k.params.add("begin", static_cast<uint32_t>(part[0].begin));
  std::string pieces = k.params.add("pieces", static_cast<uint32_t>(a.batch.sizes.back()));
  std::string last = k.params.add("last", static_cast<uint32_t>(n.step));
  return "fn depth_of(b: u32) -> u32 {\n  return select(p.k, " + last + ", (b" + begin + ") % " +
         pieces + " == " + pieces + " - 1u);\n}\n";
}

std::string walks(KernelCode& k, const Side& side, const Part& part) {
  auto walk = [&](const char* name, const Index& index, const std::string& begin) {
    if (!index.walks()) return std::string();
    return "fn " + std::string(name) + std::to_string(side.binding) +
           "(i: u32) -> u32 {\n  var at = 0u;\n" +
           offsets(k, "i" + begin, index.sizes, {{"at", index.strides}},
                   index.size() <= kMostByFloat) +
           "  return at;\n}\n";
  };
  std::string begin;
  if (!part.empty() && side.kept.walks())
    begin = " + " + k.params.add("begin", static_cast<uint32_t>(side.range(part).begin));
  return walk("x_offset_", side.kept, begin) + walk("k_offset_", side.shared, "");
}

std::string read_halves(int operand, bool vec4) {
  const std::string o = std::to_string(operand), type = wgsl_type("f32", vec4 ? 4 : 1);
  return "fn mm_read_" + o + "(i: u32) -> " + type + " { return " + type + "(in" + o + "[i]); }\n";
}

}  // namespace wgt::graph

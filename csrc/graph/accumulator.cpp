#include "graph/accumulator.h"

namespace wgt::graph {

namespace {

bool is_arg(ReduceOp op) {
  return op == ReduceOp::argmax || op == ReduceOp::argmin;
}
bool is_truth(ReduceOp op) {
  return op == ReduceOp::any || op == ReduceOp::all;
}

bool is_pair(ReduceOp op) {
  return is_arg(op) || op == ReduceOp::deviations || op == ReduceOp::logsumexp;
}
DType part_of(ReduceOp op, DType input) {
  if (is_arg(op) && is_wide(input)) return DType::uint64;
  return is_arg(op) || is_truth(op) ? DType::uint32 : input;
}

}  // namespace

uint64_t identity_bits(ReduceOp op, DType t) {
  switch (op) {
    case ReduceOp::prod:
      return scalar_bits_int(t, 1);
    case ReduceOp::max:
    case ReduceOp::logsumexp:
      return lowest_bits(t);
    case ReduceOp::min:
      return highest_bits(t);
    case ReduceOp::all:
      return 1;
    default:
      return 0;
  }
}

DType reduced_dtype(ReduceOp op, DType input) {
  return is_arg(op) ? DType::int32 : is_truth(op) ? DType::bool_ : input;
}

Accumulator::Accumulator(KernelCode& k, ReduceOp op, DType input)
    : k_(k), op_(op), input_(input), part_(part_of(op, input)), pair_(is_pair(op)) {
  identity_[0] = k.constant(part_, identity_bits(op, part_));
  if (pair_) identity_[1] = k.constant(part_, is_arg(op) ? 0xffffffffu : 0);
}

int64_t Accumulator::bytes(ReduceOp op, DType input) {
  return (is_pair(op) ? 2 : 1) * info(part_of(op, input)).size;
}

std::string Accumulator::make(const std::string& first, const std::string& second,
                              int width) const {
  return pair_ ? type(width) + "(" + first + ", " + second + ")" : first;
}

std::string Accumulator::word(const std::string& acc, int i) const {
  return pair_ ? acc + (i ? ".v" : ".u") : acc;
}

std::string Accumulator::identity(int width) {
  auto of = [&](int i) { return part_type(width) + "(" + identity_[i] + ")"; };
  return make(of(0), pair_ ? of(1) : "", width);
}

std::string Accumulator::function(const std::string& name, int width) {
  return k_.use_function(is_wide(part_) ? name + "64" : name, width);
}

std::string Accumulator::declare(int width) {
  std::string ty = part_type(width), name = type(width);
  std::string s = pair_ ? "struct " + name + " {\n  u: " + ty + ",\n  v: " + ty + ",\n}\n"
                        : "alias " + name + " = " + ty + ";\n";
  return s + "fn " + combine(width) + "(a: " + name + ", b: " + name + ") -> " + name + " {\n" +
         combine_body(width) + "}\n";
}

std::string Accumulator::combine_body(int width) {
  switch (op_) {
    case ReduceOp::sum:
      return "  return a + b;\n";
    case ReduceOp::prod:
      return "  return a * b;\n";
    case ReduceOp::any:
      return "  return a | b;\n";
    case ReduceOp::all:
      return "  return a & b;\n";
    case ReduceOp::max:
    case ReduceOp::min: {
      std::string name = reduce_name(op_);
      if (is_float(part_)) name = function(name + "_nan", width);
      return "  return " + name + "(a, b);\n";
    }
    case ReduceOp::argmax:
    case ReduceOp::argmin:  // the greater key, the earlier place
      return "  let take = (b.u > a.u) | ((b.u == a.u) & (b.v < a.v));\n  return " +
             make("select(a.u, b.u, take)", "select(a.v, b.v, take)", width) + ";\n";
    case ReduceOp::deviations:
      return "  return " + make("a.u + b.u", "a.v + b.v", width) + ";\n";
    case ReduceOp::logsumexp: {
      // Sums of exp(x - maximum). Equal maxima also where both are infinite.
      std::string ty = part_type(width);
      return "  let d = select(a.u - b.u, " + ty +
             "(0.0), a.u == b.u);\n  let e = " + function("exp", width) + "(-abs(d));\n  return " +
             make(function("max_nan", width) + "(a.u, b.u)",
                  "select(a.v + b.v * e, a.v * e + b.v, d < " + ty + "(0.0))", width) +
             ";\n";
    }
  }
  internal_error("a reduction without code");
}

std::string Accumulator::declare_fold() {
  auto lane = [&](const char* c) {
    return make("a" + std::string(pair_ ? ".u." : ".") + c, std::string("a.v.") + c, 1);
  };
  std::string two = combine(1);
  return "fn rd_fold(a: " + type(4) + ") -> " + type(1) + " {\n  return " + two + "(" + two + "(" +
         lane("x") + ", " + lane("y") + "), " + two + "(" + lane("z") + ", " + lane("w") +
         "));\n}\n";
}

// Subgroup operations take 32 bits at a time.
std::string Accumulator::declare_shuffle(int width) const {
  std::string body, u = wgsl_type("u32", width), ty = part_type(width);
  auto of = [&](int i) {
    if (!is_wide(part_)) return "subgroupShuffleXor(" + word("a", i) + ", mask)";
    std::string wide = wgsl_type("u64", width), n = std::to_string(i);
    body += "  let b" + n + " = bitcast<" + wide + ">(" + word("a", i) + ");\n  let l" + n +
            " = subgroupShuffleXor(" + u + "(b" + n + "), mask);\n  let h" + n +
            " = subgroupShuffleXor(" + u + "(b" + n + " >> " + u + "(32u)), mask);\n";
    return "bitcast<" + ty + ">(" + wide + "(l" + n + ") | (" + wide + "(h" + n + ") << " + u +
           "(32u)))";
  };
  std::string first = of(0), second = pair_ ? of(1) : "";
  return "fn rd_shuffle(a: " + type(width) + ", mask: u32) -> " + type(width) + " {\n" + body +
         "  return " + make(first, second, width) + ";\n}\n";
}

// Unsigned integers that order as the elements do, or against them; NaN is above all.
std::string Accumulator::key(const std::string& element, int width) {
  bool low = op_ == ReduceOp::argmin;
  std::string u = part_type(width);
  std::string key;
  if (is_float(input_)) return function(low ? "min_key" : "max_key", width) + "(" + element + ")";
  if (is_bool(input_))
    key = "select(" + u + "(0u), " + u + "(1u), " + element + ")";
  else
    key = "bitcast<" + u + ">(" + element + ")";
  if (info(input_).kind == Kind::i)
    key = "(" + key + " ^ " + u + (is_wide(part_) ? "(0x8000000000000000lu))" : "(0x80000000u))");
  return low ? "~" + key : key;
}

std::string Accumulator::lift(const std::string& x, const std::string& index, int width,
                              bool lanes) {
  std::string ty = part_type(width);
  if (is_arg(op_)) {
    std::string place = width > 1 && lanes ? "vec4<u32>(0u, 1u, 2u, 3u) + " + index
                                           : std::string(info(part_).compute) + "(" + index + ")";
    return make(key(x, width), ty + "(" + place + ")", width);
  }
  if (is_truth(op_)) return "select(" + ty + "(0u), " + ty + "(1u), " + x + ")";
  if (op_ == ReduceOp::deviations) return make(x, x + " * " + x, width);
  return make(x, ty + "(1.0)", width);
}

std::string Accumulator::result(const std::string& acc, const std::string& count, int width) {
  if (is_arg(op_)) return wgsl_type("i32", width) + "(" + acc + ".v)";
  if (is_truth(op_)) return acc + " != " + part_type(width) + "(0u)";
  if (op_ == ReduceOp::logsumexp) return acc + ".u + " + function("log", width) + "(" + acc + ".v)";
  if (op_ != ReduceOp::deviations) return acc;
  // What the rounding of the mean has added is taken away again (the corrected two-pass algorithm,
  // Chan, Golub and LeVeque 1983); rounding may leave less than nothing.
  return function("relu_f", width) + "(" + acc + ".v - " + acc + ".u * (" + acc + ".u / " +
         part_type(width) + "(" + info(part_).compute + "(" + count + "))))";
}

}  // namespace wgt::graph

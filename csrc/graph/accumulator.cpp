#include "graph/accumulator.h"

namespace wgt::graph {

namespace {

constexpr char kMembers[] = "uvwt";  // of the WGSL struct

bool is_arg(ReduceOp op) {
  return op == ReduceOp::argmax || op == ReduceOp::argmin;
}
bool is_truth(ReduceOp op) {
  return op == ReduceOp::any || op == ReduceOp::all;
}

int parts_of(ReduceOp op) {
  if (op == ReduceOp::cross_entropy) return 4;
  bool pair = is_arg(op) || op == ReduceOp::deviations || op == ReduceOp::logsumexp ||
              op == ReduceOp::weighted_mean;
  return pair ? 2 : 1;
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
    case ReduceOp::cross_entropy:
      return lowest_bits(t);
    case ReduceOp::min:
      return highest_bits(t);
    case ReduceOp::all:
      return 1;
    default:
      return 0;
  }
}

const char* reduce_name(ReduceOp op) {
  constexpr const char* names[] = {"sum",        "prod",      "max",           "min",
                                   "any",        "all",       "argmax",        "argmin",
                                   "deviations", "logsumexp", "cross_entropy", "weighted_mean"};
  return names[static_cast<int>(op)];
}

int result_words(ReduceOp op) {
  return op == ReduceOp::cross_entropy ? 4 : op == ReduceOp::weighted_mean ? 2 : 1;
}

DType reduced_dtype(ReduceOp op, DType input) {
  return is_arg(op) ? DType::int32 : is_truth(op) ? DType::bool_ : input;
}

Accumulator::Accumulator(KernelCode& k, ReduceOp op, DType input)
    : k_(k), op_(op), input_(input), part_(part_of(op, input)), parts_(parts_of(op)) {
  identity_[0] = k.constant(part_, identity_bits(op, part_));
  for (int i = 1; i < parts_; ++i) identity_[i] = k.constant(part_, is_arg(op) ? 0xffffffffu : 0);
}

int64_t Accumulator::bytes(ReduceOp op, DType input) {
  return parts_of(op) * info(part_of(op, input)).size;
}

std::string Accumulator::make(const std::vector<std::string>& words, int width) const {
  if (parts_ == 1) return words[0];
  std::string s;
  for (const std::string& word : words) s += (s.empty() ? "" : ", ") + word;
  return type(width) + "(" + s + ")";
}

std::string Accumulator::word(const std::string& acc, int i) const {
  return parts_ > 1 ? acc + "." + kMembers[i] : acc;
}

std::string Accumulator::identity(int width) {
  std::vector<std::string> words;
  for (int i = 0; i < parts_; ++i) words.push_back(part_type(width) + "(" + identity_[i] + ")");
  return make(words, width);
}

std::string Accumulator::function(const std::string& name, int width) {
  return k_.use_function(is_wide(part_) ? name + "64" : name, width);
}

std::string Accumulator::declare(int width) {
  std::string ty = part_type(width), name = type(width);
  std::string s = "struct " + name + " {\n";
  for (int i = 0; i < parts_; ++i) s += std::string("  ") + kMembers[i] + ": " + ty + ",\n";
  s = parts_ > 1 ? s + "}\n" : "alias " + name + " = " + ty + ";\n";
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
             make({"select(a.u, b.u, take)", "select(a.v, b.v, take)"}, width) + ";\n";
    case ReduceOp::deviations:
    case ReduceOp::weighted_mean:
      return "  return " + make({"a.u + b.u", "a.v + b.v"}, width) + ";\n";
    case ReduceOp::logsumexp:
    case ReduceOp::cross_entropy:
      return combine_exponentials(width);
  }
  internal_error("a reduction without code");
}

// Sums of exp(x - maximum). Equal maxima also where both are infinite. Of pairs besides the sum w
// of targets, and that of target * (x - maximum): where nothing is to be moved, also not by an
// infinite way.
std::string Accumulator::combine_exponentials(int width) {
  std::string zero = part_type(width) + "(0.0)";
  std::string s = "  let d = select(a.u - b.u, " + zero +
                  ", a.u == b.u);\n  let e = " + function("exp", width) + "(-abs(d));\n";
  std::vector<std::string> words{function("max_nan", width) + "(a.u, b.u)",
                                 "select(a.v + b.v * e, a.v * e + b.v, d < " + zero + ")"};
  if (parts_ == 4) {
    s += "  let w = select(b.w, a.w, d < " + zero + ");\n";
    words.push_back("a.w + b.w");
    words.push_back("a.t + b.t - select(w * abs(d), " + zero + ", w == " + zero + ")");
  }
  return s + "  return " + make(words, width) + ";\n";
}

std::string Accumulator::declare_fold() {
  auto lane = [&](const char* c) {
    std::vector<std::string> words;
    for (int i = 0; i < parts_; ++i) words.push_back(word("a", i) + "." + c);
    return make(words, 1);
  };
  std::string two = combine(1);
  return "fn rd_fold(a: " + type(4) + ") -> " + type(1) + " {\n  return " + two + "(" + two + "(" +
         lane("x") + ", " + lane("y") + "), " + two + "(" + lane("z") + ", " + lane("w") +
         "));\n}\n";
}

// The two halves of a 64-bit part in vectors of u32, and back.
std::string Accumulator::low(const std::string& x, int width) const {
  return wgsl_type("u32", width) + "(bitcast<" + wgsl_type("u64", width) + ">(" + x + "))";
}
std::string Accumulator::high(const std::string& x, int width) const {
  const std::string u = wgsl_type("u32", width), wide = wgsl_type("u64", width);
  return u + "(bitcast<" + wide + ">(" + x + ") >> " + u + "(32u))";
}
std::string Accumulator::whole(const std::string& low, const std::string& high, int width) const {
  const std::string u = wgsl_type("u32", width), wide = wgsl_type("u64", width);
  return "bitcast<" + part_type(width) + ">(" + wide + "(" + low + ") | (" + wide + "(" + high +
         ") << " + u + "(32u)))";
}

// Subgroup operations take 32 bits at a time.
std::string Accumulator::declare_shuffle(int width) const {
  auto shuffle = [](const std::string& x) { return "subgroupShuffleXor(" + x + ", mask)"; };
  std::vector<std::string> words;
  for (int i = 0; i < parts_; ++i) {
    const std::string x = word("a", i);
    words.push_back(is_wide(part_) ? whole(shuffle(low(x, width)), shuffle(high(x, width)), width)
                                   : shuffle(x));
  }
  return "fn rd_shuffle(a: " + type(width) + ", mask: u32) -> " + type(width) + " {\n  return " +
         make(words, width) + ";\n}\n";
}

std::string Accumulator::declare_meeting(const std::string& binding, int width, int apart) const {
  const std::string u = wgsl_type("u32", width);
  std::string leave;
  int at = 0;
  auto place = [&] { return "&" + binding + "[at + " + std::to_string(apart * at++) + "u]"; };
  auto store = [&](const std::string& bits) {
    const std::string name = "w" + std::to_string(at);
    leave += "  let " + name + " = " + bits + ";\n";
    for (int e = 0; e < width; ++e)
      leave += "  atomicStore(" + place() + ", " + name +
               (width > 1 ? "[" + std::to_string(e) + "]" : "") + ");\n";
  };
  auto load = [&] {
    std::string s;
    for (int e = 0; e < width; ++e) s += (e ? ", " : "") + ("atomicLoad(" + place() + ")");
    return u + "(" + s + ")";
  };
  for (int i = 0; i < parts_; ++i) {
    const std::string x = word("a", i);
    if (is_wide(part_)) {
      store(low(x, width));
      store(high(x, width));
    } else {
      store("bitcast<" + u + ">(" + x + ")");
    }
  }
  at = 0;
  std::vector<std::string> words;
  for (int i = 0; i < parts_; ++i) {
    const std::string first = load();
    words.push_back(is_wide(part_) ? whole(first, load(), width)
                                   : "bitcast<" + part_type(width) + ">(" + first + ")");
  }
  return "fn rd_leave(at: u32, a: " + type(width) + ") {\n" + leave +
         "}\nfn rd_found(at: u32) -> " + type(width) + " {\n  return " + make(words, width) +
         ";\n}\n";
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

std::string Accumulator::lift(const std::vector<std::string>& elements, const std::string& index,
                              int width, bool lanes) {
  std::string ty = part_type(width);
  const std::string& x = elements[0];
  if (is_arg(op_)) {
    std::string place = width > 1 && lanes ? "vec4<u32>(0u, 1u, 2u, 3u) + " + index
                                           : std::string(info(part_).compute) + "(" + index + ")";
    return make({key(x, width), ty + "(" + place + ")"}, width);
  }
  if (is_truth(op_)) return "select(" + ty + "(0u), " + ty + "(1u), " + x + ")";
  if (op_ == ReduceOp::deviations) return make({x, x + " * " + x}, width);
  if (op_ == ReduceOp::weighted_mean) return make(elements, width);
  std::vector<std::string> words{x, ty + "(1.0)"};
  if (op_ == ReduceOp::cross_entropy) {
    words.push_back(elements[1]);
    words.push_back(ty + "(0.0)");
  }
  return make(words, width);
}

std::vector<std::string> Accumulator::results(const std::string& acc, const std::string& count,
                                              int width) {
  std::string ty = part_type(width), number = info(part_).compute;
  if (is_arg(op_)) return {wgsl_type("i32", width) + "(" + acc + ".v)"};
  if (is_truth(op_)) return {acc + " != " + part_type(width) + "(0u)"};
  switch (op_) {
    case ReduceOp::logsumexp:
      return {acc + ".u + " + function("log", width) + "(" + acc + ".v)"};
    case ReduceOp::cross_entropy: {
      // The product with 0, which compilers do not know, is NaN for rows without a finite maximum.
      std::string total = function("log", width) + "(" + acc + ".v)";
      std::string hole = acc + ".u * " + ty + "(" + identity_[3] + ")";
      return {acc + ".w * " + total + " - " + acc + ".t + " + hole, acc + ".u", total, acc + ".w"};
    }
    case ReduceOp::weighted_mean: {
      std::string divide = function("div_f", width);
      return {divide + "(" + acc + ".u, " + acc + ".v)",
              divide + "(" + ty + "(1.0), " + acc + ".v)"};
    }
    case ReduceOp::deviations:
      // What the rounding of the mean has added is taken away again (the corrected two-pass
      // algorithm, Chan, Golub and LeVeque 1983); rounding may leave less than nothing.
      return {function("relu_f", width) + "(" + acc + ".v - " + acc + ".u * (" + acc + ".u / " +
              ty + "(" + number + "(" + count + "))))"};
    default:
      return {acc};
  }
}

}  // namespace wgt::graph

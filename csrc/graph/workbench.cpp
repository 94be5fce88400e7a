#include "graph/workbench.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "graph/work.h"

namespace wgt::graph {

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kMostBytes = 512 * kMiB;  // of memory; half of that where it is the host's
constexpr uint64_t kCompared = 2 * kMiB;     // of results, read back
constexpr uint64_t kPiece = 64 << 10;
// Elements of a pattern: no power of two, so that what is misplaced by one differs.
constexpr uint64_t kPattern = 4 * 16381;

uint64_t words(uint64_t bytes) {
  return (bytes + 3) / 4 * 4;
}

/// The bits of a small whole number in a dtype's storage form.
uint64_t item_of(DType t, int v) {
  const uint64_t bits = scalar_bits_int(t, v);  // in the compute form
  if (t == DType::bfloat16) return bits >> 16;
  if (t != DType::float16) return bits;
  return (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 127 + 15) << 10 | (bits >> 13 & 0x3ff);
}

double float_of(DType t, const char* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(info(t).size));
  if (is_wide(t)) return std::bit_cast<double>(bits);
  auto low = static_cast<uint32_t>(bits);
  if (t == DType::float32) return std::bit_cast<float>(low);
  if (t == DType::bfloat16) return std::bit_cast<float>(low << 16);
  double sign = low & 0x8000 ? -1 : 1;
  int exponent = static_cast<int>(low >> 10 & 0x1f), mantissa = static_cast<int>(low & 0x3ff);
  if (exponent == 0x1f) return mantissa ? std::nan("") : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

/// What may follow exact sums: some elementary functions, of values of the results' size.
double tolerance(DType t) {
  switch (t) {
    case DType::float64:
      return 1e-11;
    case DType::float16:
      return 2e-3;
    case DType::bfloat16:
      return 1.6e-2;
    default:
      return 2e-5;
  }
}

bool same_floats(DType t, const char* a, const char* b, uint64_t bytes) {
  const auto item = static_cast<uint64_t>(info(t).size);
  double largest = 0;
  for (uint64_t at = 0; at + item <= bytes; at += item)
    if (double v = std::abs(float_of(t, a + at)); std::isfinite(v)) largest = std::max(largest, v);
  const double most = tolerance(t) * largest;
  for (uint64_t at = 0; at + item <= bytes; at += item) {
    const double x = float_of(t, a + at), y = float_of(t, b + at);
    const bool same = std::isnan(x) || std::isnan(y)   ? std::isnan(x) && std::isnan(y)
                      : std::isinf(x) || std::isinf(y) ? x == y
                                                       : std::abs(x - y) <= most;
    if (!same) return false;
  }
  return true;
}

bool is_plain(const Node& n) {
  switch (n.kind) {
    case NodeKind::map:
      return n.op != OpId::gather && !is_check(n.op);
    case NodeKind::fill:
    case NodeKind::iota:
    case NodeKind::random:
    case NodeKind::view:
    case NodeKind::reduce:
    case NodeKind::softmax:
    case NodeKind::normalize:
    case NodeKind::scan:
    case NodeKind::matmul:
      return true;
    default:
      return false;
  }
}

}  // namespace

uint64_t Workbench::bytes_of(const LowerContext& c, int group) {
  const Group& g = c.fusion.groups[static_cast<size_t>(group)];
  uint64_t bytes = 0;
  for (int v : g.externals)
    bytes += c.g.is_leaf(v) ? c.g.leaf(v)->buffer->bytes : c.g.node_of(v)->bytes();
  for (int v : g.outputs) bytes += c.g.node_of(v)->bytes();
  return bytes + bytes / 8;
}

bool Workbench::suits(const LowerContext& c, int group, double most_seconds) {
  if (c.windowed(group)) return false;
  for (size_t id = 0; id < c.g.nodes.size(); ++id)
    for (const Placement& p : c.fusion.placements[id])
      if (p.group == group && !is_plain(*c.g.nodes[id].node)) return false;
  const Group& g = c.fusion.groups[static_cast<size_t>(group)];
  if (seconds_of(c.g, g, c.device) > most_seconds) return false;
  const bool own_memory = c.device.adapter().type == "discrete";
  const uint64_t bytes = bytes_of(c, group);
  if (bytes > (own_memory ? kMostBytes : kMostBytes / 2)) return false;
  const uint64_t limit = c.device.options().memory_limit;
  return !limit || c.device.stats().live_bytes + bytes <= limit / 2;
}

Workbench::Workbench(const LowerContext& c, int group, rt::Stopwatch& watch)
    : g_(c.g), device_(c.device), watch_(watch) {
  const std::vector<int>& outputs = c.fusion.groups[static_cast<size_t>(group)].outputs;
  const uint64_t share = std::max(kCompared / outputs.size() / kPiece, uint64_t{2}) * kPiece;
  for (int v : outputs) {
    const DType t = g_.node_of(v)->dtype;
    const uint64_t bytes = g_.node_of(v)->bytes();
    if (bytes <= share) {
      pieces_.push_back({v, t, 0, bytes});
      continue;
    }
    const uint64_t count = share / kPiece;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = (bytes - kPiece) / (count - 1) * i / 8 * 8;
      pieces_.push_back({v, t, at, kPiece});
    }
    const uint64_t last = (bytes - kPiece) / 8 * 8;
    pieces_.push_back({v, t, last, bytes - last});
  }
}

rt::Buffer* Workbench::buffer(int value, uint64_t bytes) {
  rt::BufferRef& b = buffers_[value];
  if (!b || b->bytes < bytes) b = device_.allocate(bytes);  // scratch of another candidate is less
  return b.get();
}

rt::BufferRef Workbench::upload(const std::vector<char>& bytes) {
  rt::BufferRef b = device_.allocate(bytes.size());
  device_.upload(*b, 0, bytes.data(), bytes.size());
  return b;
}

rt::Buffer& Workbench::pattern(DType t) {
  rt::BufferRef& made = patterns_[t];
  if (made) return *made;
  constexpr int kSigned[] = {1, -2, 3, -1, 2, -3}, kUnsigned[] = {1, 2, 3, 1, 3, 2},
                kBool[] = {1, 0, 0, 1, 0, 1};
  const Kind kind = info(t).kind;
  const int* values = kind == Kind::b ? kBool : kind == Kind::u ? kUnsigned : kSigned;
  const auto item = static_cast<size_t>(info(t).size);
  std::vector<char> bytes(kPattern * item);
  uint32_t state = 1;
  for (size_t i = 0; i < kPattern; ++i) {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator
    const uint64_t v = item_of(t, values[(state >> 16) % 6]);
    std::memcpy(bytes.data() + i * item, &v, item);
  }
  made = upload(bytes);
  return *made;
}

rt::Buffer& Workbench::garbage() {
  if (garbage_) return *garbage_;
  const std::vector<uint32_t> nans(kPattern, 0x7fc0deadu);
  std::vector<char> bytes(kPattern * 4);
  std::memcpy(bytes.data(), nans.data(), bytes.size());
  garbage_ = upload(bytes);
  return *garbage_;
}

rt::Buffer& Workbench::zeros() {
  if (!zeros_) zeros_ = upload(std::vector<char>(kPattern * 4));
  return *zeros_;
}

// `from`: where in the pattern to begin, so that operands differ.
void Workbench::fill(rt::Buffer& to, uint64_t bytes, rt::Buffer& pattern, uint64_t length,
                     uint64_t from) {
  for (uint64_t at = 0; at < bytes; from = 0) {
    const uint64_t n = std::min(bytes - at, length - from);
    device_.copy(to, at, pattern, from, n);
    at += n;
  }
}

void Workbench::give_operand(int value) {
  const Node& n = *g_.node_of(value);
  const uint64_t bytes = words(g_.is_leaf(value) ? n.buffer->bytes : n.bytes());
  const auto item = static_cast<uint64_t>(info(n.dtype).size);
  const uint64_t first = static_cast<uint64_t>(value) * 52 % kPattern / 4 * 4;
  fill(*buffer(value, bytes), bytes, pattern(n.dtype), kPattern * item, first * item);
}

void Workbench::prepare(const Plan& plan) {
  std::map<int, uint64_t> made;  // what the steps write, but in place
  std::map<int, int> over;
  for (const Step& s : plan.steps)
    for (const StepOutput& o : s.outputs) {
      if (o.workspace)
        fill(*buffer(o.value, o.bytes), words(o.bytes), zeros(), kPattern * 4, 0);
      else if (o.in_place < 0)
        made[o.value] = o.bytes;
      else
        over[o.value] = o.in_place;
    }
  for (const Step& s : plan.steps)
    for (int v : s.buffers)
      if (!made.count(v) && !over.count(v) && !buffers_.count(v)) give_operand(v);
  for (auto [value, source] : over) {
    give_operand(source);  // fresh, for the run before wrote over it
    buffers_[value] = buffers_[source];
  }
  for (auto [value, bytes] : made)
    fill(*buffer(value, bytes), words(bytes), garbage(), kPattern * 4, 0);
}

void Workbench::run(const Plan& plan, bool half) {
  for (const Step& s : plan.steps) {
    if (!s.kernel || s.buffers.size() > kMaxBuffers) internal_error("a step that cannot be tried");
    std::vector<uint32_t> params = s.params;
    for (const Patch& p : s.patches) params[p.word] += patched(*g_.node_of(p.value), p.source);
    rt::Buffer* bound[kMaxBuffers];
    for (size_t i = 0; i < s.buffers.size(); ++i) bound[i] = buffers_.at(s.buffers[i]).get();
    const uint32_t x = half ? s.x / 2 : s.x;
    device_.dispatch(*s.kernel, bound, params.data(), x, s.y, s.z);
  }
}

Workbench::Sample Workbench::results() {
  Sample out;
  for (const Piece& p : pieces_) {
    out.resize(out.size() + p.bytes);
    watch_.read(*buffers_.at(p.value), p.offset, p.bytes, out.data() + out.size() - p.bytes);
  }
  return out;
}

bool Workbench::agree(const Sample& a, const Sample& b) const {
  uint64_t at = 0;
  for (const Piece& p : pieces_) {
    const char *x = a.data() + at, *y = b.data() + at;
    if (is_float(p.dtype) ? !same_floats(p.dtype, x, y, p.bytes) : std::memcmp(x, y, p.bytes) != 0)
      return false;
    at += p.bytes;
  }
  return true;
}

}  // namespace wgt::graph

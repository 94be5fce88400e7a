#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "base/errors.h"
#include "kernels/matmul.h"

using namespace wgt;
using namespace wgt::kernels;

namespace {

/// WebGPU's defaults: every device grants them.
rt::Limits default_limits() {
  rt::Limits l;
  l.max_workgroup_memory = 16384;
  l.max_invocations = 256;
  l.max_workgroup_x = l.max_workgroup_y = 256;
  l.max_workgroup_z = 64;
  l.max_groups = 65535;
  return l;
}

rt::Limits large_limits() {
  rt::Limits l = default_limits();
  l.max_workgroup_memory = 49152;  // NVIDIA's
  l.max_invocations = l.max_workgroup_x = l.max_workgroup_y = 1024;
  return l;
}

MatmulProblem row_major(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  return {DType::float32, batch, m, n, k, k, 1, n, 1, m * k % 4 == 0, k * n % 4 == 0};
}

const std::string kDeclarations = "struct Params { m: u32 }\n";

std::string source(const rt::Limits& limits, bool software, const MatmulProblem& p,
                   int force = -1) {
  return matmul_source(plan_matmul({limits, software}, p, force), kDeclarations);
}

/// The number after `name` in the source.
int64_t number_after(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  REQUIRE(at != std::string::npos);
  return std::stoll(text.substr(at + name.size()));
}

}  // namespace

TEST_CASE("matmul plan: batch sizes share few sources") {
  for (bool software : {false, true})
    for (const rt::Limits& limits : {default_limits(), large_limits()})
      for (auto [n, k] : {std::pair{512, 784}, {10, 512}, {4096, 1024}, {7, 33}, {1000, 1001}}) {
        std::set<std::string> sources;
        for (int64_t m = 2; m <= 500; ++m) {
          MatmulProblem p = row_major(m, n, k);
          p.a_aligned = p.b_aligned = true;
          sources.insert(source(limits, software, p));
        }
        CHECK(sources.size() <= 4);
      }
}

TEST_CASE("matmul plan: no size is in the source") {
  auto of = [](int64_t m, int64_t n, int64_t k) {
    return source(large_limits(), false, row_major(m, n, k),
                  matmul_variant_named("128x96x16_8x12"));
  };
  const std::string a = of(4096, 4096, 4096);
  CHECK(a == of(8192, 2048, 1024));
  CHECK(a == of(4095, 4092, 4096));
  CHECK(a != of(4096, 4095, 4096));
  CHECK(a != of(4096, 4096, 4095));
}

TEST_CASE("matmul plan: every variant's workgroup is what its source says") {
  for (int v = 0; v < matmul_variant_count(); ++v) {
    const MatmulProblem p = row_major(512, 512, 512);
    CHECK(matmul_variant_fits(large_limits(), v, DType::float32));
    const MatmulLaunch l = plan_matmul({large_limits()}, p, v);
    const std::string text = matmul_source(l, kDeclarations);
    CHECK(l.wx * l.wy == number_after(text, "@workgroup_size("));
    CHECK(number_after(text, "mm_tile: array<vec4<f32>, ") * 16 <=
          large_limits().max_workgroup_memory);
    CHECK(text.find("//%") == std::string::npos);
  }
  CHECK_THROWS_AS(matmul_variant_name(-1), Error);
  CHECK_THROWS_AS(matmul_variant_name(matmul_variant_count()), Error);
}

TEST_CASE("matmul plan: default limits are kept") {
  const rt::Limits limits = default_limits();
  auto check = [&](bool software, const MatmulProblem& p) {
    const MatmulLaunch l = plan_matmul({limits, software}, p);
    CHECK(l.wx * l.wy <= limits.max_invocations);
    CHECK(std::max({l.gx, l.gy, l.gz}) <= limits.max_groups);
    const std::string tile = std::string("mm_tile: array<vec4<") + info(p.dtype).compute + ">, ";
    CHECK(number_after(matmul_source(l, kDeclarations), tile) * 4 * info(p.dtype).size <=
          limits.max_workgroup_memory);
  };
  for (bool software : {false, true})
    for (DType dtype : {DType::float32, DType::float64, DType::int64})
      for (int64_t m : {2, 17, 64, 300, 4096})
        for (int64_t n : {2, 64, 1000, 4096})
          for (int64_t k : {256, 60000})
            for (bool transposed : {false, true}) {
              MatmulProblem p = row_major(m, n, k);
              p.dtype = dtype;
              if (transposed) {
                p.a_rs = 1, p.a_cs = m;
                p.b_rs = 1, p.b_cs = k;
              }
              check(software, p);
            }
}

TEST_CASE("matmul plan: indexes over several dimensions") {
  // Weights of 64 x (8, 3, 3) and windows over images of 8 x 58 x 58.
  MatmulProblem p = row_major(64, 56 * 56, 72);
  p.b_rs = 1, p.b_cs = 1;
  p.b_aligned = true;
  p.b_k = MatmulWalk{3, false};
  p.b_columns = MatmulWalk{56, false};
  for (bool software : {false, true}) {
    const MatmulLaunch l = plan_matmul({large_limits(), software}, p);
    CHECK(l.a_vec4);
    CHECK(!l.b_vec4);
    const std::string text = matmul_source(l, kDeclarations);
    for (const char* used : {"x_offset_1(", "k_offset_1("})
      CHECK(text.find(used) != std::string::npos);
    for (const char* unused : {"x_offset_0(", "k_offset_0("})
      CHECK(text.find(unused) == std::string::npos);
  }
  // Rows of whole vec4s, all else at multiples of 4.
  p.b_rs = 3136, p.b_columns = MatmulWalk{56, true}, p.b_k = std::nullopt;
  CHECK(plan_matmul({large_limits()}, p).b_vec4);
  p.b_columns = MatmulWalk{54, true};
  CHECK(!plan_matmul({large_limits()}, p).b_vec4);
  p.b_columns = MatmulWalk{56, false};
  CHECK(!plan_matmul({large_limits()}, p).b_vec4);
  // The plain source knows nothing of it.
  CHECK(source(large_limits(), false, row_major(64, 64, 64)).find("_offset_") == std::string::npos);
}

TEST_CASE("matmul plan: vec4 loads need unit stride, whole vec4s and alignment") {
  const rt::Limits limits = large_limits();
  auto vec = [&](MatmulProblem p) {
    const MatmulLaunch l = plan_matmul({limits}, p);
    return std::pair{l.a_vec4, l.b_vec4};
  };
  using Pair = std::pair<bool, bool>;
  const MatmulProblem base = row_major(64, 64, 64);
  CHECK(vec(base) == Pair{true, true});
  auto changed = [&](const std::function<void(MatmulProblem&)>& change) {
    MatmulProblem p = base;
    change(p);
    return vec(p);
  };
  CHECK(changed([](auto& p) { p.a_aligned = false; }) == Pair{false, true});
  CHECK(changed([](auto& p) { p.b_aligned = false; }) == Pair{true, false});
  CHECK(changed([](auto& p) { p.a_rs = 65; }) == Pair{false, true});
  CHECK(changed([](auto& p) { p.a_cs = 2; }) == Pair{false, true});
  CHECK(changed([](auto& p) { p.a_cs = -1; }) == Pair{false, true});
  CHECK(changed([](auto& p) { p.a_rs = -64; }) == Pair{true, true});
  CHECK(changed([](auto& p) { p.a_rs = 0; }) == Pair{true, true});
  CHECK(changed([](auto& p) { p.a_rs = 1, p.a_cs = 64; }) == Pair{true, true});
  CHECK(changed([](auto& p) { p.b_rs = 1, p.b_cs = 64; }) == Pair{true, true});
  CHECK(changed([](auto& p) { p.b_rs = 1, p.b_cs = 66; }) == Pair{true, false});
  CHECK(changed([](auto& p) { p.n = 63; }) == Pair{true, false});
  CHECK(changed([](auto& p) { p.m = 63; }) == Pair{true, true});
  CHECK(changed([](auto& p) { p.k = 62; }) == Pair{false, true});
}

TEST_CASE("matmul plan: tiles waste little, and keep every multiprocessor busy") {
  const rt::Limits limits = large_limits();
  auto tile = [&](int64_t m, int64_t n, int64_t batch) {
    const std::string name =
        matmul_variant_name(plan_matmul({limits}, row_major(m, n, 512, batch)).variant);
    return name.substr(0, name.find('x', name.find('x') + 1));
  };
  CHECK(tile(4096, 4096, 1) == "128x96");
  CHECK(tile(8, 4096, 8) == "16x16");
  CHECK(tile(4096, 8, 64) == "16x16");
  CHECK(tile(33, 64, 1000) == "64x64");
  CHECK(tile(32, 64, 1000) == "32x32");
  CHECK(tile(65, 65, 1000) == "128x96");  // one each, where 64x64 are four
  CHECK(tile(1024, 1024, 1) == "64x64");
  CHECK(tile(3072, 3072, 1) == "128x96");  // 576 tiles of 128x128 are two rounds and a bit
}

TEST_CASE("matmul plan: grids beyond the limit fold") {
  rt::Limits limits = large_limits();
  int middle = 0;
  while (matmul_variant_name(middle) != std::string("64x64x16_8x8")) ++middle;
  auto grid = [&](int64_t tiles, int64_t batch) {
    const MatmulLaunch l = plan_matmul({limits}, row_major(64 * tiles, 64, 64, batch), middle);
    return std::array{l.gx, l.gy, l.gz};
  };
  CHECK(grid(3, 2) == std::array{3u, 1u, 2u});
  CHECK(grid(65535, 1) == std::array{65535u, 1u, 1u});
  CHECK(grid(65536, 7) == std::array{32768u, 2u, 7u});
  CHECK(grid(3, 65536) == std::array{3u, 32768u, 2u});
  CHECK(grid(1, 70001) == std::array{1u, 35001u, 2u});
  limits.max_groups = 10;
  CHECK_THROWS_AS(grid(11, 11), Error);
  CHECK_THROWS_AS(grid(101, 1), Error);
}

TEST_CASE("matmul plan: integers take the same template") {
  for (auto [dtype, name] : {std::pair{DType::int32, "i32"}, {DType::uint32, "u32"}}) {
    MatmulProblem p = row_major(64, 64, 64);
    p.dtype = dtype;
    CHECK(source(default_limits(), false, p).find("vec4<" + std::string(name) + ">") !=
          std::string::npos);
  }
}

TEST_CASE("matmul plan: the last tiles are cut where they would leave much idle") {
  const MatmulTarget target{large_limits()};  // 132 multiprocessors
  const int big = matmul_variant_named("128x128x16_8x16_b");
  auto tail = [&](int64_t m, int64_t n, int64_t k) {
    return matmul_tail(target, row_major(m, n, k), big);
  };
  // 1024 tiles of 128 x 128, 264 at a time: 232 are left, and 32 workgroups idle.
  MatmulTail t = tail(4096, 4096, 4096);
  CHECK(t.first == 792);
  CHECK(t.tiles == 232);
  CHECK(t.pieces == 2);
  CHECK(t.length == 3648);  // eight short pieces take no longer than a long one
  CHECK(t.fours() == 2 * 232 * 128 * 128 / 4);
  // 1089 tiles: 33 are left, for each of which there are eight workgroups.
  t = tail(33 * 128, 33 * 128, 4096);
  CHECK(t.first == 1056);
  CHECK(t.tiles == 33);
  CHECK(t.pieces == 8);
  CHECK(t.length == 512);
  CHECK(tail(4224, 4096, 4096).tiles == 0);  // exactly four rounds
  CHECK(tail(512, 512, 512).tiles == 0);     // less than one
  CHECK(tail(4096, 4096, 64).tiles == 0);    // not worth two kernels more

  CHECK(matmul_tail(target, row_major(4096, 4096, 4096, 2), big).tiles == 0);
  MatmulProblem pieces = row_major(4096, 4096, 4096);
  pieces.last_k = 16;
  CHECK(matmul_tail(target, pieces, big).tiles == 0);
  MatmulProblem halves = row_major(4096, 4096, 4096);
  halves.by_function = true;
  CHECK(matmul_tail(target, halves, big).tiles == 0);
  rt::Limits few = large_limits();
  few.max_groups = 1000;  // its tiles are folded
  CHECK(matmul_tail({few}, row_major(4096, 4096, 4096), big).tiles == 0);
  CHECK(matmul_tail(target, row_major(4096, 4096, 4096), matmul_variant_named("cpu_64x64x16_8x8"))
            .tiles == 0);
}

TEST_CASE("matmul plan: the tile suits what is transposed on its way, and leaves little idle") {
  const MatmulTarget target{large_limits()};
  auto chosen = [&](int64_t size, bool turned_a, bool turned_b) {
    MatmulProblem p = row_major(size, size, size);
    if (turned_a) std::swap(p.a_rs, p.a_cs);
    if (turned_b) std::swap(p.b_rs, p.b_cs);
    return std::string(matmul_variant_name(plan_matmul(target, p).variant));
  };
  // 1376 tiles of 128 x 96, 264 at a time: 56 are left, four pieces of each fit.
  CHECK(chosen(4096, false, false) == "128x96x16_8x12");
  const MatmulTail t =
      matmul_tail(target, row_major(4096, 4096, 4096), matmul_variant_named("128x96x16_8x12"));
  CHECK(t.first == 1320);
  CHECK(t.pieces == 4);
  CHECK(t.length == 1024);
  CHECK(chosen(4096, true, false) == "64x128x16_8x8");
  CHECK(chosen(4096, false, true) == "96x128x16_12x8");
  CHECK(chosen(4096, true, true) == "96x128x16_12x8");
  CHECK(chosen(2048, false, false) == "128x128x16_8x16_b");  // 256 tiles: one round of 264
}

TEST_CASE("matmul plan: where workgroups meet, small blocks of results go without more kernels") {
  const rt::Limits limits = large_limits();
  const MatmulTarget meeting{limits, false, 132, true};
  const MatmulProblem p = row_major(4096, 4096, 4096);
  const int chosen = plan_matmul(meeting, p).variant;
  CHECK(std::string(matmul_variant_name(chosen)) == "64x128x16_8x8");
  const MatmulTail t = matmul_tail(meeting, p, chosen);
  CHECK(t.meet);
  CHECK(t.first == 5 * 396);
  CHECK(t.tiles == 68);
  CHECK(t.pieces == 5);
  CHECK(matmul_tail(meeting, p, matmul_variant_named("128x96x16_8x12")).tiles == 0);
  const MatmulTail all = matmul_all_cut(row_major(64, 4096, 4096), chosen, 6);
  CHECK(all.meet);
  CHECK(all.first == 0);
  CHECK(all.tiles == 32);
  CHECK(all.pieces == 6);
  CHECK(all.length == 688);  // whole steps
}

TEST_CASE("matmul plan: a tail's kernels have no size in their sources, and its array is theirs") {
  const int big = matmul_variant_named("128x128x16_8x16_b");
  const MatmulCut cut{"p.first", "p.rest", "p.length", "p.pieces", "in2"};
  std::set<std::string> pieces, sums;
  for (int64_t size : {4096, 4608, 5120}) {
    const MatmulLaunch l = plan_matmul({large_limits()}, row_major(size, size, 2 * size), big);
    pieces.insert(matmul_pieces_source(l, kDeclarations, cut));
    sums.insert(matmul_sum_source(l, kDeclarations, cut));
    CHECK(matmul_source(l, kDeclarations).find("in2") == std::string::npos);
  }
  CHECK(pieces.size() == 1);
  CHECK(sums.size() == 1);
  std::set<std::string> meeting;
  const MatmulCut meet{"p.first", "p.rest", "p.length", "p.pieces", "in2", true, 4096};
  for (const char* name : {"64x128x16_8x8", "64x32x32_8x4_s4", "64x128x16_8x8_e"})
    for (int64_t size : {1024, 4096})
      meeting.insert(matmul_pieces_source(
          plan_matmul({large_limits()}, row_major(size, 64, 4096), matmul_variant_named(name)),
          kDeclarations, meet));
  CHECK(meeting.size() == 3);
  for (const std::string& text : meeting) {
    CHECK(text.find("atomicAdd(&in2[at_tile], 1u)") != std::string::npos);
    CHECK(text.find("emit4(") != std::string::npos);
    CHECK(text.find("//%") == std::string::npos);
  }
  for (const std::string& text : {*pieces.begin(), *sums.begin()}) {
    CHECK(text.find("in2[") != std::string::npos);
    CHECK(text.find("p.rest") != std::string::npos);
  }
}

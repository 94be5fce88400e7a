// Threads that record, flush, read and free on the devices of one process while one of the devices
// is lost and made anew, again and again: for the thread sanitizer, and right results.
//
// wgt_stress [turns of each thread]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "tensor/advanced.h"
#include "tensor/tensor.h"

using namespace wgt;
using graph::Engine;
using graph::OpId;

namespace {

constexpr int kThreads = 4;
constexpr int64_t kSize = 96;
std::atomic<int> wrong{0}, lost{0}, done{0};

void expect(bool right, const char* what) {
  if (right) return;
  ++wrong;
  std::fprintf(stderr, "wrong: %s\n", what);
}

std::vector<float> host(const Tensor& t) {
  rt::ReadbackRef r = to_host(t);
  std::vector<float> out(static_cast<size_t>(t.size()));
  std::memcpy(out.data(), r->data, out.size() * sizeof(float));
  return out;
}

Scalar number(double f) {
  return Scalar{Kind::f, f, static_cast<int64_t>(f)};
}

Tensor upload(Engine& e, const std::vector<float>& values) {
  return from_host(e, DType::float32, Dims{static_cast<int64_t>(values.size())}, Dims{4},
                   values.data());
}

void chain(Engine& e, float k) {
  Tensor x = full(e, Dims{kSize}, number(k), DType::float32);
  Tensor y = elementwise(OpId::multiply, {elementwise(OpId::add, {x, number(1)}), number(2)});
  std::vector<float> all = host(y), sum = host(reduce("sum", y, std::nullopt, false));
  expect(all.back() == 2 * (k + 1), "a chain");
  expect(sum[0] == kSize * 2 * (k + 1), "a sum");
}

void places(Engine& e, std::minstd_rand& rng) {
  std::vector<float> v(kSize);
  std::iota(v.begin(), v.end(), 0.0F);
  std::shuffle(v.begin(), v.end(), rng);
  Tensor x = upload(e, v), order = argsort(x, 0);
  Tensor sorted = take(x, order, 0, IndexMode::raise, "take");
  Tensor written = index_assign(sorted, {{IndexItem::slice, 0, 2, kSize / 2}}, number(-1));
  std::vector<float> got = host(written);
  for (int64_t i = 0; i < kSize; ++i) {
    float wanted = i % 2 == 0 ? -1.0F : static_cast<float>(i);
    expect(got[static_cast<size_t>(i)] == wanted, "a sort and an assignment");
  }
}

void product(Engine& e, float k) {
  Tensor a = full(e, Dims{8, 16}, number(k), DType::float32);
  Tensor b = full(e, Dims{16, 4}, number(2), DType::float32);
  expect(host(matmul(a, b))[5] == 32 * k, "a product");
}

void start_and_drop(Engine& e, float k) {
  Tensor x = full(e, Dims{kSize}, number(k), DType::float32);
  for (int i = 0; i < 20; ++i) x = elementwise(OpId::sin, {x});
  Tensor kept = elementwise(OpId::exp, {x});
  eval({kept});
}

void turn(Engine& e, std::minstd_rand& rng) {
  float k = static_cast<float>(rng() % 50);
  switch (rng() % 4) {
    case 0:
      return chain(e, k);
    case 1:
      return places(e, rng);
    case 2:
      return product(e, k);
    default:
      return start_and_drop(e, k);
  }
}

void work(Engine& steady, Engine& mortal, int turns, unsigned seed) {
  std::minstd_rand rng(seed);
  for (int i = 0; i < turns; ++i) {
    turn(steady, rng);
    try {
      turn(mortal, rng);
    } catch (const Error& error) {
      expect(error.kind == ErrorKind::device_lost, error.what());
      ++lost;
      mortal.recover();
    }
  }
  ++done;
}

}  // namespace

int main(int argc, char** argv) {
  int turns = argc > 1 ? std::atoi(argv[1]) : 50;
  const rt::AdapterInfo& adapter = rt::choose_adapter("");
  Engine& steady = *Engine::create(adapter, {});
  Engine& mortal = *Engine::create(adapter, {});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { work(steady, mortal, turns, t + 1); });
  int losses = 0;
  while (done < kThreads) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    mortal.destroy();
    mortal.recover();
    ++losses;
    steady.stats();
  }
  for (std::thread& t : threads) t.join();
  Engine::begin_exit();
  for (Engine* e : graph::engines()) e->close();
  std::printf("%d threads, %d turns each, %d losses, seen by %d turns, %d wrong\n", kThreads, turns,
              losses, lost.load(), wrong.load());
  return wrong == 0 ? 0 : 1;
}

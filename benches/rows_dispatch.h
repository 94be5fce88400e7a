// What one tiny operation costs at each level, and what it costs to wait.
#pragma once
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

#include <string>
#include <vector>

#include "base/settings.h"
#include "context.h"
#include "raw_loop.h"

namespace bench {

constexpr int kTinyOps = 2000;  // each depends on the one before
constexpr int kCpuBatch = 240;  // five submissions: recorded without waiting for the device

struct TinyLoop {
  std::function<void(int)> record;  // so many operations, sent
  std::function<void()> wait;
};

/// What callgrind counts: see instructions.py. It is started here, as it slows everything else.
inline void counted_operations(const TinyLoop& loop, int ops) {
#ifdef CALLGRIND_START_INSTRUMENTATION
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
#endif
  loop.record(ops);
#ifdef CALLGRIND_START_INSTRUMENTATION
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
#endif
}

/// End to end per operation, and the recording thread's CPU time, taken from an idle device.
inline Row measure_tiny(const Context& c, const std::string& name, const TinyLoop& loop) {
  if (c.count_ops) {
    for (int i = 0; i < 2; ++i) {  // plans of the same lengths as the counted ones
      loop.record(c.count_ops);
      loop.wait();
    }
    auto start = Clock::now();
    counted_operations(loop, c.count_ops);
    loop.wait();
    return in_microseconds(name, Timing{{seconds_since(start)}, 1}, c.count_ops);
  }
  int ops = static_cast<int>(c.size(kTinyOps, kTinyOps, 480));
  Row row = in_microseconds(name,
                            measure(c.effort,
                                    [&](int n) {
                                      for (int i = 0; i < n; ++i) loop.record(ops);
                                      loop.wait();
                                    }),
                            ops);
  for (int i = 0; i < 2 * c.effort.repeats; ++i) {
    double start = thread_seconds();
    loop.record(kCpuBatch);
    row.cpu_us.push_back((thread_seconds() - start) / kCpuBatch * 1e6);
    loop.wait();
  }
  return row;
}

inline void tiny_raw(Context& c) {
  if (!c.wanted("tiny_raw")) return;
  RawLoop loop(static_cast<WGPUAdapter>(c.engine.adapter().handle));
  int64_t total = 0;
  Row row = measure_tiny(c, "tiny_raw",
                         {[&](int n) {
                            loop.run(n);
                            total += n;
                          },
                          [&] { loop.wait(); }});
  check_close("tiny_raw", loop.read(), 1.5 * static_cast<double>(total), 0);
  row.note = "webgpu.h alone";
  c.report.add(std::move(row));
}

inline void tiny_runtime(Context& c) {
  if (!c.wanted("tiny_runtime")) return;
  namespace rt = wgt::rt;
  std::vector<float> zeros(kTinyElements, 0), ones(kTinyElements, 1), twos(kTinyElements, 2);
  Tensor x = upload(c, {kTinyElements}, zeros), s1 = upload(c, {kTinyElements}, ones),
         s2 = upload(c, {kTinyElements}, twos);
  rt::Device& device = c.engine.device();
  rt::KernelRef kernel;
  {
    rt::Lock lock = c.engine.lock();
    rt::KernelDesc desc;
    desc.label = "tiny_runtime";
    desc.source = kTinySource;
    desc.bindings = {rt::Access::read_write, rt::Access::read};
    kernel = device.kernel(std::move(desc));
  }
  rt::Buffer* groups[2][2] = {{x.node()->buffer.get(), s1.node()->buffer.get()},
                              {x.node()->buffer.get(), s2.node()->buffer.get()}};
  int64_t total = 0;
  Row row = measure_tiny(c, "tiny_runtime",
                         {[&](int n) {
                            rt::Lock lock = c.engine.lock();
                            for (int i = 0; i < n; ++i)
                              device.dispatch(*kernel, groups[i % 2], nullptr, 1, 1, 1);
                            device.submit();
                            total += n;
                          },
                          [&] { c.synchronize(); }});
  check_close("tiny_runtime", peek(c, x, {63})[0], 1.5 * static_cast<double>(total), 0);
  row.note = "rt::Device";
  c.report.add(std::move(row));
}

/// x = x + y over the lazy graph, one kernel each.
inline void tiny_graph(Context& c, const std::string& name, const wgt::Operand& y,
                       const std::string& note) {
  if (!c.wanted(name)) return;
  int& fusion = wgt::settings().max_fusion;
  int before = std::exchange(fusion, 1);
  Tensor x = upload(c, {kTinyElements}, std::vector<float>(kTinyElements, 0));
  int64_t total = 0;
  Row row = measure_tiny(c, name,
                         {[&](int n) {
                            for (int i = 0; i < n; ++i) {
                              const wgt::Operand operands[] = {x, y};
                              x = wgt::elementwise(graph_op::add, operands);
                            }
                            wgt::eval({x});
                            c.submit();
                            total += n;
                          },
                          [&] { c.synchronize(); }});
  fusion = before;
  check_close(name, peek(c, x, {63})[0], static_cast<double>(total), 0);
  row.note = note;
  c.report.add(std::move(row));
}

/// One element back on the host after a tiny operation, such as a loss.
inline void item(Context& c) {
  if (!c.wanted("item")) return;
  Tensor x = upload(c, {1}, {0});
  int total = 0;
  float last = 0;
  Timing t = measure(c.effort, [&](int n) {
    for (int i = 0; i < n; ++i, ++total) {
      x = op(graph_op::add, {x, scalar(1)});
      std::memcpy(&last, wgt::to_host(x)->data, 4);
    }
  });
  check_close("item", last, total, 0);
  Row row = in_microseconds("item", std::move(t));
  row.note = "one operation, one element to the host";
  c.report.add(std::move(row));
}

/// One tiny operation and the wait for its end.
inline void sync(Context& c) {
  if (!c.wanted("sync")) return;
  Tensor x = upload(c, {1}, {0});
  int total = 0;
  Timing t = measure(c.effort, [&](int n) {
    for (int i = 0; i < n; ++i, ++total) {
      x = op(graph_op::add, {x, scalar(1)});
      wgt::eval({x});
      c.synchronize();
    }
  });
  check_close("sync", peek(c, x, {0})[0], total, 0);
  Row row = in_microseconds("sync", std::move(t));
  row.note = "one operation, and the wait for it";
  c.report.add(std::move(row));
}

inline void dispatch_rows(Context& c) {
  c.attempt([&] { tiny_raw(c); });
  c.attempt([&] { tiny_runtime(c); });
  c.attempt([&] {
    tiny_graph(c, "tiny_tensor", upload(c, {kTinyElements}, std::vector<float>(kTinyElements, 1)),
               "x + tensor, max_fusion=1");
  });
  c.attempt([&] { tiny_graph(c, "tiny_scalar", scalar(1), "x + scalar, max_fusion=1"); });
  c.attempt([&] { sync(c); });
  c.attempt([&] { item(c); });
}

}  // namespace bench

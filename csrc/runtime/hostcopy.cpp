#include "runtime/hostcopy.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

namespace wgt::rt {

namespace {

constexpr uint64_t kPerThread = 4 << 20;  // less does not pay for starting a thread
constexpr unsigned kMaxThreads = 4;

unsigned useful_threads(uint64_t bytes) {
  static const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  uint64_t by_size = std::max<uint64_t>(bytes / kPerThread, 1);
  return static_cast<unsigned>(std::min<uint64_t>({by_size, cores / 2, kMaxThreads}));
}

}  // namespace

void host_copy(void* dst, const void* src, uint64_t bytes, unsigned threads) {
  if (!threads) threads = useful_threads(bytes);
  auto* to = static_cast<char*>(dst);
  auto* from = static_cast<const char*>(src);
  if (threads <= 1) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint64_t part = (bytes / threads + 4095) / 4096 * 4096;
  std::thread helpers[kMaxThreads];
  uint64_t at = 0;
  for (unsigned i = 0; i + 1 < std::min(threads, kMaxThreads) && at + part < bytes; ++i) {
    try {
      helpers[i] = std::thread([=] { std::memcpy(to + at, from + at, part); });
    } catch (const std::system_error&) {  // no thread to be had: this one does the rest
      break;
    }
    at += part;
  }
  std::memcpy(to + at, from + at, bytes - at);
  for (std::thread& helper : helpers)
    if (helper.joinable()) helper.join();
}

}  // namespace wgt::rt

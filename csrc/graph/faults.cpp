#include "graph/faults.h"

#include <algorithm>
#include <limits>

#include "graph/engine.h"

namespace wgt::graph {

namespace {
constexpr uint64_t kSlotBytes = 2 * sizeof(uint32_t);
}  // namespace

NodeRef Faults::leaf(Engine& e) {
  if (words_) return words_;
  std::vector<uint32_t> none(2 * kSlots, 0);
  auto make = [&] {
    NodeRef n = e.empty(DType::uint32, Dims{2 * kSlots});
    n->traced = true;  // recorded programs may know it
    e.device().upload(*n->buffer, 0, none.data(), kSlots * kSlotBytes);
    return n;
  };
  zeros_ = make();
  return words_ = make();
}

// Beyond the last slot sites share it: the error then names the first of them.
uint32_t Faults::slot(const IndexSite& site) {
  auto it = std::find(sites_.begin(), sites_.end(), site);
  if (it == sites_.end() && sites_.size() < kSlots) it = sites_.insert(it, site);
  return static_cast<uint32_t>(std::min<size_t>(it - sites_.begin(), kSlots - 1));
}

std::shared_ptr<FaultReport> Faults::take(rt::Device& device) {
  if (sites_.empty()) return nullptr;
  uint64_t bytes = sites_.size() * kSlotBytes;
  rt::ReadbackRef words = device.read_begin(*words_->buffer, 0, bytes);
  device.copy(*words_->buffer, 0, *zeros_->buffer, 0, bytes);
  return std::make_shared<FaultReport>(std::move(words), std::exchange(sites_, {}));
}

namespace {

constexpr int kTold = 4;  // faults that one error tells

std::string text_of(const IndexSite& site, uint32_t above, uint32_t below) {
  std::string name = "[" + site.op + "] ";
  if (!site.message.empty()) return name + site.message;
  if (site.is_signed && above > std::numeric_limits<int32_t>::max()) {
    below = 0u - above;
    above = 0;
  }
  bool most = std::max(above, below) == std::numeric_limits<uint32_t>::max();
  std::string index = above ? std::to_string(above) : "-" + std::to_string(below);
  return name + "index " + index + (most ? " (or one beyond)" : "") +
         " is out of bounds for axis " + std::to_string(site.axis) + " with size " +
         std::to_string(site.size);
}

}  // namespace

void FaultReport::check(rt::Device& device, rt::Lock& lock) {
  device.read_wait(*words_, lock);
  const auto* word = static_cast<const uint32_t*>(words_->data);
  const IndexSite* first = nullptr;
  std::string text;
  int found = 0;
  for (const IndexSite& site : sites_) {
    uint32_t above = *word++, below = *word++;
    if (!above && !below) continue;
    if (!first) first = &site;
    if (found++ < kTold) text += (text.empty() ? "" : "; and ") + text_of(site, above, below);
  }
  if (!first) return;
  if (found > kTold) text += "; and " + std::to_string(found - kTold) + " more";
  Error error(first->message.empty() ? ErrorKind::index : ErrorKind::value, text);
  error.late = true;
  throw error;
}

}  // namespace wgt::graph

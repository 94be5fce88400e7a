#include <atomic>
#include <cmath>
#include <memory>

#include "graph/tuning.h"

namespace wgt::graph {

namespace {

std::mutex& tables_mutex() {
  static std::mutex m;
  return m;
}
std::map<std::string, std::unique_ptr<TuningTable>>& tables() {
  static auto* all = new std::map<std::string, std::unique_ptr<TuningTable>>();
  return *all;
}

std::atomic<void (*)()> tuning_notice{nullptr};

void give_notice() {
  if (auto notice = tuning_notice.load()) notice();
}

std::mutex& rules_mutex() {
  static std::mutex m;
  return m;
}
TuningRules& rules_in_force() {
  static auto* rules = new TuningRules();
  return *rules;
}

}  // namespace

TuningTable& TuningTable::of(const std::string& key) {
  std::lock_guard<std::mutex> l(tables_mutex());
  auto& table = tables()[key];
  if (!table) table = std::make_unique<TuningTable>(key);
  return *table;
}

std::vector<TuningTable*> TuningTable::all() {
  std::lock_guard<std::mutex> l(tables_mutex());
  std::vector<TuningTable*> out;
  for (auto& [key, table] : tables()) out.push_back(table.get());
  return out;
}

void TuningTable::load(const std::vector<std::pair<std::string, std::string>>& kernels) {
  std::lock_guard<std::mutex> l(mutex_);
  if (std::exchange(loaded_, true)) return;
  for (const auto& [shape_class, kernel] : kernels)
    choices_.try_emplace(shape_class, Choice{kernel, Origin::stored, {}});
}

bool TuningTable::loaded() const {
  std::lock_guard<std::mutex> l(mutex_);
  return loaded_;
}

std::optional<std::string> TuningTable::find(const std::string& shape_class) const {
  std::lock_guard<std::mutex> l(mutex_);
  auto it = choices_.find(shape_class);
  return it == choices_.end() ? std::nullopt : std::optional(it->second.kernel);
}

std::string TuningTable::settle(const std::string& shape_class, Choice choice) {
  bool is_news = false;
  std::string kernel;
  {
    std::lock_guard<std::mutex> l(mutex_);
    auto [it, fresh] = choices_.try_emplace(shape_class, std::move(choice));
    kernel = it->second.kernel;
    is_news = fresh && it->second.origin == Origin::measured;
    if (is_news) news_.measured.emplace(shape_class, it->second);
  }
  if (is_news) give_notice();
  return kernel;
}

void TuningTable::report(std::string text) {
  {
    std::lock_guard<std::mutex> l(mutex_);
    constexpr size_t kMost = 100;
    if (news_.reports.size() < kMost) news_.reports.push_back(std::move(text));
  }
  give_notice();
}

TuningTable::Choices TuningTable::choices() const {
  std::lock_guard<std::mutex> l(mutex_);
  return choices_;
}

TuningTable::News TuningTable::take_news() {
  std::lock_guard<std::mutex> l(mutex_);
  return std::exchange(news_, {});
}

void TuningTable::forget() {
  std::lock_guard<std::mutex> l(mutex_);
  loaded_ = false;
  choices_.clear();
  news_ = {};
}

void set_tuning_notice(void (*notice)()) {
  tuning_notice.store(notice);
}

TuningRules tuning_rules() {
  std::lock_guard<std::mutex> l(rules_mutex());
  return rules_in_force();
}

void set_tuning_rules(TuningRules rules) {
  std::lock_guard<std::mutex> l(rules_mutex());
  rules_in_force() = std::move(rules);
}

int size_step(int64_t size, int most) {
  int step = static_cast<int>(std::lround(std::log2(static_cast<double>(size > 0 ? size : 1))));
  return step < most ? step : most;
}

}  // namespace wgt::graph

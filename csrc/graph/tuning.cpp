#include "graph/tuning.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "graph/workbench.h"

namespace wgt::graph {

namespace {

constexpr double kWorthwhile = 10e-6;  // what takes less is hardly more than its dispatch
constexpr double kOneRun = 0.5;        // part of the budget that one run may take, by the estimate
constexpr double kShortest = 200e-6;   // of a sample, so that its ends do not count
constexpr int kSamples = 5;
constexpr double kHopeless = 2;    // times the best: no more samples
constexpr double kClearly = 0.97;  // of the estimate's choice must another take less
constexpr double kGuess = 1.25;    // of what the dearest candidate took so far, for the next one
constexpr double kSlowest = 10;    // times the first one's run, that another may take

/// How long the choice has taken, by the host's clock or by the tests'.
class Spent {
 public:
  explicit Spent(double step) : step_(step) {}
  void tried() { ++tried_; }
  double seconds() const {
    if (step_ > 0) return step_ * tried_;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double step_;
  int tried_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double median(std::vector<double> v) {
  auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

/// One measurement: the candidates that there is time for, of which those count whose results most
/// agree on.
class Contest {
 public:
  Contest(LowerContext& c, int group, const Question& q)
      : c_(c),
        group_(group),
        question_(q),
        watch_(c.device),
        rules_(tuning_rules()),
        spent_((watch_.settle(), rules_.step)),  // the time of earlier work is not ours
        bench_(c, group, watch_) {}
  // Pipelines that nothing else uses go; the one that is needed next stays.
  ~Contest() {
    const long shared = 2;  // by the device's cache and the entry
    for (const Entry& e : entries_)
      if (&e != (winner_ ? winner_ : &entries_.front()))
        for (const Step& s : e.plan.steps)
          if (s.kernel.use_count() <= shared) c_.device.drop(*s.kernel);
  }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  void run(TuningTable::Choice& choice) {
    entries_.reserve(question_.candidates.size());
    for (size_t i = 0; i < question_.candidates.size() && has_time(); ++i) attempt(i);
    if (entries_.size() < 2) return;
    count_agreement();
    for (const Entry& e : entries_) {
      if (e.agrees < most_agree_) {
        c_.tuning.table->report("[autotune] " + question_.family + " " + question_.shape_class +
                                ": the kernel " + e.candidate->name +
                                " gives other results than most and is not used");
        continue;
      }
      choice.seconds.emplace_back(e.candidate->name, e.seconds);
      if (!winner_ || e.seconds < winner_->seconds * (winner_ == &entries_.front() ? kClearly : 1))
        winner_ = &e;
    }
    choice.kernel = winner_->candidate->name;
    choice.origin = TuningTable::Origin::measured;
  }

 private:
  struct Entry {
    const Candidate* candidate;
    Plan plan;
    double seconds = 0;
    Workbench::Sample sample;
    int agrees = 0;
  };

  bool has_time() const {
    if (entries_.empty()) return true;
    if (std::isfinite(rules_.budget) && entries_.front().seconds < kWorthwhile) return false;
    const double run = rules_.step > 0 ? 0 : kSlowest * entries_.front().seconds;
    return spent_.seconds() + kGuess * dearest_ + run <= rules_.budget;
  }

  void attempt(size_t i) {
    const double start = spent_.seconds();
    Entry e;
    e.candidate = &question_.candidates[i];
    try {
      e.plan.values = c_.plan.values;
      LowerContext trial{c_.g, c_.fusion, c_.device, e.plan, c_.dying, c_.freed};
      trial.forced = static_cast<int>(i);
      lower_group(trial, group_);
      bench_.prepare(e.plan);
      watch_.settle();
      const bool half = rules_.wrong.count(e.candidate->name) > 0;
      bench_.run(e.plan, half);
      e.sample = bench_.results();
      e.seconds = time_of(e, half);
      best_ = entries_.empty() ? e.seconds : std::min(best_, e.seconds);
      entries_.push_back(std::move(e));
    } catch (const Error& error) {
      // What no kernel can do is planned in another way; memory is short for all of them.
      if (c_.device.lost() || error.kind == ErrorKind::out_of_memory ||
          (i == 0 && error.kind == ErrorKind::unsupported))
        throw;
      c_.tuning.table->report("[autotune] " + question_.family + " " + question_.shape_class +
                              ": the kernel " + e.candidate->name +
                              " is not used: " + error.what());
    }
    spent_.tried();
    dearest_ = std::max(dearest_, spent_.seconds() - start);
  }

  double time_of(const Entry& e, bool half) {
    const auto given = rules_.seconds.find(e.candidate->name);
    if (given != rules_.seconds.end()) return given->second;
    const double once = watch_.time(1, [&] { bench_.run(e.plan, half); })[0];
    if (!entries_.empty() && once > kHopeless * best_) return once;
    const int repeats = static_cast<int>(std::clamp(kShortest / std::max(once, 1e-9), 1.0, 64.0));
    const double left = (rules_.budget - spent_.seconds()) / (once * repeats);
    const int samples = static_cast<int>(std::clamp(left, 1.0, double{kSamples}));
    auto work = [&] {
      for (int r = 0; r < repeats; ++r) bench_.run(e.plan, half);
    };
    return median(watch_.time(samples, work)) / repeats;
  }

  // Of two that differ nobody knows which is right: the estimate's choice, which is the first.
  void count_agreement() {
    for (Entry& a : entries_)
      for (const Entry& b : entries_) a.agrees += &a == &b || bench_.agree(a.sample, b.sample);
    for (const Entry& e : entries_) most_agree_ = std::max(most_agree_, e.agrees);
    if (most_agree_ > 1) return;
    most_agree_ = 2;
    entries_.front().agrees = 2;
  }

  LowerContext& c_;
  int group_;
  const Question& question_;
  rt::Stopwatch watch_;
  const TuningRules rules_;
  Spent spent_;
  Workbench bench_;
  std::vector<Entry> entries_;
  double dearest_ = 0, best_ = 0;
  int most_agree_ = 0;
  const Entry* winner_ = nullptr;
};

/// What the user's own work is counted by does not show the measurement, but for its pipelines.
void restore(rt::Stats& now, const rt::Stats& before) {
  for (auto counter : {&rt::Stats::dispatches, &rt::Stats::submits, &rt::Stats::pipeline_hits,
                       &rt::Stats::bind_groups, &rt::Stats::bind_group_hits, &rt::Stats::buffers,
                       &rt::Stats::buffer_hits, &rt::Stats::bytes_uploaded, &rt::Stats::bytes_read})
    now.*counter = before.*counter;
  now.peak_bytes = std::max(before.peak_bytes, now.live_bytes);
}

void measure(LowerContext& c, int group, const Question& q, TuningTable::Choice& choice) {
  const rt::Stats before = c.device.stats();
  try {
    Contest(c, group, q).run(choice);
  } catch (const Error& error) {
    if (c.device.lost() || error.kind == ErrorKind::unsupported) throw;
    c.tuning.table->report("[autotune] " + q.family + " " + q.shape_class +
                           ": not measured: " + error.what());
  }
  c.device.collect();
  restore(c.device.stats(), before);
}

}  // namespace

int choose(LowerContext& c, int group, const Question& q) {
  if (c.forced >= 0) return q.candidates.at(static_cast<size_t>(c.forced)).id;
  const Candidate& first = q.candidates.front();
  if (!c.tuning.table || q.candidates.size() < 2) return first.id;
  // A name that is not among the candidates, as a foreign file may have, does not count.
  auto id_of = [&](const std::string& name) {
    auto it = std::find_if(q.candidates.begin(), q.candidates.end(),
                           [&](const Candidate& k) { return k.name == name; });
    return it == q.candidates.end() ? first.id : it->id;
  };
  const std::string shape_class = q.family + " " + q.shape_class;
  if (auto kernel = c.tuning.table->find(shape_class)) return id_of(*kernel);
  if (c.tuning.mode == TuningMode::peek) return first.id;
  TuningTable::Choice choice{first.name, TuningTable::Origin::estimate, {}};
  if (c.tuning.mode == TuningMode::measure &&
      Workbench::suits(c, group, kOneRun * tuning_rules().budget))
    measure(c, group, q, choice);
  return id_of(c.tuning.table->settle(shape_class, std::move(choice)));
}

}  // namespace wgt::graph

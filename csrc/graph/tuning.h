// Choices among kernels that compute the same: measured once for each class of shapes, kept in a
// table, and from then on the same for as long as the process lives.
//
// A family of kernels asks while it lowers a group, by choose(): with a name for the class, and the
// candidates in the order of its own estimate. To measure one, the group is lowered again with that
// candidate, into a plan of its own that runs on memory of its own.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/tuning_mode.h"

namespace wgt::graph {

struct LowerContext;

struct Candidate {
  int id;            // what the family knows it by
  std::string name;  // what the table knows it by
};

struct Question {
  std::string family;                 // "matmul"
  std::string shape_class;            // all that the answer may depend on, sizes in steps
  std::vector<Candidate> candidates;  // that are right here: the estimate's choice, then the others
};

/// The choices of one adapter, driver and form of device. Any thread.
class TuningTable {
 public:
  enum class Origin : uint8_t { estimate, stored, measured };
  struct Choice {
    std::string kernel;
    Origin origin = Origin::estimate;
    std::vector<std::pair<std::string, double>> seconds;  // of each that was measured
  };
  using Choices = std::map<std::string, Choice>;
  struct News {
    Choices measured;
    std::vector<std::string> reports;
  };

  /// The one table of this key; it lives until the process ends.
  static TuningTable& of(const std::string& key);
  static std::vector<TuningTable*> all();

  explicit TuningTable(std::string key) : key_(std::move(key)) {}
  const std::string& key() const { return key_; }
  /// What earlier processes measured. The first call counts, for what is in use does not change.
  void load(const std::vector<std::pair<std::string, std::string>>& kernels);
  bool loaded() const;
  std::optional<std::string> find(const std::string& shape_class) const;
  /// Makes a choice that is to last; the kernel of an earlier one, if there is one.
  std::string settle(const std::string& shape_class, Choice choice);
  void report(std::string text);
  Choices choices() const;
  /// What was measured and reported since the last call.
  News take_news();
  /// Forgets everything, to be loaded or measured anew by devices made later.
  void forget();

 private:
  const std::string key_;
  mutable std::mutex mutex_;  // of what follows; nothing else is locked under it
  bool loaded_ = false;
  Choices choices_;
  News news_;
};

/// Called, with locks held, when a table has news; it must only pass that on.
void set_tuning_notice(void (*notice)());

/// What bounds a measurement; and, for tests, what it finds.
struct TuningRules {
  double budget = 0.2;  // seconds that one choice may take, compiling included
  // Tests only. Kernels that leave out half of their work; times instead of measured ones; how far
  // each kernel that is tried moves the clock, which then stands still otherwise.
  std::set<std::string> wrong;
  std::map<std::string, double> seconds;
  double step = 0;
};
TuningRules tuning_rules();
void set_tuning_rules(TuningRules rules);

/// The id of the candidate to use for the group: `q` has at least one. [engine lock]
int choose(LowerContext& c, int group, const Question& q);

/// The power of two that a size is nearest to, as its exponent, at most `most`.
int size_step(int64_t size, int most);

}  // namespace wgt::graph

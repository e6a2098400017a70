#pragma once
/// Adds up the values of locations: by call path, function, module or other keys, and by machine, rank or thread. This
/// is the only loop over rows (rows.hpp).

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "offline/run/metrics.hpp"
#include "offline/run/nodes.hpp"
#include "offline/run/quantities.hpp"
#include "offline/run/rows.hpp"

namespace refrain::run {

/// The places for which values are kept apart.
enum class Place : std::uint8_t { Everywhere, Machine, Rank, Thread };

struct Question {
  const Keys* keys = nullptr;  ///< of the nodes, must outlive the answer; null: all together
  Place place = Place::Everywhere;
  std::vector<std::size_t> metrics;
  bool all_asked_for = false;    ///< also the metrics of REFRAIN_METRICS of any rank, after `metrics`
  bool has_errors = true;        ///< else neither standard errors nor Quantity::sampled are computed
  bool has_inclusive = true;     ///< else keys have exclusive values only, and memory is by key, not by node
  std::vector<bool> nodes = {};  ///< only these (Nodes::select()); empty: all
};

/// The values at one place. Columns are those of Question::metrics.
class Answer {
 public:
  std::string machine;  ///< of the leaf that was added first
  std::int32_t rank = 0, thread = 0;

  /// Whether any row, or any value that a tool has found, has this key.
  bool has(std::size_t key) const { return exclusive_.flags[key].has(Flags::Row); }
  /// The value of the key's nodes alone.
  Quantity exclusive(std::size_t key, std::size_t column) const { return quantity(key, column, exclusive_); }
  /// The value of the key's nodes and everything that they call; a node below another node of the key counts once.
  Quantity inclusive(std::size_t key, std::size_t column) const { return quantity(key, column, inclusive_); }
  /// The values alone, without errors.
  Integer exclusive_value(std::size_t key, std::size_t column) const { return exclusive_.values[column][key]; }
  Integer inclusive_value(std::size_t key, std::size_t column) const { return inclusive_.values[column][key]; }
  /// The value for a question without keys.
  Quantity of(std::size_t column) const { return inclusive(0, column); }

  double exclusive_s(std::size_t key, std::size_t column) const { return seconds(exclusive_, key, column); }
  double inclusive_s(std::size_t key, std::size_t column) const { return seconds(inclusive_, key, column); }
  double seconds(std::size_t column) const { return seconds(inclusive_, 0, column); }
  /// The column of a metric of REFRAIN_METRICS.
  std::size_t asked_for(std::size_t number) const { return asked_for_ + number; }

 private:
  friend class Grouping;
  struct Flags {
    enum Bit : std::uint8_t { Row = 1, Divided = 2, Bounded = 4, Untold = 8 };
    std::uint8_t bits = 0;
    bool has(Bit bit) const { return (bits & bit) != 0; }
    Flags& operator+=(Flags other) {
      bits |= other.bits;
      return *this;
    }
  };
  /// By key; while rows are added, by slot (Grouping::slot_of()).
  struct Sums {
    std::vector<std::vector<Integer>> values;  ///< by column first
    std::vector<Integer> sampled;              ///< empty without Question::has_errors
    std::vector<double> variance;              ///< always by key
    std::vector<Flags> flags;
    std::vector<std::vector<Replicates>> replicates;  ///< by column first; empty: the metric has none
  };
  Quantity quantity(std::size_t key, std::size_t column, const Sums& of) const;
  static double seconds(const Sums& of, std::size_t key, std::size_t column) {
    return static_cast<double>(of.values[column][key]) / 1e9;
  }

  const Metrics* metrics_ = nullptr;
  std::vector<std::size_t> columns_;
  std::size_t asked_for_ = 0, leaves_ = 0;
  Sums exclusive_, inclusive_;
  std::uint32_t everything_ = Keys::none;  ///< the key whose inclusive values are those of all nodes
  Integer below_ = 0, above_ = 0;
  bool is_exact_ = true, tells_waiting_ = true, knows_off_cpu_of_calls_ = true;
  std::vector<double> found_errors_;  ///< by column, in seconds, of the last leaf
  /// By column and first rank of a block of ranks: number of locations that share replicates with added ones but have
  /// not been added themselves.
  std::vector<std::map<std::int32_t, std::int64_t>> missing_;
};

/// Answers a question. Several groupings may take the same leaves in one pass.
class Grouping {
 public:
  using Take = std::function<void(const Answer&)>;
  /// With `take`, each answer is handed over when the next place begins, the last one in finish(), so that only one is
  /// in memory; answers by machine are all in memory until finish(). The leaves of a rank must be added one after the
  /// other. `nodes` and `metrics` must outlive the answers.
  Grouping(const Nodes& nodes, const Metrics& metrics, Question question, Take take = {});
  void add(const Leaf& leaf);
  /// The answers that were not handed over, in the order of their first leaves.
  std::vector<Answer> finish();

 private:
  /// A column of the answer, and the number of its metric within its source; for Metric::Columns, the column in the
  /// rows of the file.
  struct Column {
    std::size_t column, number;
  };
  bool is_place_of(const Answer& answer, const Leaf& leaf) const;
  Answer& answer_for(const Leaf& leaf);
  void add_row(Answer& to, const Leaf& leaf, const Row& row, std::size_t slot);
  void add_unassigned(Answer& to, const Leaf& leaf, std::size_t column) const;
  void add_found(Answer& to, const Leaf& leaf);
  void add_replicates(Answer& to, const Leaf& leaf, const Column& column);
  bool has_replicates(const Column& column) const {
    const experiment::SavedMetric& found = metrics_.found()[column.number];
    return question_.has_errors && found.is_sampled && found.ranks_in_block > 0;
  }
  void add_variance(Answer& to, const Stratum& stratum);
  void close(Answer& answer) const;
  void hand_over();
  /// Zero sums for a new answer, in the memory of the answer that was handed over last.
  Answer::Sums zeros();
  /// The slot in which the values of a node are added up: one per node if inclusive values are needed, else one per key
  /// and one for all nodes that are not shown.
  std::size_t slot_of(std::uint32_t node) const {
    if (!question_.keys) return 0;
    return question_.has_inclusive ? node : std::min<std::size_t>(question_.keys->of_node[node], keys());
  }
  std::size_t slots() const {
    if (!question_.keys) return 1;
    return question_.has_inclusive ? nodes_.size() : keys() + 1;
  }
  std::size_t keys() const { return question_.keys ? question_.keys->size() : 1; }
  bool is_chosen(std::uint32_t node) const { return question_.nodes.empty() || question_.nodes[node]; }
  template <class Value>
  void add_children(std::vector<Value>& by_node) const;
  template <class Value>
  std::vector<Value> by_key(const std::vector<Value>& by_node, bool outermost_only) const;

  const Nodes& nodes_;
  const Metrics& metrics_;
  Question question_;
  Take take_;
  std::vector<Column> times_, of_mpi_, of_functions_, of_marks_, asked_for_, found_;  ///< by source of their values
  std::vector<Answer> answers_;
  Answer handed_over_;           ///< its memory is reused: there may be an answer for each of 100,000 ranks
  std::vector<double> weights_;  ///< of the current leaf, by slot
};

/// One key per node that has a row in the leaf: parts of a run have few of all nodes.
Keys nodes_of(const Leaf& leaf, const Nodes& nodes);

/// The answer for one leaf; `question.place` is ignored.
Answer answer_of(const Leaf& leaf, const Nodes& nodes, const Metrics& metrics, Question question);

}  // namespace refrain::run

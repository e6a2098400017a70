// The table `value`.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "offline/query/schema.hpp"
#include "offline/query/streamed_tables.hpp"

namespace refrain::query {
namespace {

using run::UnitRef;

enum ValueColumn { of_run, of_location, of_unit, of_node, of_metric, of_value };

/// The bounds, in the order of StreamedTable::bounded.
struct ValueBounds {
  Bound run, location, unit, node, metric;
};

class ValueStream : public RowStream {
 public:
  ValueStream(Runs& runs, const ValueBounds& bounds) : runs_(runs), bounds_(bounds) {
    if (bounds_.unit.is_narrow()) {  // a unit belongs to one location
      Bound& location = bounds_.location;
      location.first = std::max(location.first, Runs::location_of_unit(std::max<std::int64_t>(bounds_.unit.first, 0)));
      location.last = std::min(location.last, Runs::location_of_unit(std::max<std::int64_t>(bounds_.unit.last, -1)));
    }
    has_wait_ = bounds_.metric.has(runs_.wait());
    begin_run(0);
    fill();
  }

  bool at_end() const override { return at_ == rows_.size(); }
  void next() override {
    if (++at_ == rows_.size()) fill();
  }
  Number at(int column) const override {
    const auto if_any = [](std::int64_t id) { return id < 0 ? Number() : Number(id); };
    switch (column) {
      case of_run: return static_cast<std::int64_t>(run_of_rows_);
      case of_location: return if_any(location_of_rows_);
      case of_unit: return if_any(unit_of_rows_);
      case of_node: return rows_[at_].node;
      case of_metric: return rows_[at_].metric;
      default: return rows_[at_].value;
    }
  }

  /// The index that the row would have if every location had all units, call paths and metrics.
  std::int64_t id() const override {
    const auto locations = static_cast<std::uint64_t>(runs_.locations().size());
    std::uint64_t id = location_of_rows_ < 0 ? locations + run_of_rows_ : static_cast<std::uint64_t>(location_of_rows_);
    const auto add_digit = [&](std::uint64_t base, std::int64_t digit) {
      id = id * base + static_cast<std::uint64_t>(digit);
    };
    add_digit(Runs::units_of_location + 1,
              unit_of_rows_ < 0 ? Runs::units_of_location : unit_of_rows_ % Runs::units_of_location);
    add_digit(runs_.paths().size(), rows_[at_].node);
    add_digit(runs_.metrics().size(), rows_[at_].metric);
    return static_cast<std::int64_t>(id);
  }

 private:
  struct Cell {
    std::int64_t node, metric;
    double value;
  };

  void begin_run(std::size_t run) {
    run_ = run;
    location_ = -1;
    unit_ = 0;
    units_.clear();
  }

  /// Reads on until there are rows. A run has first its rows without a location, then, for each location, those without
  /// a unit and those of its units.
  void fill() {
    rows_.clear();
    at_ = 0;
    while (rows_.empty() && run_ < runs_.runs().size()) read_one();
  }

  void read_one() {
    if (!bounds_.run.has(static_cast<std::int64_t>(run_))) return begin_run(run_ + 1);
    const auto locations = static_cast<std::int64_t>(runs_.source(run_).locations().size());
    if (location_ < 0) {
      begin_rows(-1, -1);
      if (has_wait_) find_waits();
      if (!bounds_.location.is_narrow() && !bounds_.unit.is_narrow() && has_wait_) add_waits_of_no_location();
      return begin_location(0);
    }
    if (location_ == locations) return begin_run(run_ + 1);
    const std::int64_t id = runs_.first_location(run_) + location_;
    if (!bounds_.location.has(id)) return begin_location(location_ + 1);
    if (unit_ == 0) {
      begin_rows(id, -1);
      read_whole(static_cast<std::size_t>(location_));
    } else {
      const std::int64_t unit = Runs::unit_id(id, unit_ - 1);
      begin_rows(id, unit);
      if (bounds_.unit.has(unit)) add_values(units_[unit_ - 1], false);
    }
    finish_rows();
    if (++unit_ > units_.size()) begin_location(location_ + 1);
  }

  void begin_location(std::int64_t location) {
    location_ = location;
    unit_ = 0;
    units_.clear();
  }
  void begin_rows(std::int64_t location, std::int64_t unit) {
    run_of_rows_ = run_;
    location_of_rows_ = location;
    unit_of_rows_ = unit;
  }

  /// Reads the values that are known only for a whole location, which are all values of a location that is not divided
  /// into units. Metrics out of bounds are not read.
  void read_whole(std::size_t location) {
    bool wants_units = false, wants_whole = false;
    const auto& metrics = runs_.source(run_).metrics();
    for (std::size_t m = 0; m < metrics.size(); ++m)
      if (bounds_.metric.has(runs_.metric_of(run_, m)))
        (metrics[m].is_of_run_only() ? wants_whole : wants_units) = true;
    if (wants_units) units_ = runs_.units_of({run_, location});
    const bool is_divided = !units_.empty();
    if (bounds_.unit.is_narrow()) return;
    if (wants_whole || (wants_units && !is_divided)) add_values({}, is_divided || !wants_units);
    if (has_wait_ && runs_.source(run_).locations()[location].thread == 0)
      add_waits_of_rank(runs_.source(run_).locations()[location].rank);
  }

  /// `only_whole`: only metrics that are not known for units.
  void add_values(const UnitRef& unit, bool only_whole) {
    const auto& metrics = runs_.source(run_).metrics();
    runs_.source(run_).for_each_node_of(
        static_cast<std::size_t>(location_), unit, [&](std::uint32_t node, std::span<const double> values) {
          const std::int64_t path = runs_.path_of(run_, node);
          if (!bounds_.node.has(path)) return;
          for (std::size_t m = 0; m < values.size(); ++m)
            if (values[m] != 0 && (!only_whole || metrics[m].is_of_run_only()))
              if (const std::int64_t metric = runs_.metric_of(run_, m); bounds_.metric.has(metric))
                rows_.push_back({path, metric, values[m]});
        });
  }

  void add_wait(std::size_t node, double seconds) {
    if (const std::int64_t path = runs_.path_of(run_, node); seconds > 0 && bounds_.node.has(path))
      rows_.push_back({path, runs_.wait(), seconds});
  }
  void add_waits_of_rank(std::int64_t rank) {
    if (const auto of = waits_of_rank_.find(rank); of != waits_of_rank_.end())
      for (const auto& [node, seconds] : of->second) add_wait(node, seconds);
  }
  void add_waits_of_no_location() {
    for (const auto& [node, seconds] : other_waits_) add_wait(node, seconds);
    finish_rows();
  }

  /// Finds the waits of the run by rank, and the part that cannot be assigned to a rank of the run.
  void find_waits() {
    waits_of_rank_.clear();
    other_waits_.clear();
    for (const auto& location : runs_.source(run_).locations())
      if (location.thread == 0) waits_of_rank_.try_emplace(location.rank);
    const auto& nodes = runs_.source(run_).nodes();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      if (!nodes[node].wait) continue;
      const double wait_s = nodes[node].wait->seconds;
      // The sum over ranks must not exceed the known total.
      double of_ranks = 0;
      for (const auto& [rank, seconds] : nodes[node].wait_by_rank) of_ranks += seconds;
      const double part = of_ranks > wait_s ? wait_s / of_ranks : 1;
      double rest = wait_s;
      for (const auto& [rank, seconds] : nodes[node].wait_by_rank)
        if (const auto of = waits_of_rank_.find(rank); of != waits_of_rank_.end()) {
          of->second.emplace_back(node, part * seconds);
          rest -= part * seconds;
        }
      constexpr double rounding = 1e-12;
      if (rest > rounding * wait_s) other_waits_.emplace_back(node, rest);
    }
  }

  /// Sorts the rows in the order of the table, and adds up those of nodes with the same call path.
  void finish_rows() {
    const auto order = [](const Cell& cell) { return std::tuple(cell.node, cell.metric); };
    if (!std::ranges::is_sorted(rows_, {}, order)) std::ranges::stable_sort(rows_, {}, order);
    std::size_t kept = 0;
    for (const Cell& cell : rows_) {
      if (kept > 0 && order(rows_[kept - 1]) == order(cell)) rows_[kept - 1].value += cell.value;
      else rows_[kept++] = cell;
    }
    rows_.resize(kept);
  }

  Runs& runs_;
  ValueBounds bounds_;
  bool has_wait_ = false;
  // The next rows to read.
  std::size_t run_ = 0;
  std::int64_t location_ = -1;  ///< of the run; -1: no location
  std::size_t unit_ = 0;        ///< 0: no unit; else its index + 1
  std::vector<UnitRef> units_;
  using NodeSeconds = std::vector<std::pair<std::size_t, double>>;
  std::map<std::int64_t, NodeSeconds> waits_of_rank_;
  NodeSeconds other_waits_;
  // The current rows.
  std::size_t run_of_rows_ = 0, at_ = 0;
  std::int64_t location_of_rows_ = -1, unit_of_rows_ = -1;
  std::vector<Cell> rows_;
};

}  // namespace

StreamedTable value_table(Runs& runs) {
  constexpr double units_of_location = 8, rows_of_node = 8;  // rows: metrics that are not 0, in all units
  const auto locations = static_cast<double>(runs.locations().size()), paths = static_cast<double>(runs.paths().size());
  const bool is_one = runs.runs().size() == 1;
  return {
      table_named("value").text,
      {{of_run, static_cast<double>(runs.runs().size())},
       {of_location, locations},
       {of_unit, units_of_location * locations},
       {of_node, paths, false},
       {of_metric, static_cast<double>(runs.metrics().size()), false}},
      is_one ? std::vector<int>{of_location, of_unit, of_node, of_metric}
             : std::vector<int>{of_run, of_location, of_unit, of_node, of_metric},
      rows_of_node * paths * locations,
      [&runs](std::span<const Bound> bounds) {
        return std::make_unique<ValueStream>(runs, ValueBounds{bounds[0], bounds[1], bounds[2], bounds[3], bounds[4]});
      }};
}

}  // namespace refrain::query

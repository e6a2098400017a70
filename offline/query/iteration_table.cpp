// The table `iteration`.
#include <cmath>
#include <map>

#include "offline/query/schema.hpp"
#include "offline/query/streamed_tables.hpp"

namespace refrain::query {
namespace {

using database::RunIteration;
using run::UnitRef;

enum IterationColumn { in_location, in_loop, has_number, in_unit, has_wall, has_mpi, has_user };

class IterationStream : public RowStream {
 public:
  IterationStream(Runs& runs, const Bound& locations, const Bound& loops)
      : runs_(runs), locations_(locations), loops_(loops) {
    runs_.loops();  // assigns their ids
    fill();
  }

  bool at_end() const override { return at_ == rows_.size(); }
  void next() override {
    if (++at_ == rows_.size()) fill();
  }
  Number at(int column) const override {
    const auto if_known = [](double seconds) { return std::isfinite(seconds) ? Number(seconds) : Number(); };
    const Row& row = rows_[at_];
    switch (column) {
      case in_location: return location_;
      case in_loop: return row.loop;
      case has_number: return row.of.number;
      case in_unit: return row.unit < 0 ? Number() : Number(row.unit);
      case has_wall: return if_known(row.of.wall_s);
      case has_mpi: return if_known(row.of.mpi_s);
      default: return if_known(row.of.user_s);
    }
  }

  std::int64_t id() const override {
    constexpr std::uint64_t iterations = std::uint64_t{1} << 32;
    const std::uint64_t loops = runs_.loops().size() + 1;
    return static_cast<std::int64_t>(
        (static_cast<std::uint64_t>(location_) * loops + static_cast<std::uint64_t>(rows_[at_].loop)) * iterations +
        static_cast<std::uint64_t>(rows_[at_].of.number));
  }

 private:
  struct Row {
    RunIteration of;
    std::int64_t loop, unit;
  };

  void fill() {
    rows_.clear();
    at_ = 0;
    const auto all = static_cast<std::int64_t>(runs_.locations().size());
    while (rows_.empty() && ++location_ < all)
      if (locations_.has(location_)) read(runs_.locations()[static_cast<std::size_t>(location_)]);
  }

  void read(const Place& place) {
    database::RunSource& source = runs_.source(place.run);
    std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> units;  // by loop of the source and cluster
    const auto here = source.loops_of(place.location);
    const auto all = runs_.units_of(place);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].of == UnitRef::Cluster) units[{here[all[i].loop].name, all[i].number}] = Runs::unit_id(location_, i);
    source.for_each_iteration(
        place.location, [](const database::RunCluster&) {},
        [&](const RunIteration& one) {
          const std::int64_t loop = runs_.loop_of(place.run, one.loop);
          if (!loops_.has(loop)) return;
          const auto unit = units.find({one.loop, one.cluster});
          rows_.push_back({one, loop, unit == units.end() ? -1 : unit->second});
        });
  }

  Runs& runs_;
  const Bound locations_, loops_;
  std::int64_t location_ = -1;
  std::size_t at_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

StreamedTable iteration_table(Runs& runs) {
  constexpr double loops = 2, iterations = 1000;
  const auto locations = static_cast<double>(runs.locations().size());
  return {
      table_named("iteration").text,
      {{in_location, locations}, {in_loop, loops, false}},
      {in_location},
      iterations * locations,
      [&runs](std::span<const Bound> bounds) { return std::make_unique<IterationStream>(runs, bounds[0], bounds[1]); }};
}

}  // namespace refrain::query

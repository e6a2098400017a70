#include "offline/patterns/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "format/checksum.hpp"
#include "format/kept_iterations.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/totals.hpp"
#include "statistics/statistics.hpp"

namespace refrain::patterns {

Estimate::Estimate(const trace::Trace& trace, const Naming& naming, const Meanings& meanings, std::size_t outputs,
                   std::uint32_t untold, const std::vector<std::string>& loops)
    : trace_(trace),
      naming_(naming),
      meanings_(meanings),
      untold_(untold),
      loops_(loops),
      values_(outputs),
      replicates_(outputs),
      location_variance_(outputs) {
  for (const std::string& loop : loops) loop_numbers_.push_back(format::checksum(loop.data(), loop.size()));
  std::int64_t ranks = 1;
  for (const trace::LocationOfTrace& of : trace.locations()) ranks = std::max(ranks, std::int64_t{of.rank} + 1);
  ranks_in_block_ = run::ranks_in_block(ranks, trace.path_count());
}

run::Signs Estimate::signs_of(const SpanEnd& iteration) const {
  return run::signs_of(loop_numbers_[iteration.loop], iteration.number);
}

void Estimate::add_value(std::uint32_t output, std::uint32_t path, std::uint32_t location, double ns) {
  const std::uint32_t node = path == trace::no_path ? 0 : naming_.node_of(path);
  values_[output][{node, location}] += ns;
}

namespace {

bool is_time(Quantity quantity) { return quantity < trace::call_classes; }

constexpr unsigned all_sides = (side_of_receives | side_of_sends) + 1;

/// All ranks know too little about a call path for the same reason, so their errors have the same sign: one set of
/// signs for all ranks. `sides`: of messages, or, beyond these, the block of strata.
run::Signs doubt_signs(std::uint32_t node, unsigned sides) {
  constexpr std::uint64_t of_doubts = 0x6a09e667f3bcc908;  // only by chance does a loop have this number
  return run::signs_of(of_doubts + sides, node);
}

/// Where the other ends of messages are.
enum class Ends : std::uint8_t { Within, Crossing, Unknown };

}  // namespace

/// The rows of a span at a call path.
struct Estimate::Group {
  std::uint32_t cell;
  std::span<const Findings::Row> rows;
  double time = 0, calls = 0;
  unsigned unknown = no_side, crossing = no_side;

  explicit Group(std::span<const Findings::Row> all) : cell(all[0].cell), rows(all) {
    for (const Findings::Row& row : all) {
      if (is_time(row.quantity)) time += static_cast<double>(row.ns);
      if (row.quantity == number_of_calls) calls += static_cast<double>(row.ns);
      if (row.quantity == unknown_receives) unknown |= side_of_receives;
      if (row.quantity == unknown_sends) unknown |= side_of_sends;
      if (row.quantity == crossing_receives) crossing |= side_of_receives;
      if (row.quantity == crossing_sends) crossing |= side_of_sends;
    }
  }
  Ends ends(unsigned sides) const {
    return (unknown & sides) != 0 ? Ends::Unknown : (crossing & sides) != 0 ? Ends::Crossing : Ends::Within;
  }
  double value(Quantity quantity) const {
    const auto row = std::ranges::find(rows, quantity, &Findings::Row::quantity);
    return row == rows.end() ? 0 : static_cast<double>(row->ns);
  }
  /// Mean duration of its calls.
  double duration() const { return time / std::max(calls, 1.0); }
};

/// `rows`: all rows of a span.
template <class Take>
void Estimate::for_each_group(std::span<const Findings::Row> rows, const Take& take) {
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t behind = begin + 1;
    while (behind < rows.size() && rows[behind].cell == rows[begin].cell) ++behind;
    take(Group(rows.subspan(begin, behind - begin)));
    begin = behind;
  }
}

namespace {

constexpr std::size_t least_kept = 5;
/// Maximum share of the time of all kept members: a member with more decides the ratio alone, and how much others
/// differ is unknown.
constexpr double largest_share = 0.95;

}  // namespace

/// Weighted sums of a quantity over groups.
struct Estimate::Sums {
  double all = 0, by_duration = 0;  ///< the latter: of values times their group's duration
  void add(const Sums& other) { all += other.all, by_duration += other.by_duration; }
};

/// How many others a group stands for. The weights give the groups the exact time and number of calls of all: long
/// calls wait longer, so if fewer of them were kept than their share, each stands for more. If positive weights cannot
/// match both, only the time is matched.
///
/// The expected value of a group follows from the others by least squares: in proportion to its calls and its time, or
/// to its time alone (Deville and Sarndal, Calibration estimators in survey sampling, 1992).
struct Estimate::Calibration {
  // Weighted sums over the groups.
  double time = 0, calls = 0, time_by_duration = 0, squares = 0;      ///< the last one: of weighted times
  double shortest = std::numeric_limits<double>::max(), longest = 0;  ///< durations
  std::size_t groups = 0;
  double level = 1, slope = 0;
  double level_of_calls = 1;  ///< if there is no slope

  void add(const Group& group, double weight) {
    time += weight * group.time;
    calls += weight * group.calls;
    time_by_duration += weight * group.time * group.duration();
    squares += weight * group.time * weight * group.time;
    shortest = std::min(shortest, group.duration());
    longest = std::max(longest, group.duration());
    ++groups;
  }
  void add(const Calibration& other) {
    time += other.time, calls += other.calls, time_by_duration += other.time_by_duration, squares += other.squares;
    shortest = std::min(shortest, other.shortest), longest = std::max(longest, other.longest);
    groups += other.groups;
  }
  double spread() const { return time_by_duration * calls - time * time; }
  void make(double exact_time, double exact_calls) {
    if (time <= 0) return;
    level = exact_time / time;
    level_of_calls = exact_calls > 0 && calls > 0 ? exact_calls / calls : level;
    slope = 0;
    if (groups < 2 * least_kept || exact_calls <= 0 || spread() <= 1e-9 * time * time) return;
    const double steep = (exact_time * calls - exact_calls * time) / spread();
    const double low = (exact_calls - steep * time) / calls, least = 0.1 * level;
    if (low + steep * shortest < least || low + steep * longest < least) return;
    slope = steep;
    level = low;
  }
  /// Minimum standard deviation of a share of the time with so few groups, whatever their values. Groups with much of
  /// the time make the effective number of groups smaller.
  double least_deviation() const {
    return statistics::deviation_by_succession(statistics::effective_samples(time, squares));
  }
  /// The duration is clamped because other groups may be longer or shorter than all added ones.
  double factor(const Group& group) const {
    return slope == 0 ? level : level + slope * std::clamp(group.duration(), shortest, longest);
  }
  double factor_of_calls(const Group& group) const { return slope == 0 ? level_of_calls : factor(group); }
  double value(const Sums& sums) const { return level * sums.all + slope * sums.by_duration; }
  double expected(const Sums& sums, const Group& group) const {
    if (time <= 0) return 0;
    if (slope == 0) return sums.all / time * group.time;
    const double by_time = (sums.by_duration * calls - sums.all * time) / spread();
    return (sums.all - by_time * time) / calls * group.calls + by_time * group.time;
  }
};

/// The sums of a call path in a block.
struct Estimate::Scaled {
  Calibration by;
  double seen_ns = 0;                                       ///< time of the kept members
  double excess_ns = 0;                                     ///< exact time minus the time that they stand for
  std::map<Quantity, Sums> within;                          ///< of calls whose messages stay within their iteration
  std::array<double, all_sides> apart_ns{}, apart_calls{};  ///< of all other calls
};

/// The calls at a call path whose messages have their other ends in other iterations.
struct Estimate::Domain {
  double all_ns = 0, calls = 0;  ///< of the run
  // Part of that in iterations that stand for themselves.
  double census_ns = 0, census_calls = 0;
  Calibration known;                 ///< calls whose messages were kept at both ends by chance
  double seen_ns = 0;                ///< unweighted time of these
  std::map<Quantity, Sums> waits;    ///< waiting of these
  std::map<Quantity, double> least;  ///< minimum waiting of all
  void add(const Domain& other) {
    all_ns += other.all_ns, calls += other.calls;
    census_ns += other.census_ns, census_calls += other.census_calls;
    seen_ns += other.seen_ns;
    add_known(other);
    for (const auto& [quantity, ns] : other.least) least[quantity] += ns;
  }
  /// Adds what is known; what is unknown stays as it is.
  void add_known(const Domain& other) {
    known.add(other.known);
    for (const auto& [quantity, sums] : other.waits) waits[quantity].add(sums);
  }
  /// Time in excess of what the calls would take with the mean duration of the known ones.
  double excess_ns() const {
    if (known.calls <= 0) return all_ns;
    return std::max(all_ns - census_ns - known.time / known.calls * (calls - census_calls), 0.0);
  }
  double expected(Quantity quantity, const Group& group) const {
    const auto at = waits.find(quantity);
    return at == waits.end() ? 0 : known.expected(at->second, group);
  }
};

/// A block that has been added.
struct Estimate::Sampled {
  std::vector<Stratum> strata;
  std::map<std::uint32_t, Scaled> scaled;  ///< by cell
  Domains domains;                         ///< domains with enough known calls; the others are pooled
  /// By cell: the sums from which expected values follow. Unknown values are replaced by what their domain predicts.
  std::map<std::uint32_t, std::map<Quantity, Sums>> expected;

  const Domain* domain(const Location& of, std::uint32_t cell, unsigned sides) const;
};

/// A location with a sample.
struct Estimate::Location {
  std::uint32_t number;
  const Findings::OfLocation& found;
  const experiment::Rank& rank;
  const experiment::Location& profile;
  std::vector<std::size_t> first_row;  ///< by span; the last entry is the end
  const std::vector<experiment::CallPath>& paths;
  Domains pooled;  ///< of iterations that stand for themselves, and of blocks about which too little is known
  std::vector<Sampled> sampled;  ///< blocks that have been added
  unsigned blocks = 0;           ///< number of blocks that have been added

  Location(std::uint32_t number_, const Findings::OfLocation& found_, const experiment::Rank& rank_,
           const experiment::Location& profile_, const std::vector<experiment::CallPath>& paths_)
      : number(number_),
        found(found_),
        rank(rank_),
        profile(profile_),
        first_row(found_.spans.size() + 2, 0),
        paths(paths_) {
    std::size_t row = 0;
    for (std::size_t span = 0; span + 1 < first_row.size(); ++span) {
      first_row[span] = row;
      while (row < found.rows.size() && found.rows[row].span == span) ++row;
    }
    first_row.back() = row;
  }
  std::span<const Findings::Row> rows(std::uint32_t span) const {
    return {found.rows.data() + first_row[span], first_row[span + 1] - first_row[span]};
  }
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t cell(std::uint32_t path) const {
    const std::size_t place = std::size_t{path} + 1;
    const std::uint32_t at = place < found.cell_of_path.size() ? found.cell_of_path[place] : 0;
    return at == 0 ? none : at - 1;
  }
  /// Time in MPI of a unit: calls `take(path, nanoseconds, calls)`.
  template <class Take>
  void for_each_mpi_path(const experiment::Unit& unit, const Take& take) const {
    for (const run::MpiCalls& of : run::mpi_calls_of(unit, rank, paths)) take(of.path, of.seconds * 1e9, of.number);
  }
};

void Estimate::add_residual(const Location& of, std::uint32_t output, std::uint32_t node, run::Signs signs,
                            double residual) {
  const std::int32_t rank = trace_.locations()[of.number].rank;
  replicates_[output][{node, rank - rank % ranks_in_block_}].add(signs, residual);
}

void Estimate::add_exact(std::uint32_t location, const Findings::OfLocation& found,
                         const std::function<bool(const SpanEnd*)>& is_wanted) {
  const auto add = [&](Quantity quantity, std::uint32_t path, std::int64_t ns) {
    for (const std::uint32_t output : meanings_[quantity].outputs)
      add_value(output, path, location, static_cast<double>(ns));
  };
  if (!is_wanted) {
    for (const Findings::Cell& cell : found.cells)
      for (const Findings::Value& value : cell.values) add(value.quantity, cell.path, value.ns);
    return;
  }
  for (const Findings::Row& row : found.rows)
    if (is_wanted(row.span < found.spans.size() ? &found.spans[row.span] : nullptr))
      add(row.quantity, found.cells[row.cell].path, row.ns);
}

void Estimate::add_census(std::uint32_t location, Location& of, std::uint32_t span) {
  for_each_group(of.rows(span), [&](const Group& group) {
    for (unsigned sides = 1; sides < all_sides; ++sides) {
      if (group.ends(sides) != Ends::Unknown) continue;
      Domain& domain = of.pooled[{group.cell, sides}];
      domain.all_ns += group.time;
      domain.calls += group.calls;
      domain.census_ns += group.time;
      domain.census_calls += group.calls;
    }
    for (const Findings::Row& row : group.rows) {
      const Meaning& meaning = meanings_[row.quantity];
      const auto ns = static_cast<double>(row.ns);
      if (group.ends(meaning.sides) == Ends::Unknown) of.pooled[{group.cell, meaning.sides}].least[row.quantity] += ns;
      else
        for (const std::uint32_t output : meaning.outputs)
          add_value(output, of.found.cells[group.cell].path, location, ns);
    }
  });
}

const Estimate::Domain* Estimate::Sampled::domain(const Location& of, std::uint32_t cell, unsigned sides) const {
  if (const auto own = domains.find({cell, sides}); own != domains.end()) return &own->second;
  const auto pooled = of.pooled.find({cell, sides});
  return pooled == of.pooled.end() ? nullptr : &pooled->second;
}

/// Extrapolates from the kept members to all members.
void Estimate::add_block(Location& of, Block& block) {
  std::map<std::uint32_t, Scaled> scaled;
  Domains domains;
  const auto for_each = [&](const auto& take) {
    for (const Stratum& stratum : block.strata)
      for (const std::uint32_t span : stratum.kept)
        for_each_group(of.rows(span), [&](const Group& group) { take(group, stratum.weight()); });
  };
  for_each([&](const Group& group, double weight) {
    Scaled& to = scaled[group.cell];
    to.by.add(group, weight);
    to.seen_ns += group.time;
  });
  std::erase_if(scaled, [](const auto& cell) { return cell.second.by.time <= 0; });
  for (auto& [cell, to] : scaled) {
    const auto time = block.time_ns.find(cell), calls = block.calls.find(cell);
    if (time == block.time_ns.end()) continue;
    to.by.make(time->second, calls == block.calls.end() ? 0 : calls->second);
    to.excess_ns = time->second - to.by.time;
  }
  for_each([&](const Group& group, double weight) {
    const auto at = scaled.find(group.cell);
    if (at == scaled.end()) return;
    Scaled& to = at->second;
    for (unsigned sides = 1; sides < all_sides; ++sides) {
      if (group.ends(sides) == Ends::Within) continue;
      to.apart_ns[sides] += weight * to.by.factor(group) * group.time;
      to.apart_calls[sides] += weight * to.by.factor_of_calls(group) * group.calls;
    }
    for (const Findings::Row& row : group.rows)
      if (const Meaning& meaning = meanings_[row.quantity];
          !meaning.outputs.empty() && group.ends(meaning.sides) == Ends::Within) {
        const double ns = weight * static_cast<double>(row.ns);
        to.within[row.quantity].add({ns, ns * group.duration()});
      }
  });
  for (const auto& [cell, from] : scaled) {
    for (const auto& [quantity, sums] : from.within)
      for (const std::uint32_t output : meanings_[quantity].outputs)
        add_value(output, of.found.cells[cell].path, of.number, from.by.value(sums));
    for (unsigned sides = 1; sides < all_sides; ++sides) {
      if (from.apart_ns[sides] <= 0) continue;
      Domain& domain = domains[{cell, sides}];
      domain.all_ns += from.apart_ns[sides];
      domain.calls += from.apart_calls[sides];
    }
  }
  for (const auto& [cell, time_ns] : block.time_ns)
    if (!scaled.contains(cell)) not_covered_ns_ += std::max(time_ns, 0.0);
  for (const Stratum& stratum : block.strata) add_known(of, stratum, scaled, domains);
  std::erase_if(domains, [&](const auto& at) {
    const bool is_pooled = at.second.known.groups < least_kept;
    if (is_pooled) of.pooled[at.first].add(at.second);
    return is_pooled;
  });
  for (const auto& [cell, of_cell] : scaled) add_doubt(of, cell, of_cell, of.blocks);
  ++of.blocks;
  of.sampled.push_back({std::move(block.strata), std::move(scaled), std::move(domains), {}});
}

/// Adds what is known from calls whose messages have their other ends in other iterations.
void Estimate::add_known(const Location& of, const Stratum& stratum, const std::map<std::uint32_t, Scaled>& scaled,
                         Domains& domains) const {
  const auto add = [&](std::uint32_t span, bool is_member) {
    for_each_group(of.rows(span), [&](const Group& group) {
      const auto at = scaled.find(group.cell);
      if (at == scaled.end()) return;
      const double factor = at->second.by.factor(group), weight = stratum.weight() * factor;
      for (unsigned sides = 1; sides < all_sides; ++sides) {
        const Ends ends = group.ends(sides);
        if (ends == Ends::Within || (ends == Ends::Unknown && !is_member)) continue;
        Domain& domain = domains[{group.cell, sides}];
        const bool is_known = ends == Ends::Crossing && is_known_by_chance(of, span, sides);
        if (is_known) {
          domain.known.add(group, weight);
          domain.seen_ns += factor * group.time;
        }
        for (const Findings::Row& row : group.rows) {
          if (meanings_[row.quantity].sides != sides) continue;
          const double ns = weight * static_cast<double>(row.ns);
          if (is_member) domain.least[row.quantity] += ns;
          if (is_known) domain.waits[row.quantity].add({ns, ns * group.duration()});
        }
      }
    });
  };
  for (const std::uint32_t span : stratum.kept) add(span, true);
  for (const std::uint32_t span : stratum.preceding) add(span, false);
}

/// Whether the other ends were kept by chance, and not because the messages were sent or received in a slow iteration.
bool Estimate::is_known_by_chance(const Location& of, std::uint32_t span, unsigned sides) const {
  const SpanEnd& end = of.found.spans[span];
  const std::string& loop = loops_[end.loop];
  const auto is_slow = [&](std::int64_t number) {
    return !trace_.is_sampled(loop, number) && trace_.slowest().contains({loop, number});
  };
  return ((sides & side_of_receives) == 0 || !is_slow(end.number - 1)) &&
         ((sides & side_of_sends) == 0 || !is_slow(end.number + 1));
}

/// Adds the waiting of calls whose messages cross iterations, and the errors of all values.
void Estimate::finish_location(Location& of) {
  for (auto& [key, domain] : of.pooled) {
    if (domain.known.groups >= least_kept) continue;
    for (const Sampled& sampled : of.sampled)
      if (const auto other = sampled.domains.find(key); other != sampled.domains.end()) domain.add_known(other->second);
  }
  for (Sampled& sampled : of.sampled) add_domains(of, sampled.domains);
  add_domains(of, of.pooled);
  for (Sampled& sampled : of.sampled) {
    fit(of, sampled);
    for (const Stratum& stratum : sampled.strata) add_errors(of, sampled, stratum);
  }
}

void Estimate::fit(const Location& of, Sampled& sampled) const {
  for (const Stratum& stratum : sampled.strata)
    for (const std::uint32_t span : stratum.kept)
      for_each_group(of.rows(span), [&](const Group& group) {
        const auto add = [&](Quantity quantity, double ns) {
          ns *= stratum.weight();
          sampled.expected[group.cell][quantity].add({ns, ns * group.duration()});
        };
        for (const Findings::Row& row : group.rows)
          if (const Meaning& meaning = meanings_[row.quantity];
              !meaning.outputs.empty() && group.ends(meaning.sides) == Ends::Within)
            add(row.quantity, static_cast<double>(row.ns));
        for (unsigned sides = 1; sides < all_sides; ++sides)
          if (const Domain* domain =
                  group.ends(sides) == Ends::Within ? nullptr : sampled.domain(of, group.cell, sides))
            for (const auto& [quantity, sums] : domain->waits) add(quantity, domain->known.expected(sums, group));
      });
}

void Estimate::add_domains(const Location& of, Domains& domains) {
  for (auto& [key, domain] : domains) {
    const auto& [cell, sides] = key;
    if (domain.all_ns <= 0) continue;
    domain.known.make(domain.all_ns, domain.calls);
    std::map<Quantity, double> values = domain.least;
    for (const auto& [quantity, sums] : domain.waits)
      values[quantity] = std::max(values[quantity], domain.known.value(sums));
    // Few known calls say next to nothing about the others. No number of them says anything about slow iterations, or
    // about why longer calls are long.
    const bool is_known = domain.known.groups >= least_kept;
    double deviation = statistics::uniform_deviation(domain.all_ns);
    if (is_known) {
      const double unseen = std::max(1 - domain.seen_ns / domain.all_ns, 0.0);
      deviation = std::hypot(statistics::uniform_deviation(domain.census_ns + domain.excess_ns()),
                             std::sqrt(unseen) * domain.all_ns * domain.known.least_deviation());
    } else {
      unknown_ns_[sides] += domain.all_ns;
      constexpr unsigned either_side = side_of_receives | side_of_sends;
      if (sides == either_side) add_value(untold_, of.found.cells[cell].path, of.number, domain.all_ns);
    }
    // If the known calls did not wait, the others may have waited nevertheless.
    for (Quantity quantity = 0; quantity < meanings_.size() && deviation > 0; ++quantity)
      if (meanings_[quantity].sides == sides && meanings_[quantity].is_doubted) values.try_emplace(quantity, 0);
    const run::Signs signs = doubt_signs(node_of(of, cell), sides);
    for (const auto& [quantity, ns] : values) {
      for (const std::uint32_t output : meanings_[quantity].outputs)
        add_value(output, of.found.cells[cell].path, of.number, ns);
      add_doubt(of, cell, signs, quantity, deviation);
    }
  }
}

/// If the members have more time than the kept ones account for, it is in long members, none of which was kept. The
/// share of waiting in that time is unknown: any is equally likely. If few members have much of the time, their shares
/// say little about others; what few members of one block missed says nothing about other blocks.
void Estimate::add_doubt(const Location& of, std::uint32_t cell, const Scaled& scaled, unsigned block) {
  const double exact_ns = std::max(scaled.by.time + scaled.excess_ns, 0.0);
  const double unseen = exact_ns > 0 ? std::max(1 - scaled.seen_ns / exact_ns, 0.0) : 0;
  const std::uint32_t node = node_of(of, cell);
  const auto add = [&](run::Signs signs, double deviation) {
    if (deviation <= 0) return;
    for (const auto& [quantity, sums] : scaled.within)
      if (!is_time(quantity)) add_doubt(of, cell, signs, quantity, deviation);
  };
  add(doubt_signs(node, no_side), statistics::uniform_deviation(scaled.excess_ns));
  constexpr unsigned first_of_blocks = all_sides;
  add(doubt_signs(node, first_of_blocks + block), std::sqrt(unseen) * exact_ns * scaled.by.least_deviation());
}

void Estimate::add_doubt(const Location& of, std::uint32_t cell, run::Signs signs, Quantity quantity,
                         double deviation) {
  const std::uint32_t node = node_of(of, cell);
  for (const std::uint32_t output : meanings_[quantity].outputs) {
    add_residual(of, output, node, signs, deviation);
    location_variance_[output][of.number] += deviation * deviation;
  }
}

std::uint32_t Estimate::node_of(const Location& of, std::uint32_t cell) const {
  const std::uint32_t path = of.found.cells[cell].path;
  return path == trace::no_path ? 0 : naming_.node_of(path);
}

/// Adds the deviations of kept members from the ratio. A member with much of the time pulls the ratio towards itself,
/// so each is compared with the ratio of the others, as in the jackknife (Cochran, chapter 6.17).
void Estimate::add_errors(const Location& of, const Sampled& sampled, const Stratum& stratum) {
  const auto n = static_cast<double>(stratum.kept.size());
  if (n < 1) return;
  // With a single member it is unknown how much others differ: its whole value is the residual.
  const bool is_single = n < 2;
  const double weight = stratum.weight();
  const double of_few = is_single ? stratum.count : weight * std::sqrt(n / (n - 1));
  const double factor = of_few * statistics::correction_of_sample(n / stratum.count);
  // With one ratio for all strata, the members of one may all differ in the same direction: that is not chance.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> mean;  // by output and node
  using Iteration = std::pair<std::uint16_t, std::int64_t>;        // loop and number
  struct Residual {
    Iteration iteration;
    run::Signs signs;
    std::uint32_t output, node;
    double value;
  };
  std::vector<Residual> residuals;
  const auto add = [&](std::uint32_t span, bool is_member) {
    const SpanEnd& end = of.found.spans[span];
    const Iteration iteration{end.loop, end.number};
    const run::Signs signs = signs_of(end);
    for_each_group(of.rows(span), [&](const Group& group) {
      const auto at = sampled.scaled.find(group.cell);
      const auto expected = sampled.expected.find(group.cell);
      if (at == sampled.scaled.end() || expected == sampled.expected.end()) return;
      const Calibration& by = at->second.by;
      const double scale = by.factor(group), share = weight * group.time / by.time;
      const std::uint32_t node = node_of(of, group.cell);
      const auto take = [&](Quantity quantity, double residual) {
        if (std::abs(residual) < 1e-3) return;
        for (const std::uint32_t output : meanings_[quantity].outputs) {
          residuals.push_back({iteration, signs, output, node, residual});
          if (!is_single && is_member) mean[{output, node}] += residual / n;
        }
      };
      for (const auto& [quantity, sums] : expected->second) {
        const unsigned sides = meanings_[quantity].sides;
        const Ends ends = group.ends(sides);
        const Domain* domain = ends == Ends::Within ? nullptr : sampled.domain(of, group.cell, sides);
        const double value = group.value(quantity), of_domain = domain ? domain->expected(quantity, group) : 0;
        if (is_member) {
          if (is_time(quantity) && share > largest_share) continue;  // all of it is known
          const bool is_alone = (is_single || share > largest_share) && !is_time(quantity);
          const double own = ends == Ends::Within ? value : of_domain;
          take(quantity, scale * factor * (is_alone ? own : (own - by.expected(sums, group)) / (1 - share)));
        }
        // The deviation from other calls whose messages cross iterations.
        if (ends != Ends::Crossing || !domain || domain->known.time <= 0 || !is_known_by_chance(of, span, sides))
          continue;
        const double share_of_these = weight * scale * group.time / domain->known.time;
        const bool is_alone = is_single || share_of_these > largest_share;
        const double unknown = std::max(1 - domain->seen_ns / domain->all_ns, 0.0);
        take(quantity, domain->known.factor(group) * scale * of_few * std::sqrt(unknown) *
                           (is_alone ? value : (value - of_domain) / (1 - share_of_these)));
      }
    });
  };
  for (const std::uint32_t span : stratum.kept) add(span, true);
  for (const std::uint32_t span : stratum.preceding) add(span, false);
  for (auto& [key, value] : mean)
    if (std::abs(value) < 1e-3) value = 0;
  std::map<std::uint32_t, std::map<Iteration, double>> of_location;  // by output and iteration
  const auto take = [&](const Residual& r) {
    add_residual(of, r.output, r.node, r.signs, r.value);
    of_location[r.output][r.iteration] += r.value;
  };
  for (const Residual& r : residuals) take(r);
  for (const auto& [key, value] : mean)
    if (value != 0)
      for (const std::uint32_t span : stratum.kept) {
        const SpanEnd& end = of.found.spans[span];
        take({{end.loop, end.number}, signs_of(end), key.first, key.second, -value});
      }
  for (const auto& [output, by_iteration] : of_location)
    for (const auto& [iteration, value] : by_iteration) location_variance_[output][of.number] += value * value;
}

/// Merges strata with few kept members into those whose members spend the most similar time in MPI.
void Estimate::merge_small(std::vector<Block>& blocks) {
  const auto mean = [](const Block& of) {
    return of.strata[0].count > 0 ? of.strata[0].time_ns / of.strata[0].count : 0;
  };
  while (blocks.size() > 1) {
    const auto small = std::ranges::min_element(blocks, {}, [](const Block& of) { return of.strata[0].kept.size(); });
    const Stratum& few = small->strata[0];
    // The smallest stratum has enough kept members, so all have.
    if (few.kept.size() >= least_kept) break;
    auto nearest = blocks.end();
    for (auto at = blocks.begin(); at != blocks.end(); ++at)
      if (at != small &&
          (nearest == blocks.end() || std::abs(mean(*at) - mean(*small)) < std::abs(mean(*nearest) - mean(*small))))
        nearest = at;
    for (const auto& [cell, ns] : small->time_ns) nearest->time_ns[cell] += ns;
    for (const auto& [cell, calls] : small->calls) nearest->calls[cell] += calls;
    Stratum& to = nearest->strata[0];
    to.count += few.count;
    to.time_ns += few.time_ns;
    to.kept.insert(to.kept.end(), few.kept.begin(), few.kept.end());
    to.preceding.insert(to.preceding.end(), few.preceding.begin(), few.preceding.end());
    ++merged_strata_;
    blocks.erase(small);
  }
}

/// Which spans of a location stand for themselves, and which for others.
struct Estimate::Parts {
  std::vector<std::uint32_t> census;
  std::map<std::uint16_t, std::vector<std::uint32_t>> sampled;    ///< iterations or stretches, by loop
  std::map<std::uint16_t, std::vector<std::uint32_t>> preceding;  ///< kept because the next one was chosen; by loop
  std::vector<std::uint32_t> outside;                             ///< outside of iterations, if only some was recorded
};

Estimate::Parts Estimate::parts_of(const Findings::OfLocation& found) const {
  const auto level_outside = trace_.levels().find("");
  const bool is_outside_whole = level_outside == trace_.levels().end() || level_outside->second == 0;
  Parts parts;
  for (std::uint32_t span = 0; span < found.spans.size(); ++span) {
    const SpanEnd& end = found.spans[span];
    const std::string& loop = loops_[end.loop];
    if (loop.empty()) {
      (is_outside_whole ? parts.census : parts.outside).push_back(span);
      continue;
    }
    if (!end.is_whole) continue;
    if (trace_.is_slow_on_all(loop, end.number)) parts.census.push_back(span);
    else if (trace_.is_sampled(loop, end.number)) parts.sampled[end.loop].push_back(span);
    else if (trace_.may_precede(loop, end.number) && !trace_.slowest().contains({loop, end.number}))
      parts.preceding[end.loop].push_back(span);
  }
  parts.census.push_back(static_cast<std::uint32_t>(found.spans.size()));  // time after the last span
  return parts;
}

void Estimate::add_time_in_mpi(const Location& of, const experiment::Unit& unit, Block& block) {
  of.for_each_mpi_path(unit, [&](std::uint32_t path, double ns, double calls) {
    const std::uint32_t cell = of.cell(path);
    if (cell == Location::none) {
      not_covered_ns_ += ns;
      return;
    }
    block.time_ns[cell] += ns;
    block.calls[cell] += calls;
  });
}

/// Subtracts a span that stands for itself.
void Estimate::take_out(const Location& of, std::uint32_t span, Block& block) {
  for (const Findings::Row& row : of.rows(span)) {
    if (!is_time(row.quantity) && row.quantity != number_of_calls) continue;
    Cells& cells = is_time(row.quantity) ? block.time_ns : block.calls;
    if (const auto at = cells.find(row.cell); at != cells.end())
      at->second = std::max(at->second - static_cast<double>(row.ns), 0.0);
  }
}

void Estimate::add_sampled(std::uint32_t location, const Findings::OfLocation& found, const experiment::Rank& rank) {
  const std::int32_t thread = trace_.locations()[location].thread;
  const auto profile = std::ranges::find(rank.locations, thread, &experiment::Location::thread);
  if (profile == rank.locations.end()) return add_exact(location, found, {});
  Location of(location, found, rank, *profile, trace_.experiment().definitions().paths);
  const Parts parts = parts_of(found);
  for (const std::uint32_t span : parts.census) add_census(location, of, span);
  if (trace_.has_stretches()) {
    add_stretches(of, parts);
  } else {
    for (const auto& [loop, spans] : parts.sampled) add_loop(of, loop, loops_[loop], parts);
    if (parts.outside.empty()) count_not_covered_outside(of, parts);
    else add_outside(of, parts);
  }
  finish_location(of);
}

/// Adds stretches as one block: for classes only the numbers of members are known.
void Estimate::add_stretches(Location& of, const Parts& parts) {
  Block block;
  for (const experiment::Unit& unit : of.profile.units) add_time_in_mpi(of, unit, block);
  for (const std::uint32_t span : parts.census) take_out(of, span, block);

  using Class = std::pair<std::uint32_t, std::uint32_t>;  // the call paths that opened and closed it
  const auto class_of = [&](std::uint32_t span) {
    return Class{of.found.spans[span].opened, of.found.spans[span].closed};
  };
  std::map<Class, double> counts;
  double all = 0;
  for (const experiment::EventsOfRank::StretchGroup& of_class : of.rank.events->stretch_groups) {
    counts[{of_class.opened, of_class.closed}] += static_cast<double>(of_class.count);
    all += static_cast<double>(of_class.count);
  }
  for (const std::uint32_t span : parts.census)
    if (span < of.found.spans.size() && of.found.spans[span].loop != 0) {
      counts[class_of(span)] -= 1;
      all -= 1;
    }
  std::map<Class, Stratum> classes;
  for (const auto& [loop, spans] : parts.sampled)
    for (const std::uint32_t span : spans) classes[class_of(span)].kept.push_back(span);
  for (const auto& [loop, spans] : parts.preceding)
    for (const std::uint32_t span : spans) classes[class_of(span)].preceding.push_back(span);

  Stratum few;  // classes with few kept members, and those with none
  for (auto& [key, stratum] : classes) {
    const auto kept = static_cast<double>(stratum.kept.size());
    const auto count = counts.find(key);
    stratum.count = count == counts.end() ? 0 : std::max(count->second, kept);
    if (count != counts.end()) all -= stratum.count;
    const bool is_small = stratum.kept.size() < least_kept && stratum.count > kept;
    if (!is_small && stratum.count > 0) {
      block.strata.push_back(std::move(stratum));
      continue;
    }
    few.kept.insert(few.kept.end(), stratum.kept.begin(), stratum.kept.end());
    few.preceding.insert(few.preceding.end(), stratum.preceding.begin(), stratum.preceding.end());
    few.count += stratum.count;
    if (is_small) ++merged_strata_;
  }
  if (!few.kept.empty()) {
    few.count = std::max(few.count + std::max(all, 0.0), static_cast<double>(few.kept.size()));
    block.strata.push_back(std::move(few));
  }
  add_block(of, block);
}

/// Adds a block for each cluster of the loop's iterations.
void Estimate::add_loop(Location& of, std::uint16_t loop_index, const std::string& name, const Parts& parts) {
  const std::vector<std::uint32_t>& spans = parts.sampled.at(loop_index);
  const auto loop = std::ranges::find(of.profile.loops, name, &experiment::Loop::name);
  if (loop == of.profile.loops.end()) {
    for (const std::uint32_t span : spans) add_census(of.number, of, span);
    return;
  }
  std::map<std::int32_t, Block> by_cluster;
  for (const experiment::Unit& unit : of.profile.units) {
    if (unit.loop != loop - of.profile.loops.begin()) continue;
    Block& block = by_cluster[unit.cluster];
    if (block.strata.empty()) block.strata.emplace_back();
    of.for_each_mpi_path(unit, [&](std::uint32_t, double ns, double) { block.strata[0].time_ns += ns; });
    add_time_in_mpi(of, unit, block);
    if (unit.cluster >= 0 && static_cast<std::size_t>(unit.cluster) < loop->clusters.size())
      block.strata[0].count = static_cast<double>(loop->clusters[static_cast<std::size_t>(unit.cluster)].members);
  }

  std::map<std::int64_t, std::uint32_t> sampled, preceding, census;  // spans by iteration
  for (const std::uint32_t span : spans) sampled[of.found.spans[span].number] = span;
  if (const auto of_loop = parts.preceding.find(loop_index); of_loop != parts.preceding.end())
    for (const std::uint32_t span : of_loop->second) preceding[of.found.spans[span].number] = span;
  for (const std::uint32_t span : parts.census)
    if (span < of.found.spans.size() && of.found.spans[span].loop == loop_index)
      census[of.found.spans[span].number] = span;
  run::for_each_iteration(*loop, [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t>) {
    const auto block = by_cluster.find(cluster);
    if (block == by_cluster.end()) return;
    Stratum& stratum = block->second.strata[0];
    if (const auto at = sampled.find(iteration); at != sampled.end()) stratum.kept.push_back(at->second);
    if (const auto at = preceding.find(iteration); at != preceding.end()) stratum.preceding.push_back(at->second);
    if (const auto at = census.find(iteration); at != census.end()) {
      stratum.count -= 1;
      for (const Findings::Row& row : of.rows(at->second))
        if (is_time(row.quantity)) stratum.time_ns -= static_cast<double>(row.ns);
      take_out(of, at->second, block->second);
    }
  });

  std::vector<Block> rest;
  for (auto& [cluster, block] : by_cluster) {
    Stratum& stratum = block.strata[0];
    const auto kept = static_cast<double>(stratum.kept.size());
    stratum.count = std::max(stratum.count, kept);
    if (stratum.count <= 0) continue;
    if (kept >= stratum.count) add_block(of, block);  // all of its members were kept
    else rest.push_back(std::move(block));
  }
  merge_small(rest);
  for (Block& block : rest) add_block(of, block);
}

/// Adds time outside of iterations, of which one in 2^level stretches was recorded.
void Estimate::add_outside(Location& of, const Parts& parts) {
  Block block;
  block.strata.emplace_back();
  block.strata[0].kept = parts.outside;
  block.strata[0].count =
      static_cast<double>(parts.outside.size()) * static_cast<double>(std::uint64_t{1} << trace_.levels().at(""));
  for (const experiment::Unit& unit : of.profile.units)
    if (unit.loop < 0)
      of.for_each_mpi_path(unit, [&](std::uint32_t path, double ns, double calls) {
        const std::uint32_t cell = of.cell(path);
        if (cell == Location::none) return;
        block.time_ns[cell] += ns;
        block.calls[cell] += calls;
      });
  add_block(of, block);
}

/// Time outside of iterations stands for itself; the part that was not recorded is not covered.
void Estimate::count_not_covered_outside(const Location& of, const Parts& parts) {
  std::map<std::uint32_t, double> rest;  // by cell
  for (const experiment::Unit& unit : of.profile.units)
    if (unit.loop < 0)
      of.for_each_mpi_path(unit, [&](std::uint32_t path, double ns, double) { rest[of.cell(path)] += ns; });
  for (const std::uint32_t span : parts.census)
    if (span >= of.found.spans.size() || of.found.spans[span].loop == 0)
      for (const Findings::Row& row : of.rows(span))
        if (is_time(row.quantity)) rest[row.cell] -= static_cast<double>(row.ns);
  for (const auto& [cell, ns] : rest) not_covered_ns_ += std::max(ns, 0.0);
}

void Estimate::contain(std::uint32_t whole, std::span<const std::uint32_t> parts) {
  for (const std::uint32_t part : parts)
    for (const auto& [key, ns] : values_[part]) {
      double& all = values_[whole][key];
      all = std::max(all, ns);
    }
}

double Estimate::sum_ns(std::size_t output) const {
  double sum = 0;
  for (const auto& [key, ns] : values_[output]) sum += ns;
  return sum;
}

void Estimate::finish(std::vector<PatternResult>& outputs,
                      const std::function<bool(std::uint32_t node)>& is_wanted) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PatternResult& to = outputs[i];
    std::map<std::uint32_t, double> by_node, by_location;
    std::map<std::uint32_t, run::Replicates> replicates_of_node;
    run::Replicates replicates;
    for (const auto& [key, of] : replicates_[i]) {
      if ((is_wanted && !is_wanted(key.first)) || of.empty()) continue;
      replicates += of;
      replicates_of_node[key.first] += of;
      to.replicates.push_back({key.first, key.second, of});
    }
    to.all.error_ns = replicates.error_ns();
    for (const auto& [key, ns] : values_[i]) {
      if (is_wanted && !is_wanted(key.first)) continue;
      to.all.ns += ns;
      by_node[key.first] += ns;
      by_location[key.second] += ns;
      to.cells.push_back({key.first, key.second, ns});
    }
    for (const auto& [node, ns] : by_node) to.by_node.push_back({node, {ns, replicates_of_node[node].error_ns()}});
    for (const auto& [location, ns] : by_location) {
      const auto variance = location_variance_[i].find(location);
      const double error = variance == location_variance_[i].end() ? 0 : std::sqrt(variance->second);
      to.by_location.push_back({location, {ns, is_wanted ? not_known : error}});
    }
    std::ranges::stable_sort(to.by_node, std::greater<>{}, [](const auto& of) { return of.severity.ns; });
    std::ranges::stable_sort(to.by_location, std::greater<>{}, [](const auto& of) { return of.severity.ns; });
  }
}

}  // namespace refrain::patterns

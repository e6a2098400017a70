// Iterations that differ: slow ones, a step to another level, growth.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "offline/analysis/human_units.hpp"
#include "offline/findings/blame.hpp"
#include "offline/findings/rules_of.hpp"
#include "offline/findings/wording.hpp"

namespace refrain::findings {

using analysis::human_count;
using analysis::human_time;
namespace {

/// Seconds of one rank as a share of the time of all.
double share_of(const Facts& facts, const LoopFacts& loop, double seconds) {
  return seconds * static_cast<double>(loop.processes) / facts.elapsed_s();
}

std::vector<std::string> more_of(const Facts& facts, const LoopFacts& loop, const char* metric = nullptr) {
  std::vector<std::string> words{"--iterations"};
  if (metric) words.insert(words.end(), {"--metric", metric});
  if (facts.loops.size() > 1 && !loop.name.empty()) words.insert(words.end(), {"--loop", loop.name});
  return words;
}

std::string name_of(const LoopFacts& loop) { return loop.name.empty() ? "the loop" : "loop " + loop.name; }

/// "2nd", "20th".
std::string ordinal_text(std::size_t number) {
  constexpr std::size_t ten = 10;
  const bool is_teen = number / ten % ten == 1;
  const char* const ending = is_teen             ? "th"
                             : number % ten == 1 ? "st"
                             : number % ten == 2 ? "nd"
                             : number % ten == 3 ? "rd"
                                                 : "th";
  return fmt::format("{}{}", number, ending);
}

}  // namespace

void slow_iterations(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    if (!loop.shape.peaks || loop.stride > 1) continue;
    const auto& peaks = *loop.shape.peaks;
    const double share = share_of(facts, loop, peaks.excess);
    if (share < least_share) continue;
    const std::size_t count = peaks.places.size();
    const double excess_s = peaks.excess / static_cast<double>(count), usual_s = peaks.mean - excess_s;
    const auto cause =
        blame(facts, loop, excess_s, [&](std::size_t i) { return std::ranges::binary_search(peaks.places, i); });
    const bool is_one = count == 1 || peaks.period > 0;
    std::string which = fmt::format("{} of {} iterations of {} ({})", human_count(static_cast<std::int64_t>(count)),
                                    human_count(loop.iterations), name_of(loop), list_text(peaks.places));
    if (count == 1) which = fmt::format("iteration {} of {}", peaks.places[0], name_of(loop));
    if (peaks.period > 0)
      which = fmt::format("every {} iteration of {} ({})", ordinal_text(peaks.period), name_of(loop),
                          list_text(peaks.places));
    found.push_back({"", share, share_of(facts, loop, peaks.error),
                     fmt::format("{} take{} {} as long as those around {}, {} instead of {}{}", which,
                                 is_one ? "s" : "", times_text(peaks.mean / usual_s), is_one ? "it" : "them",
                                 human_time(peaks.mean), human_time(usual_s), text_of(facts, cause)),
                     more_of(facts, loop)});
  }
}

void step_of_iterations(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    if (!loop.shape.step) continue;
    const auto& step = *loop.shape.step;
    const bool is_slower = step.after > step.before;
    const std::int64_t at = static_cast<std::int64_t>(step.at) * loop.stride;
    const auto count = static_cast<double>(is_slower ? loop.iterations - at : at);
    const double excess_s = std::abs(step.after - step.before), share = share_of(facts, loop, excess_s * count);
    if (share < least_share) continue;
    const auto cause =
        blame(facts, loop, excess_s, [&](std::size_t i) { return (static_cast<std::int64_t>(i) >= at) == is_slower; });
    found.push_back({"", share, share_of(facts, loop, step.error * count),
                     fmt::format("from iteration {} on an iteration of {} takes {}, {} before{}", human_count(at),
                                 name_of(loop), human_time(step.after), human_time(step.before), text_of(facts, cause)),
                     more_of(facts, loop)});
  }
}

void growing_iterations(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    if (!loop.shape.growth) continue;
    const auto& growth = *loop.shape.growth;
    const bool grows = growth.last > growth.first;
    const double half = static_cast<double>(loop.iterations) / 2, change_s = std::abs(growth.last - growth.first);
    const double share = share_of(facts, loop, change_s * half);
    if (share < least_share) continue;
    const auto cause =
        blame(facts, loop, change_s / 2, [&](std::size_t i) { return (static_cast<double>(i) >= half) == grows; });
    found.push_back({"", share, share_of(facts, loop, growth.error * half),
                     fmt::format("an iteration of {} takes ever {} time, from {} in the beginning to {} in the end{}",
                                 name_of(loop), grows ? "more" : "less", human_time(growth.first),
                                 human_time(growth.last), text_of(facts, cause)),
                     more_of(facts, loop)});
  }
}

namespace {

/// What a loop has in the pieces that all of its ranks have, by rank, piece and half: seconds of an iteration, more
/// than the rank has on average. So ranks that are always slower than others come to nothing.
class MoreThanUsual {
 public:
  explicit MoreThanUsual(const LoopFacts& loop) : loop_(loop) {
    for (std::size_t piece = 0; piece < LoopFacts::pieces; ++piece)
      if (std::ranges::all_of(
              loop.user, [&](const auto& of) { return of[piece].iterations[0] > 0 && of[piece].iterations[1] > 0; }))
        pieces_.push_back(piece);
    for (const auto& of : loop.user) {
      double seconds = 0, iterations = 0;
      for (const std::size_t piece : pieces_) {
        seconds += of[piece].user_s[0] + of[piece].user_s[1];
        iterations += of[piece].iterations[0] + of[piece].iterations[1];
      }
      usual_s_.push_back(iterations > 0 ? seconds / iterations : 0);
    }
  }
  const std::vector<std::size_t>& pieces() const { return pieces_; }
  double of(std::size_t rank, std::size_t piece, std::size_t half) const {
    const LoopFacts::Piece& of = loop_.user[rank][piece];
    return of.user_s[half] / of.iterations[half] - usual_s_[rank];
  }

 private:
  const LoopFacts& loop_;
  std::vector<std::size_t> pieces_;
  std::vector<double> usual_s_;
};

/// How much longer the slowest rank takes than the mean of all, where the slowest one changes.
struct HotSpot {
  double seconds = 0, error_s = 0;
  std::vector<double> of_rank_s;                         ///< by rank that is the slowest
  std::array<std::size_t, LoopFacts::pieces> slowest{};  ///< by piece, by its even iterations; below ranks, or `none`
  static constexpr std::size_t none = ~std::size_t{0};
};

/// By halves: the rank that is slowest in the even iterations of a piece is measured by the odd ones, and the other way
/// round. So ranks that differ by chance alone come to nothing, too.
std::optional<HotSpot> hot_spot_of(const LoopFacts& loop) {
  const MoreThanUsual more(loop);
  constexpr std::size_t fewest_pieces = 4;
  if (more.pieces().size() < fewest_pieces) return std::nullopt;
  HotSpot spot;
  spot.of_rank_s.resize(loop.ranks.size());
  spot.slowest.fill(HotSpot::none);
  std::vector<double> late_s;  // by piece and half, of all its iterations
  for (const std::size_t piece : more.pieces())
    for (const std::size_t half : {0U, 1U}) {
      const std::size_t other = 1 - half;
      std::size_t first = 0;
      double mean_s = 0;
      for (std::size_t r = 0; r < loop.ranks.size(); ++r) {
        if (more.of(r, piece, half) > more.of(first, piece, half)) first = r;
        mean_s += more.of(r, piece, other) / static_cast<double>(loop.ranks.size());
      }
      late_s.push_back((more.of(first, piece, other) - mean_s) * loop.user[first][piece].iterations[other]);
      spot.of_rank_s[first] += late_s.back();
      if (half == 0) spot.slowest[piece] = first;
    }
  double squares = 0;
  for (const double value : late_s) spot.seconds += value;
  const auto count = static_cast<double>(late_s.size());
  for (const double value : late_s) squares += std::pow(value - spot.seconds / count, 2);
  spot.error_s = std::sqrt(squares * count / (count - 1));
  return spot;
}

}  // namespace

void moving_hot_spot(const Facts& facts, std::vector<Finding>& found) {
  constexpr double most_of_one = 0.7, least_of_one = 0.05, least_errors = 5;
  for (const LoopFacts& loop : facts.loops) {
    if (loop.ranks.size() < 2 || !loop.has_all_ranks) continue;
    const auto spot = hot_spot_of(loop);
    if (!spot) continue;
    const double share = share_of(facts, loop, spot->seconds);
    const auto main_rank =
        static_cast<std::size_t>(std::ranges::max_element(spot->of_rank_s) - spot->of_rank_s.begin());
    // One rank that is the slowest most of the time is no matter of iterations.
    if (share < least_share || spot->seconds < least_errors * spot->error_s ||
        spot->of_rank_s[main_rank] > most_of_one * spot->seconds)
      continue;
    std::vector<std::int32_t> hot;
    for (std::size_t r = 0; r < spot->of_rank_s.size(); ++r)
      if (spot->of_rank_s[r] > least_of_one * spot->seconds) hot.push_back(loop.ranks[r].rank);
    const auto is_hot = [&](std::size_t i) { return spot->slowest[loop.piece_of(i)] == main_rank; };
    const auto cause = blame(facts, loop, 0, is_hot);
    found.push_back(
        {"", share, share_of(facts, loop, spot->error_s),
         fmt::format("in {} the rank that takes longest outside of MPI changes as the iterations go ({}), "
                     "and the others wait for it{}",
                     name_of(loop), ranks_text(hot), cause && cause->is_user ? ", mostly in " + cause->path : ""),
         more_of(facts, loop, "user")});
  }
}

}  // namespace refrain::findings

// Ranks that are late in some iterations of a loop: one rank for a while, or different ranks in turn.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "offline/findings/blame.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {

namespace {

/// Seconds of an iteration, by rank, piece and half, in the pieces of a loop that all of its ranks have: in excess of
/// the median over the rank's pieces. So ranks that are always slower than others have no excess, and a rank that is
/// slower for a while is the only one that has.
class MoreThanUsual {
 public:
  explicit MoreThanUsual(const LoopFacts& loop) : loop_(loop) {
    for (std::size_t piece = 0; piece < LoopFacts::pieces; ++piece)
      if (std::ranges::all_of(
              loop.user, [&](const auto& of) { return of[piece].iterations[0] > 0 && of[piece].iterations[1] > 0; }))
        pieces_.push_back(piece);
    for (std::size_t r = 0; r < loop.user.size(); ++r) {
      constexpr double half_of_them = 0.5;
      std::vector<double> of_iteration;
      for (const std::size_t piece : pieces_)
        for (const std::size_t half : {0U, 1U}) of_iteration.push_back(seconds(r, piece, half));
      usual_s_.push_back(statistics::quantile(of_iteration, half_of_them));
    }
  }
  const std::vector<std::size_t>& pieces() const { return pieces_; }
  /// Seconds of an iteration.
  double seconds(std::size_t rank, std::size_t piece, std::size_t half) const {
    const LoopFacts::Piece& of = loop_.user[rank][piece];
    return of.user_s[half] / of.iterations[half];
  }
  double mpi_s(std::size_t rank, std::size_t piece, std::size_t half) const {
    const LoopFacts::Piece& of = loop_.user[rank][piece];
    return of.mpi_s[half] / of.iterations[half];
  }
  double of(std::size_t rank, std::size_t piece, std::size_t half) const {
    return seconds(rank, piece, half) - usual_s_[rank];
  }

 private:
  const LoopFacts& loop_;
  std::vector<std::size_t> pieces_;
  std::vector<double> usual_s_;
};

/// How much longer the slowest rank takes than the mean of all ranks, where the slowest rank changes.
struct HotSpot {
  /// The slowest rank of one half of a piece, as an index in LoopFacts::ranks, and how late it is in the other half.
  struct Half {
    std::size_t rank = 0;
    double late_s = 0;
    double waits_s = 0;  ///< time in MPI of all ranks on average, in excess of the slowest rank's
  };
  struct Piece {
    std::size_t number;
    std::array<Half, 2> halves;
    double late_s() const { return halves[0].late_s + halves[1].late_s; }
  };
  double seconds = 0, error_s = 0;
  double waits_s = 0;             ///< time of the others in MPI, in excess of the slowest rank's
  std::vector<double> of_rank_s;  ///< by rank: excess while it is the slowest one
  std::vector<Piece> pieces;
  std::size_t main_rank = 0;  ///< index of the rank with most of the excess
};

/// Measures by halves: the rank that is slowest in the even iterations of a piece is measured by the odd ones, and vice
/// versa. So ranks that differ only by chance have no excess, either.
std::optional<HotSpot> hot_spot_of(const LoopFacts& loop, const MoreThanUsual& more) {
  constexpr std::size_t fewest_pieces = 4;
  if (loop.ranks.size() < 2 || !loop.has_all_ranks || more.pieces().size() < fewest_pieces) return std::nullopt;
  HotSpot spot;
  spot.of_rank_s.resize(loop.ranks.size());
  for (const std::size_t piece : more.pieces()) {
    HotSpot::Piece& of = spot.pieces.emplace_back(HotSpot::Piece{piece, {}});
    for (const std::size_t half : {0U, 1U}) {
      const std::size_t other = 1 - half;
      std::size_t first = 0;
      double mean_s = 0, mean_mpi_s = 0;
      for (std::size_t r = 0; r < loop.ranks.size(); ++r) {
        if (more.of(r, piece, half) > more.of(first, piece, half)) first = r;
        mean_s += more.of(r, piece, other) / static_cast<double>(loop.ranks.size());
        mean_mpi_s += more.mpi_s(r, piece, other) / static_cast<double>(loop.ranks.size());
      }
      const double count = loop.user[first][piece].iterations[other];
      of.halves[half] = {first, (more.of(first, piece, other) - mean_s) * count,
                         (mean_mpi_s - more.mpi_s(first, piece, other)) * count};
      spot.waits_s += of.halves[half].waits_s;
      spot.of_rank_s[first] += of.halves[half].late_s;
      spot.seconds += of.halves[half].late_s;
    }
  }
  std::vector<double> late_s;
  for (const HotSpot::Piece& piece : spot.pieces)
    for (const HotSpot::Half& half : piece.halves) late_s.push_back(half.late_s);
  spot.error_s = std::sqrt(statistics::variance(late_s) * static_cast<double>(late_s.size()));
  spot.main_rank = static_cast<std::size_t>(std::ranges::max_element(spot.of_rank_s) - spot.of_rank_s.begin());
  return spot;
}

/// If one rank has more than this part of the excess, the slowest rank does not change.
constexpr double most_of_one = 0.7;

/// Consecutive pieces, nearly all of which have the same slowest rank, which is much later there than elsewhere.
struct LateRankForAWhile {
  std::size_t begin = 0, end = 0;  ///< numbers of pieces
  double seconds = 0, error_s = 0, waits_s = 0;
};

std::optional<LateRankForAWhile> late_for_a_while_of(const HotSpot& spot) {
  constexpr double least_of_largest = 0.3, nearly_all = 0.8;
  double largest_s = 0, squares = 0;
  for (const HotSpot::Piece& piece : spot.pieces) {
    largest_s = std::max(largest_s, piece.late_s());
    squares += std::pow(piece.halves[0].late_s - piece.halves[1].late_s, 2);
  }
  LateRankForAWhile late;
  std::size_t count = 0;
  double own_squares = 0;
  for (const HotSpot::Piece& piece : spot.pieces) {
    if (piece.halves[0].rank != spot.main_rank || piece.halves[1].rank != spot.main_rank ||
        piece.late_s() < least_of_largest * largest_s)
      continue;
    if (count++ == 0) late.begin = piece.number;
    late.end = piece.number + 1;
    late.seconds += piece.late_s();
    late.waits_s += piece.halves[0].waits_s + piece.halves[1].waits_s;
    own_squares += std::pow(piece.halves[0].late_s - piece.halves[1].late_s, 2);
  }
  const auto all = static_cast<double>(spot.pieces.size()), chosen = static_cast<double>(count);
  if (count == 0 || chosen < nearly_all * static_cast<double>(late.end - late.begin) || chosen > nearly_all * all)
    return std::nullopt;
  // Both halves measure the same: they differ only by chance.
  late.error_s = std::sqrt(std::max(own_squares, squares * chosen / all));
  return late;
}

}  // namespace

void late_for_a_while(const Facts& facts, std::vector<Finding>& found) {
  constexpr double least_errors = 5;
  for (const LoopFacts& loop : facts.loops) {
    const MoreThanUsual more(loop);
    const auto spot = hot_spot_of(loop, more);
    if (!spot || !(spot->seconds > 0) || spot->of_rank_s[spot->main_rank] <= most_of_one * spot->seconds) continue;
    const auto late = late_for_a_while_of(*spot);
    if (!late) continue;
    if (share_of(facts, loop, late->seconds) < least_share || late->seconds < least_errors * late->error_s) continue;
    if (late->waits_s < late->seconds / 2) continue;  // the others do not wait for it
    // If the others are faster than usual, a rank is late without being slower than usual: then it is not the cause.
    double own_s = 0, others_s = 0, count = 0;
    for (const std::size_t piece : more.pieces()) {
      if (piece < late->begin || piece >= late->end) continue;
      for (const std::size_t half : {0U, 1U}) {
        count += 1;
        for (std::size_t r = 0; r < loop.ranks.size(); ++r)
          (r == spot->main_rank ? own_s : others_s) += more.seconds(r, piece, half);
      }
    }
    own_s /= count;
    others_s /= count * static_cast<double>(loop.ranks.size() - 1);
    const auto iterations = static_cast<double>(loop.iterations) / static_cast<double>(LoopFacts::pieces);
    const auto first = static_cast<std::int64_t>(std::ceil(static_cast<double>(late->begin) * iterations)),
               last = static_cast<std::int64_t>(std::ceil(static_cast<double>(late->end) * iterations)) - 1;
    if ((own_s - others_s) * static_cast<double>(last - first + 1) < late->seconds / 2) continue;
    Finding& finding = found.emplace_back(finding_of(facts, loop, late->seconds, late->error_s));
    finding.ranks = Ranks({loop.ranks[spot->main_rank].rank});
    finding.iterations->first = first;
    finding.iterations->last = last;
    finding.figures = {{Figure::Mean, own_s}, {Figure::Others, others_s}};
    finding.cause = blame(
        facts, loop, 0,
        [&](std::size_t i) {
          const std::size_t piece = loop.piece_of(i);
          return std::optional(piece >= late->begin && piece < late->end);
        },
        spot->main_rank);
  }
}

void moving_hot_spot(const Facts& facts, std::vector<Finding>& found) {
  constexpr double least_of_one = 0.05, least_errors = 5;
  for (const LoopFacts& loop : facts.loops) {
    const auto spot = hot_spot_of(loop, MoreThanUsual(loop));
    if (!spot) continue;
    if (spot->waits_s < spot->seconds / 2) continue;  // the others do not wait
    // One rank that is the slowest most of the time is not a moving hot spot.
    if (share_of(facts, loop, spot->seconds) < least_share || spot->seconds < least_errors * spot->error_s ||
        spot->of_rank_s[spot->main_rank] > most_of_one * spot->seconds)
      continue;
    std::vector<std::int32_t> hot;
    for (std::size_t r = 0; r < spot->of_rank_s.size(); ++r)
      if (spot->of_rank_s[r] > least_of_one * spot->seconds) hot.push_back(loop.ranks[r].rank);
    std::array<bool, LoopFacts::pieces> is_of_main{};
    for (const HotSpot::Piece& piece : spot->pieces) is_of_main[piece.number] = piece.halves[0].rank == spot->main_rank;
    Finding& finding = found.emplace_back(finding_of(facts, loop, spot->seconds, spot->error_s));
    finding.ranks = Ranks(hot);
    finding.cause = blame(
        facts, loop, 0, [&](std::size_t i) { return std::optional(is_of_main[loop.piece_of(i)]); }, spot->main_rank);
  }
}

}  // namespace refrain::findings

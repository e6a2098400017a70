#pragma once
/// What a search adds up: quantities of time by call path and location, and where it is asked for by span (iteration,
/// stretch, time outside of them), too.
///
/// Belongs to one thread.

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "offline/trace/event.hpp"
#include "offline/trace/functions.hpp"

namespace refrain::patterns {

/// Which of the things that are added up. The first ones are the time in each class of calls.
using Quantity = std::uint16_t;
/// In a sample of iterations, the time of calls that have completed a receive (or a send) ...
inline constexpr Quantity unknown_receives = trace::call_classes;    ///< ... of which the other end was not kept
inline constexpr Quantity crossing_receives = unknown_receives + 1;  ///< ... of which it lies in another iteration
inline constexpr Quantity unknown_sends = unknown_receives + 2;
inline constexpr Quantity crossing_sends = unknown_receives + 3;
/// How many calls, by span.
inline constexpr Quantity number_of_calls = unknown_receives + 4;
/// The time of calls that may have waited, and of which the events do not tell for how long: of calls with messages
/// whose other ends are not known, where all iterations were kept (of a sample, unknown_receives and its like say it
/// iteration by iteration) ...
inline constexpr Quantity untold_messages = unknown_receives + 5;
/// ... and of all others: collective operations and epochs of which parts are missing, and functions whose waiting no
/// pattern is about.
inline constexpr Quantity untold_others = unknown_receives + 6;
inline constexpr Quantity first_of_patterns = unknown_receives + 7;

/// Whose other ends decide how long a call has waited: bits.
enum Sides : std::uint8_t { no_side = 0, side_of_receives = 1, side_of_sends = 2 };

/// A span that has ended.
struct SpanEnd {
  std::uint16_t loop = 0;  ///< index into Findings::loops(); 0: time outside of iterations
  std::int64_t number = 0;
  std::int64_t ns = 0;                                             ///< how long it was; of archives 0
  std::uint32_t opened = trace::no_path, closed = trace::no_path;  ///< of stretches: the calls around it
  bool is_whole = true;                                            ///< no events of it are missing
};

/// A sample of fewer iterations has fewer rows.
class TooManyRows : public std::runtime_error {
 public:
  TooManyRows() : std::runtime_error("the search needs too much memory") {}
};

class Findings {
 public:
  struct Value {
    Quantity quantity;
    std::int64_t ns;       ///< of all spans
    std::int64_t span_ns;  ///< of the span `span`
    std::uint32_t span;
  };
  struct Cell {
    std::uint32_t path;
    std::uint64_t visits = 0, messages = 0, bytes = 0;
    std::vector<Value> values;
  };
  /// Of a span.
  struct Row {
    std::uint32_t span, cell;
    Quantity quantity;
    std::int64_t ns;
  };
  struct OfLocation {
    std::vector<std::uint32_t> cell_of_path;  ///< 1 more than the place; 0: none
    std::vector<Cell> cells;
    std::uint32_t span = 0;                                        ///< the one in progress
    std::vector<SpanEnd> spans;                                    ///< with by_span
    std::vector<Row> rows;                                         ///< with by_span
    std::vector<std::pair<std::uint32_t, std::uint16_t>> touched;  ///< values of the span in progress
    std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;        ///< of its events
    std::int64_t missing_ns = 0;                                   ///< within gaps, of the time that was asked for
    std::int64_t counted_until_ns = INT64_MIN;                     ///< the last call that counts is left
  };

  using IsWanted = std::function<bool(const SpanEnd&)>;
  /// `wanted`: of these spans rows are kept; empty: of all.
  Findings(std::size_t locations, bool by_span, IsWanted wanted = {})
      : by_span_(by_span), wanted_(std::move(wanted)), of_(locations) {}

  void add(Quantity quantity, std::uint32_t location, std::uint32_t path, std::uint32_t span, std::int64_t ns);
  /// A call that was left, with what it has moved.
  void add_call(Quantity quantity, std::uint32_t location, std::uint32_t path, std::uint32_t span, std::int64_t ns,
                std::uint64_t messages, std::uint64_t bytes);
  /// Rows are kept of these quantities alone, ascending. To be called before anything is added.
  void keep_rows_of(std::vector<Quantity> quantities) { only_ = std::move(quantities); }
  /// What adds more than so many throws TooManyRows.
  void limit_rows(std::uint64_t most) { most_rows_ = most; }
  /// The number of the span in progress.
  std::uint32_t span(std::uint32_t location) const { return of_[location].span; }
  void end_span(std::uint32_t location, const SpanEnd& end);
  /// After all was added.
  void finish();

  bool by_span() const { return by_span_; }
  OfLocation& of(std::uint32_t location) { return of_[location]; }
  const std::vector<OfLocation>& locations() const { return of_; }

  /// That of the call path; made where there is none.
  static Cell& cell(OfLocation& of, std::uint32_t path);

 private:
  void add(OfLocation& of, Cell& to, Quantity quantity, std::uint32_t span, std::int64_t ns);
  void add_row(OfLocation& of, const Row& row);
  void keep_span(OfLocation& of);
  bool by_span_;
  IsWanted wanted_;
  std::vector<Quantity> only_;  ///< rows of these are kept; empty: of all
  std::uint64_t rows_ = 0, most_rows_ = UINT64_MAX;
  std::vector<OfLocation> of_;
};

}  // namespace refrain::patterns

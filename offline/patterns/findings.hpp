#pragma once
/// What a search adds up: quantities of time by call path and location and, on request, by span (iteration, stretch,
/// time outside of them).
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

/// Identifies what is added up. The first values are the time in each class of calls.
using Quantity = std::uint16_t;
/// In a sample of iterations, the time of calls that completed a receive (or a send) ...
inline constexpr Quantity unknown_receives = trace::call_classes;    ///< ... whose other end was not kept
inline constexpr Quantity crossing_receives = unknown_receives + 1;  ///< ... whose other end is in another iteration
inline constexpr Quantity unknown_sends = unknown_receives + 2;
inline constexpr Quantity crossing_sends = unknown_receives + 3;
/// Number of calls, by span.
inline constexpr Quantity number_of_calls = unknown_receives + 4;
/// Time of calls that may have waited, if the events do not show how long: calls with messages whose other ends are not
/// known, if all iterations were kept (in a sample, unknown_receives and the like record this for each iteration) ...
inline constexpr Quantity untold_messages = unknown_receives + 5;
/// ... and all other calls: collective operations and epochs with missing parts, and functions whose waiting no pattern
/// covers.
inline constexpr Quantity untold_others = unknown_receives + 6;
inline constexpr Quantity first_of_patterns = unknown_receives + 7;

/// Bits: whether the other ends of receives or of sends decide how long a call waited.
enum Sides : std::uint8_t { no_side = 0, side_of_receives = 1, side_of_sends = 2 };

/// A span that has ended.
struct SpanEnd {
  std::uint16_t loop = 0;  ///< index into Findings::loops(); 0: time outside of iterations
  std::int64_t number = 0;
  std::int64_t ns = 0;                                             ///< duration; 0 for archives
  std::uint32_t opened = trace::no_path, closed = trace::no_path;  ///< for stretches: the calls around it
  bool is_whole = true;                                            ///< no events of it are missing
};

/// The row limit was exceeded. A sample of fewer iterations has fewer rows.
class TooManyRows : public std::runtime_error {
 public:
  TooManyRows() : std::runtime_error("the search needs too much memory") {}
};

class Findings {
 public:
  struct Value {
    Quantity quantity;
    std::int64_t ns;       ///< sum over all spans
    std::int64_t span_ns;  ///< sum of the span `span`
    std::uint32_t span;
  };
  struct Cell {
    std::uint32_t path;
    std::uint64_t visits = 0, messages = 0, bytes = 0;
    std::vector<Value> values;
  };
  /// The sum of a quantity in a span.
  struct Row {
    std::uint32_t span, cell;
    Quantity quantity;
    std::int64_t ns;
  };
  struct OfLocation {
    std::vector<std::uint32_t> cell_of_path;  ///< index into `cells` plus 1; 0: none
    std::vector<Cell> cells;
    std::uint32_t span = 0;                                        ///< number of the span in progress
    std::vector<SpanEnd> spans;                                    ///< only if by_span
    std::vector<Row> rows;                                         ///< only if by_span
    std::vector<std::pair<std::uint32_t, std::uint16_t>> touched;  ///< cell and value: changed in the span in progress
    std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;        ///< of its events
    std::int64_t missing_ns = 0;                                   ///< time in gaps, within the requested time
    std::int64_t counted_until_ns = INT64_MIN;                     ///< when the last call that counts was left
  };

  using IsWanted = std::function<bool(const SpanEnd&)>;
  /// `wanted`: selects the spans of which rows are kept; empty: all.
  Findings(std::size_t locations, bool by_span, IsWanted wanted = {})
      : by_span_(by_span), wanted_(std::move(wanted)), of_(locations) {}

  void add(Quantity quantity, std::uint32_t location, std::uint32_t path, std::uint32_t span, std::int64_t ns);
  /// Adds a call that has ended, with what it moved.
  void add_call(Quantity quantity, std::uint32_t location, std::uint32_t path, std::uint32_t span, std::int64_t ns,
                std::uint64_t messages, std::uint64_t bytes);
  /// Keeps rows of these quantities alone; they must be ascending. To be called before anything is added.
  void keep_rows_of(std::vector<Quantity> quantities) { only_ = std::move(quantities); }
  /// If more than `most` rows are added, TooManyRows is thrown.
  void limit_rows(std::uint64_t most) { most_rows_ = most; }
  /// The number of the span in progress.
  std::uint32_t span(std::uint32_t location) const { return of_[location].span; }
  void end_span(std::uint32_t location, const SpanEnd& end);
  /// To be called after everything was added.
  void finish();

  bool by_span() const { return by_span_; }
  OfLocation& of(std::uint32_t location) { return of_[location]; }
  const std::vector<OfLocation>& locations() const { return of_; }

  /// The cell of the call path; created if there is none.
  static Cell& cell(OfLocation& of, std::uint32_t path);

 private:
  void add(OfLocation& of, Cell& to, Quantity quantity, std::uint32_t span, std::int64_t ns);
  void add_row(OfLocation& of, const Row& row);
  void keep_span(OfLocation& of);
  bool by_span_;
  IsWanted wanted_;
  std::vector<Quantity> only_;  ///< quantities of which rows are kept; empty: all
  std::uint64_t rows_ = 0, most_rows_ = UINT64_MAX;
  std::vector<OfLocation> of_;
};

}  // namespace refrain::patterns

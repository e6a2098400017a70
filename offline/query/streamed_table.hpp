#pragma once
/// SQLite tables whose rows are made while they are read ("virtual tables"), in an order that is known beforehand.
/// Constraints on some of their columns bound the rows that are read; SQLite checks every row against the statement
/// itself, so bounds may be too wide. SQLite pushes no sums down to such tables: it is given every row.
///
/// All cells are integers, reals or NULL. Nothing here knows the meaning of a table.

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <variant>
#include <vector>

struct sqlite3;

namespace refrain::query {

using Number = std::variant<std::monostate, std::int64_t, double>;

/// From `first` to `last`. A narrow bound excludes rows with NULL in the column.
struct Bound {
  std::int64_t first = std::numeric_limits<std::int64_t>::min(), last = std::numeric_limits<std::int64_t>::max();
  bool is_narrow() const {
    return first != std::numeric_limits<std::int64_t>::min() || last != std::numeric_limits<std::int64_t>::max();
  }
  bool has(std::int64_t value) const { return first <= value && value <= last; }
};

/// One pass over the rows. Members may throw the exceptions of reading an experiment.
class RowStream {
 public:
  virtual ~RowStream() = default;
  virtual bool at_end() const = 0;
  virtual void next() = 0;
  virtual Number at(int column) const = 0;
  /// Unique among the rows, and the same in every pass, whatever the bounds are.
  virtual std::int64_t id() const = 0;
};

struct StreamedTable {
  /// A column whose constraints are used. `values`: about how many distinct values it has. `is_quicker`: a constraint
  /// reads less; else it only returns fewer rows.
  struct Bounded {
    int column;
    double values;
    bool is_quicker = true;
  };
  const char* declaration;
  std::vector<Bounded> bounded;
  /// The columns by which rows are sorted in ascending order, the most significant first; NULL comes before numbers.
  std::vector<int> order;
  double rows;  ///< about how many there are
  /// `bounds`: in the order of `bounded`.
  std::function<std::unique_ptr<RowStream>(std::span<const Bound> bounds)> open;
};

/// The exception that a table has thrown while SQLite ran: SQLite itself returns only a code.
struct Failure {
  std::exception_ptr why;
};

/// Adds the table under a name. `table` and `failure` must outlive the connection. Returns SQLite's code.
int add_streamed_table(sqlite3* database, const char* name, const StreamedTable& table, Failure& failure);

}  // namespace refrain::query

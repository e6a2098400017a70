#pragma once
/// What views make and writers print: typed, named columns and a stream of rows. Nothing is held but the row in hand.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace refrain::report {

enum class Kind : std::uint8_t {
  Text,     ///< a name: what it has in brackets makes room first
  Words,    ///< a text that is read from its begin
  Path,     ///< names from caller to callee
  Count,    ///< an integer
  Id,       ///< a name in numbers: zero is one, too
  Number,   ///< a real
  Seconds,  ///< to 1e-13 in series
  Moment,   ///< a point in time, in seconds: people need all digits of it, too
  Bytes,
  Share,  ///< of 1; people read percent
  Flag
};

constexpr bool is_text(Kind kind) { return kind == Kind::Text || kind == Kind::Words || kind == Kind::Path; }

/// Where a column appears.
enum In : unsigned {
  InText = 1,
  InJson = 2,
  InCsv = 4,
  ForPrograms = InJson | InCsv,
  Everywhere = InText | ForPrograms
};

struct Column {
  std::string name;  ///< member in JSON, head in CSV
  Kind kind = Kind::Text;
  unsigned in = Everywhere;
  std::string head = {};                ///< for people; empty: the name
  std::vector<std::string> group = {};  ///< JSON: the objects around the member, outermost first
  std::vector<std::string> words = {};  ///< of a Series in CSV and Markdown: what its numbers stand for
};

/// Nothing: unknown, or not of this row. JSON leaves it out, CSV has an empty field.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>,
                          std::vector<std::int64_t>>;

struct Table;

struct Row {
  std::vector<Cell> cells;         ///< one for each column
  std::vector<Table> tables = {};  ///< what the row has many of
};

using TakeRow = std::function<void(const Row& row)>;
/// Values of one iteration, one for each column; its number is their place.
using TakeNumbers = std::function<void(std::int64_t place, std::span<const double> values)>;

struct Table {
  enum Shape : std::uint8_t {
    Rows,    ///< JSON: an array of objects
    Object,  ///< one row; JSON: an object, or with an empty name more members of the object around it
    Series   ///< numbers alone; JSON: an array for each column, with null where a place is missing
  };
  std::string name;
  std::vector<Column> columns;
  std::function<void(const TakeRow&)> rows = {};         ///< of Rows and Object
  std::function<void(const TakeNumbers&)> numbers = {};  ///< of Series
  std::int64_t places = 0;                               ///< of Series
  Shape shape = Rows;
  int line_depth = 0;  ///< JSON: elements down to this depth stand on lines of their own; 0: as the table around
};

/// Where a report goes. Takes the text piece by piece.
using Sink = std::function<void(std::string_view text)>;

/// A table writer for programs: `table` and nothing else.
using TableWriter = void (*)(const Table& table, const Sink& out);
/// RFC 4180, with a head. Of a row with tables the last one is printed, each of its rows behind the row's own cells.
void write_csv(const Table& table, const Sink& out);
/// Columns for people.
void write_markdown(const Table& table, const Sink& out);

/// Formats of one table, by the word of --format.
struct TableFormat {
  const char* name;
  TableWriter write;
};
inline constexpr TableFormat table_formats[] = {{"csv", write_csv}, {"markdown", write_markdown}};

}  // namespace refrain::report

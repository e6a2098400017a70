#pragma once
/// A table is what a view makes and what the printers print: typed, named columns, a stream of rows, and for people
/// sentences around them. Only text holds all rows, to know how wide they are; other formats hold one row at a time.
///
/// Each format has one printer, which prints every table: text_table.cpp, json_tables.cpp, csv_tables.cpp,
/// markdown_tables.cpp.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace refrain::report {

enum class Kind : std::uint8_t {
  Text,      ///< a name: if there is no room, parts in brackets are cut first
  Words,     ///< running text: if there is no room, its end is cut
  Sentence,  ///< words and call paths in turn: if there is no room, call paths are cut
  Items,     ///< several texts: if there is no room, the last ones are left out
  Path,      ///< names from caller to callee
  Count,     ///< an integer
  Id,        ///< a number that is a name: 0 is shown, too
  Number,    ///< a real number
  Seconds,   ///< to 1e-13 in series
  Moment,    ///< a point in time, in seconds: people see all its digits, too
  Bytes,
  Share,  ///< a fraction of 1; people read percent
  Flag
};

constexpr bool is_text(Kind kind) { return kind <= Kind::Path; }

/// The formats in which a column appears.
enum In : unsigned {
  InText = 1,
  InMarkdown = 2,
  InJson = 4,
  InCsv = 8,
  ForPeople = InText | InMarkdown,
  ForPrograms = InJson | InCsv,
  InTables = InMarkdown | ForPrograms,  ///< for tables whose text has columns of its own
  Everywhere = ForPeople | ForPrograms
};

/// Usual: texts in the first and the last column are aligned to the left, everything else to the right.
enum class Align : std::uint8_t { Usual, Left, Right };

struct Column {
  std::string name;  ///< member in JSON, head in CSV
  Kind kind = Kind::Text;
  unsigned in = Everywhere;
  std::string head = {};                ///< for people; empty: the name
  std::vector<std::string> group = {};  ///< JSON: the objects around the member, outermost first
  std::vector<std::string> words = {};  ///< of a Series in CSV and Markdown: the words that its numbers stand for
  // For text:
  bool is_optional = false;  ///< the column is left out if no row has a value
  int gives_way = 0;         ///< if there is no room, the column with the largest number goes first; then the last ones
  Align align = Align::Usual;
  std::size_t width = 0;  ///< 0: as wide as its values. If all columns but the last have one, rows are not held
};

/// Texts by name: an object in JSON.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// std::monostate: unknown, or not applicable to the row. JSON leaves it out, CSV has an empty field.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>,
                          std::vector<std::int64_t>, NamedTexts>;

struct Table;

/// The colour of a row in text.
enum class Look : std::uint8_t { Plain, Mpi, Other };

struct Row {
  std::vector<Cell> cells;         ///< one for each column
  std::vector<Table> tables = {};  ///< nested tables
  Look look = Look::Plain;
  /// Text leaves out a row that is below the minimum share of the time. nullopt: the row is always shown.
  struct Weight {
    double seconds, with_error;  ///< the larger one counts; `seconds` is what is left out with the row
  };
  std::optional<Weight> weight = {};
};

/// A sentence of text beside a table. An empty sentence is an empty line.
struct Note {
  enum Tone : std::uint8_t { Plain, Faint, Strong, Warning };
  std::string text;
  Tone tone = Plain;
  std::size_t indent = 0;  ///< of the lines after the first
  bool is_cut = false;     ///< cut to one line; otherwise broken at spaces
};

using TakeRow = std::function<void(const Row& row)>;
/// Values of one iteration, one for each column; `place` is the number of the iteration.
using TakeNumbers = std::function<void(std::int64_t place, std::span<const double> values)>;

/// Summary of the values in one column of a chart.
struct Bin {
  double min = std::numeric_limits<double>::infinity(), max = -min, sum = 0;
  std::int64_t count = 0;
  void add(double value) { add({value, value, value, 1}); }
  void add(const Bin& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    count += other.count;
  }
};

/// Values of ranks or threads over many iterations: a graph of the minimum, the median and the maximum over the ranks,
/// and a map of ranks and iterations.
struct Chart {
  std::int64_t places = 0;                  ///< number of iterations
  std::vector<std::string> labels = {};     ///< "0", "1.2"
  std::vector<std::vector<Bin>> bins = {};  ///< by label, by column
  Bin all = {};                             ///< empty: only the notes are printed
  std::function<std::string(double value)> text = {};
  std::vector<Note> before = {}, after = {};
};
/// Makes a chart with at most `room` columns.
using MakeChart = std::function<Chart(std::size_t room)>;

struct Table {
  enum Shape : std::uint8_t {
    Rows,    ///< JSON: an array of objects
    Object,  ///< one row; JSON: an object, or with an empty name more members of the enclosing object
    Series   ///< numbers alone; JSON: an array for each column, with null where a place is missing
  };
  std::string name;
  std::vector<Column> columns;
  std::function<void(const TakeRow&)> rows = {};         ///< of Rows and Object; null: there are only notes
  std::function<void(const TakeNumbers&)> numbers = {};  ///< of Series
  std::int64_t places = 0;                               ///< of Series
  Shape shape = Rows;
  int line_depth = 0;  ///< JSON: elements down to this depth have lines of their own; 0: as in the enclosing table
  // For text:
  std::string empty = {};  ///< printed where there are no rows
  std::vector<Note> before = {}, after = {};
  std::vector<Note> footnotes = {};                     ///< at the end of the page
  MakeChart chart = {};                                 ///< in place of rows
  const char *row_name = "line", *row_names = "lines";  ///< what rows that are left out as too small are called
};

/// Takes the text of a report, piece by piece.
using Sink = std::function<void(std::string_view text)>;

/// Prints one table and nothing else.
using TableWriter = void (*)(const Table& table, const Sink& out);
/// RFC 4180, with a head. If rows have tables, the last one is printed, each of its rows behind the cells of the outer
/// row.
void write_csv(const Table& table, const Sink& out);
/// Prints the columns for people.
void write_markdown(const Table& table, const Sink& out);

/// Text is for people, Json is a document of several tables; the other formats print one table.
enum class Format : std::uint8_t { Text, Json, Csv, Markdown };

/// The formats, by their names in --format.
struct FormatRow {
  Format format;
  const char* name;
  unsigned in;        ///< the columns that it shows
  TableWriter write;  ///< of formats of one table; else null
};
inline constexpr FormatRow format_table[] = {{Format::Text, "text", InText, nullptr},
                                             {Format::Json, "json", InJson, nullptr},
                                             {Format::Csv, "csv", InCsv, write_csv},
                                             {Format::Markdown, "markdown", InMarkdown, write_markdown}};
constexpr const FormatRow& row_of(Format format) { return format_table[static_cast<std::size_t>(format)]; }

/// The names that --format takes.
std::vector<std::string> format_names();
/// `name` must be one of them.
Format format_of(const std::string& name);

}  // namespace refrain::report

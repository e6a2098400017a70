#pragma once
/// A table is what a view makes and what the printers print: typed, named columns, a stream of rows, and for people
/// sentences around them. Only text holds the rows, to know how wide they are; the other formats hold the row in hand.
///
/// There is one printer a format, and it prints every table: text_table.cpp, json_tables.cpp, csv_tables.cpp,
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
  Text,      ///< a name: its parts in brackets make room first
  Words,     ///< a text that is read from its beginning
  Sentence,  ///< words and call paths in turn: where there is no room the call paths make it
  Items,     ///< several texts, of which the first ones stay where there is no room
  Path,      ///< names from caller to callee
  Count,     ///< an integer
  Id,        ///< a name in numbers: zero is one, too
  Number,    ///< a real
  Seconds,   ///< to 1e-13 in series
  Moment,    ///< a point in time, in seconds: people need all its digits, too
  Bytes,
  Share,  ///< of 1; people read percent
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
  InTables = InMarkdown | ForPrograms,  ///< where text has columns of its own
  Everywhere = ForPeople | ForPrograms
};

/// Usually texts in the first and the last column are aligned to the left, all others to the right.
enum class Align : std::uint8_t { Usual, Left, Right };

struct Column {
  std::string name;  ///< member in JSON, head in CSV
  Kind kind = Kind::Text;
  unsigned in = Everywhere;
  std::string head = {};                ///< for people; empty: the name
  std::vector<std::string> group = {};  ///< JSON: the objects around the member, outermost first
  std::vector<std::string> words = {};  ///< of a Series in CSV and Markdown: the words that its numbers stand for
  // Of text:
  bool is_optional = false;  ///< a column without any value is left out
  int gives_way = 0;  ///< where there is no room the column with the largest number goes first; then the last ones
  Align align = Align::Usual;
  std::size_t width = 0;  ///< 0: as wide as its values. Where all columns but the last have one, rows are not held
};

/// Texts by name: an object in JSON.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Nothing: unknown, or not of this row. JSON leaves it out, CSV has an empty field.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>,
                          std::vector<std::int64_t>, NamedTexts>;

struct Table;

/// The colour of a row in text.
enum class Look : std::uint8_t { Plain, Mpi, Other };

struct Row {
  std::vector<Cell> cells;         ///< one for each column
  std::vector<Table> tables = {};  ///< what the row has many of
  Look look = Look::Plain;
  /// Text leaves a row out that is below the least share of the time. None: it is always shown.
  struct Weight {
    double seconds, with_error;  ///< the larger one of the two counts; `seconds` is what is left out with the row
  };
  std::optional<Weight> weight = {};
};

/// A sentence of a text beside a table. An empty one is an empty line.
struct Note {
  enum Tone : std::uint8_t { Plain, Faint, Strong, Warning };
  std::string text;
  Tone tone = Plain;
  std::size_t indent = 0;  ///< of the lines after the first
  bool is_cut = false;     ///< to one line; else it is broken at spaces
};

using TakeRow = std::function<void(const Row& row)>;
/// Values of one iteration, one for each column; its number is their place.
using TakeNumbers = std::function<void(std::int64_t place, std::span<const double> values)>;

/// Values that share a column of a chart.
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

/// Values of ranks or threads over many iterations: a graph of the least, the median and the largest over the ranks,
/// and a map of ranks and iterations.
struct Chart {
  std::int64_t places = 0;                  ///< iterations
  std::vector<std::string> labels = {};     ///< "0", "1.2"
  std::vector<std::vector<Bin>> bins = {};  ///< by label, by column
  Bin all = {};                             ///< empty: only the notes are printed
  std::function<std::string(double value)> text = {};
  std::vector<Note> before = {}, after = {};
};
/// Makes it with at most `room` columns.
using MakeChart = std::function<Chart(std::size_t room)>;

struct Table {
  enum Shape : std::uint8_t {
    Rows,    ///< JSON: an array of objects
    Object,  ///< one row; JSON: an object, or with an empty name more members of the object around it
    Series   ///< numbers alone; JSON: an array for each column, with null where a place is missing
  };
  std::string name;
  std::vector<Column> columns;
  std::function<void(const TakeRow&)> rows = {};         ///< of Rows and Object; null: there are only notes
  std::function<void(const TakeNumbers&)> numbers = {};  ///< of Series
  std::int64_t places = 0;                               ///< of Series
  Shape shape = Rows;
  int line_depth = 0;  ///< JSON: elements down to this depth stand on lines of their own; 0: as the table around
  // Of text:
  std::string empty = {};  ///< printed where there are no rows
  std::vector<Note> before = {}, after = {};
  std::vector<Note> footnotes = {};                     ///< at the end of the page
  MakeChart chart = {};                                 ///< in place of rows
  const char *row_name = "line", *row_names = "lines";  ///< of those that are left out as too small
};

/// Where a report goes. Takes the text piece by piece.
using Sink = std::function<void(std::string_view text)>;

/// Prints one table and nothing else.
using TableWriter = void (*)(const Table& table, const Sink& out);
/// RFC 4180, with a head. Where a row has tables the last one is printed, each of its rows behind the row's own cells.
void write_csv(const Table& table, const Sink& out);
/// Columns for people.
void write_markdown(const Table& table, const Sink& out);

/// Text is for people, Json is a document of several tables; the others are one table.
enum class Format : std::uint8_t { Text, Json, Csv, Markdown };

/// The formats, by the word of --format.
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

/// The words of --format.
std::vector<std::string> format_names();
/// `name` is one of them.
Format format_of(const std::string& name);

}  // namespace refrain::report

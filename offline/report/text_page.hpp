#pragma once
/// Parts shared by all texts for the terminal: width, colours, and the lines that say which experiment is shown.

#include <string>
#include <string_view>
#include <vector>

#include "offline/report/overview.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

struct Style {
  const char *plain = "", *strong = "", *faint = "", *mpi = "", *warning = "";
};

struct Glyphs {
  const char *branch, *last, *through, *space, *ellipsis, *times, *plus_minus;
  const char *axis, *corner, *dash, *tick;  ///< of graphs
  const char *range, *middle, *beyond;      ///< from minimum to maximum; the median; the maximum is above the graph
  const char* shades[8];                    ///< light to dark
  std::size_t shade_count;
};

std::string right(std::string_view text, std::size_t width);
std::string left(std::string_view text, std::size_t width);
std::string joined_command(const std::vector<std::string>& command);
std::string plural(std::int64_t count, const char* one, const char* many);

class TextPage {
 protected:
  explicit TextPage(const Terminal& terminal);

  std::size_t width() const { return terminal_.width > 0 ? static_cast<std::size_t>(terminal_.width) : 100'000; }
  void line(std::string text = "");
  std::string paint(const char* style, const std::string& text) const;
  /// The maximum width of a text with this indent.
  std::size_t text_width(std::size_t indent) const;
  /// Breaks `text` at spaces; lines after the first are indented.
  void wrapped(const std::string& first, const std::string& text, std::size_t indent, const char* style = "");
  void warning(const std::string& text) { wrapped("warning: ", text, 9, style_.warning); }

  /// Rows below the minimum share of the time, which are left out: their number and their time.
  struct Small {
    double least_s = 0;
    std::size_t count = 0;
    double seconds = 0;
  };
  /// Prints a table and the notes before and after it (text_table.cpp): as many of the columns for people as fit. The
  /// last column is a text and gets the remaining room. `small`: null: all rows are shown.
  void print(const Table& table, Small* small = nullptr);
  void print(const std::vector<Note>& notes);

  void warnings(const Document& document);
  void heading(const Document& document);
  /// Prints the line of efficiencies, which may be empty, and a sentence about cores that were shared.
  void fitness(const Document& document, const std::string& efficiency = "");

  const Terminal& terminal_;
  const Style style_;
  const Glyphs glyphs_;
  std::string out_;
};

}  // namespace refrain::report

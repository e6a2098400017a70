// Tables as text, for people.
#include <algorithm>
#include <utility>

#include "offline/report/human_cells.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t least_text_width = 20;

std::size_t width_of(const Column& column) {
  switch (column.kind) {
    case Kind::Share: return 8;
    case Kind::Count: return 12;
    case Kind::Id: return 8;
    case Kind::Moment: return 18;
    case Kind::Seconds:
    case Kind::Bytes: return 10;
    default: return 9;
  }
}

/// A column and its width, including the space in front of it.
struct ShownColumn {
  std::size_t column, width;
  bool is_text;
};

class TextTable {
 public:
  TextTable(const Table& table, std::size_t width, const Glyphs& glyphs, bool is_utf8)
      : table_(table), width_(width), glyphs_(glyphs), is_utf8_(is_utf8) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      if (!(column.in & InText)) continue;
      const bool is_first = shown_.empty(), is_words = is_text(column.kind);
      const std::size_t between = is_first ? 0 : 2, head = display_width(head_of(column)) + between;
      const std::size_t usual = is_words ? 0 : width_of(column) - (is_first ? 1 : 0);
      shown_.push_back({c, column.width > 0 ? column.width + between : std::max(usual, head), is_words});
    }
  }

  /// Makes the columns as wide as these rows need, if there is room.
  void fit_to(const std::vector<Row>& rows) {
    is_fitted_ = true;
    std::erase_if(shown_, [&](const ShownColumn& of) {
      return table_.columns[of.column].is_optional &&
             std::ranges::all_of(rows, [&](const Row& row) { return cell_of(row, of).empty(); });
    });
    for (const Row& row : rows)
      for (std::size_t i = 0; i < shown_.size(); ++i)
        shown_[i].width = std::max(shown_[i].width, display_width(cell_of(row, shown_[i])) + (i == 0 ? 0 : 2));
    while (shown_.size() > 2 && least_width() > width_) drop_one();
    std::size_t spare = width_ > least_width() ? width_ - least_width() : 0;
    // The last column usually says most: it gets its width first.
    for (auto of = shown_.rbegin(); of != shown_.rend(); ++of) {
      const std::size_t more = std::min(of->width - least_of(*of), spare);
      of->width = least_of(*of) + more;
      spare -= more;
    }
  }

  std::string head() const {
    return put(
        [&](const ShownColumn& of) {
          const std::string text = head_of(table_.columns[of.column]);
          const bool is_last = &of == &shown_.back();
          return is_last && is_fitted_ ? fit_words(text, room_of(of), glyphs_.ellipsis) : text;
        },
        [](const std::string& text) { return text; });
  }
  /// `paint` colours the text of the last column.
  template <class Paint>
  std::string line(const Row& row, const Paint& paint) const {
    return put([&](const ShownColumn& of) { return fitted(row, of); }, paint);
  }

 private:
  std::string head_of(const Column& column) const {
    const std::string& head = human_head(column);
    return head.starts_with("+-") ? glyphs_.plus_minus + head.substr(2) : head;
  }
  std::string cell_of(const Row& row, const ShownColumn& of) const {
    return human_cell(row.cells[of.column], table_.columns[of.column].kind);
  }

  /// Texts may be cut down to this width; if that is not enough, columns are left out.
  std::size_t least_of(const ShownColumn& of) const {
    const std::size_t least = &of == &shown_.back() ? std::max(least_text_width, width_ / 3) : least_text_width;
    return of.is_text ? std::min(of.width, least) : of.width;
  }
  std::size_t least_width() const {
    std::size_t sum = 0;
    for (const ShownColumn& of : shown_) sum += least_of(of);
    return sum;
  }
  void drop_one() {
    const auto gives_way = [&](const ShownColumn& of) { return table_.columns[of.column].gives_way; };
    if (const auto most = std::ranges::max_element(shown_, {}, gives_way); gives_way(*most) > 0) {
      shown_.erase(most);
      return;
    }
    const auto last = std::find_if(shown_.rbegin(), shown_.rend(), [](const ShownColumn& of) { return !of.is_text; });
    shown_.erase(last == shown_.rend() ? shown_.end() - 2 : std::next(last).base());
  }

  std::size_t room_of(const ShownColumn& of) const {
    return of.width - std::min<std::size_t>(of.width, &of == &shown_.front() ? 0 : 2);
  }

  std::string fitted(const Row& row, const ShownColumn& of) const {
    const Cell& cell = row.cells[of.column];
    const Kind kind = table_.columns[of.column].kind;
    const std::size_t room = room_of(of);
    std::string text = cell_of(row, of);
    if (is_fitted_ && of.is_text && display_width(text) > room) {
      const auto* parts = std::get_if<std::vector<std::string>>(&cell);
      if (kind == Kind::Sentence && parts) text = fit_sentence(*parts, room, glyphs_.ellipsis);
      else if (kind == Kind::Items && parts) text = fit_items(*parts, room, glyphs_.ellipsis);
      else if (kind == Kind::Text) text = fit_name(text, room, glyphs_.ellipsis);
      else if (kind == Kind::Path) text = fit_path(text, room, glyphs_.ellipsis);
      else text = fit_words(text, room, glyphs_.ellipsis);
    }
    return is_utf8_ ? text : as_ascii(text);
  }

  template <class TextOf, class Paint>
  std::string put(const TextOf& text_of, const Paint& paint) const {
    std::string row;
    for (const ShownColumn& of : shown_) {
      const bool is_first = &of == &shown_.front(), is_last = &of == &shown_.back();
      const Align align = table_.columns[of.column].align;
      const bool is_left = align == Align::Left || (align == Align::Usual && of.is_text && (is_first || is_last));
      const std::string text = text_of(of);
      if (!is_left) row += right(text, of.width);
      else row += (is_first ? "" : "  ") + (is_last ? paint(text) : left(text, room_of(of)));
    }
    while (row.ends_with(' ')) row.pop_back();
    return row;
  }

  const Table& table_;
  const std::size_t width_;
  const Glyphs& glyphs_;
  const bool is_utf8_;
  bool is_fitted_ = false;  ///< false: the rows are not known, and nothing is cut
  std::vector<ShownColumn> shown_;
};

/// Whether lines can be printed as the rows come.
bool is_stream(const Table& table) {
  return !table.columns.empty() &&
         std::all_of(table.columns.begin(), table.columns.end() - 1, [](const Column& of) { return of.width > 0; });
}

class TablesPage : TextPage {
 public:
  explicit TablesPage(const Terminal& terminal) : TextPage(terminal) {}

  void print(const Table& table, const Sink& out) {
    if (!is_stream(table)) {
      TextPage::print(table);
      TextPage::print(table.footnotes);
      return out(std::exchange(out_, {}));
    }
    TextPage::print(table.before);
    out(std::exchange(out_, {}));
    const TextTable text(table, width(), glyphs_, terminal_.utf8);
    bool is_first = true;
    table.rows([&](const Row& row) {
      if (std::exchange(is_first, false)) out(text.head() + "\n");
      out(text.line(row, [](const std::string& last) { return last; }) + "\n");
    });
    if (is_first && !table.empty.empty()) out(table.empty + "\n");
  }
};

}  // namespace

void TextPage::print(const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    const char* const styles[] = {"", style_.faint, style_.strong, style_.warning};
    const char* const style = styles[note.tone];
    std::string text = note.text;
    for (std::size_t at = 0; (at = text.find(" +- ", at)) != text.npos; ++at)
      text.replace(at + 1, 2, glyphs_.plus_minus);
    if (text.empty()) line();
    else if (note.is_cut) line(paint(style, cut_to(text, width())));
    else wrapped("", text, note.indent, style);
  }
}

void TextPage::print(const Table& table, Small* small) {
  print(table.before);
  if (table.chart) out_ += chart_text(table.chart, terminal_);
  if (table.rows) {
    std::vector<Row> rows;
    table.rows([&](const Row& row) {
      const bool is_small =
          small && row.weight && std::max(row.weight->seconds, row.weight->with_error) < small->least_s;
      if (!is_small) return rows.push_back(row);
      ++small->count;
      small->seconds += row.weight->seconds;
    });
    if (rows.empty() && !table.empty.empty()) {
      line(table.empty);
    } else {
      TextTable text(table, width(), glyphs_, terminal_.utf8);
      text.fit_to(rows);
      line(paint(style_.faint, text.head()));
      const char* const styles[] = {"", style_.mpi, style_.faint};
      for (const Row& row : rows)
        line(text.line(
            row, [&](const std::string& last) { return paint(styles[static_cast<std::size_t>(row.look)], last); }));
    }
  }
  print(table.after);
}

void print_tables(const std::vector<Table>& tables, Format format, const Terminal& terminal, const Sink& out) {
  if (format == Format::Json) return write_json(tables, out);
  if (const FormatRow& row = row_of(format); row.write) return row.write(tables.at(0), out);
  TablesPage page(terminal);
  for (const Table& table : tables) page.print(table, out);
}

}  // namespace refrain::report

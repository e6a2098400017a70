#include "offline/report/text_page.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/report/human_cells.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

constexpr Style coloured{"\033[0m", "\033[1m", "\033[2m", "\033[36m", "\033[33m"};
constexpr Glyphs unicode{"├ ", "└ ", "│ ", "  ", "…", "×", "±", "│", "└", "─", "┴", "░", "█", {"·", "░", "▒", "▓", "█"},
                         5};
constexpr Glyphs ascii{"|-", "`-", "| ", "  ", "...", "x", "+-",
                       "|",  "+",  "-",  "+",  ":",   "#", {".", ":", "-", "=", "+", "*", "#", "@"},
                       8};

/// "2024-05-06T07:08:09Z" without what people do not read; anything else as it is.
std::string short_time(const std::string& iso) {
  if (iso.size() != 20 || iso[10] != 'T' || iso[19] != 'Z') return iso;
  return iso.substr(0, 10) + " " + iso.substr(11, 5) + " UTC";
}

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

}  // namespace

std::string right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}
std::string left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string plural(std::int64_t count, const char* one, const char* many) {
  return human_count(count) + " " + (count == 1 ? one : many);
}

TextPage::TextPage(const Terminal& terminal)
    : terminal_(terminal), style_(terminal.colour ? coloured : Style{}), glyphs_(terminal.utf8 ? unicode : ascii) {}

void TextPage::line(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  out_ += text + "\n";
}
std::string TextPage::paint(const char* style, const std::string& text) const {
  return *style == '\0' || text.empty() ? text : style + text + style_.plain;
}

void TextPage::wrapped(const std::string& first, const std::string& text, std::size_t indent, const char* style) {
  const std::size_t limit = std::clamp<std::size_t>(width(), indent + 30, std::max<std::size_t>(100, indent + 60));
  std::string now = first;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (display_width(now) > indent && display_width(now) + 1 + display_width(word) > limit) {
      line(paint(style, now));
      now = std::string(indent, ' ');
    }
    if (display_width(now) > indent) now += ' ';
    now += word;
    at = end + 1;
  }
  line(paint(style, now));
}

void TextPage::print(const Table& table, const std::function<const char*(const Row&)>& style) {
  std::vector<std::size_t> shown, widths;
  std::size_t used = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (!(column.in & InText)) continue;
    shown.push_back(c);
    const std::string& head = human_head(column);
    const bool first = shown.size() == 1;
    widths.push_back(std::max(width_of(column) - first, display_width(head) + (first ? 0 : 2)));
    used += widths.back();
  }
  const bool has_text = !shown.empty() && table.columns[shown.back()].kind == Kind::Text;
  if (has_text) used -= widths.back();
  while (shown.size() > 2 && used + (has_text ? least_text_width : 0) > width()) {  // the last number
    const auto drop = static_cast<std::ptrdiff_t>(shown.size() - 1 - has_text);
    used -= widths[static_cast<std::size_t>(drop)];
    shown.erase(shown.begin() + drop);
    widths.erase(widths.begin() + drop);
  }
  const std::size_t room = width() > used + 2 ? std::max(width() - used - 2, std::size_t{1}) : 1;
  const auto put = [&](auto text_of, const char* of) {
    std::string row;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool last = has_text && i + 1 == shown.size();
      std::string text = text_of(shown[i]);
      if (last) text = "  " + paint(of, fit_name(text, room, glyphs_.ellipsis));
      else if (i > 0 && table.columns[shown[i]].kind == Kind::Text)
        text = right(fit_name(text, widths[i] - 2, glyphs_.ellipsis), widths[i]);
      else text = right(text, widths[i]);
      row += text;
    }
    return row;
  };
  const auto head_of = [&](std::size_t c) { return human_head(table.columns[c]); };
  line(paint(style_.faint, put(head_of, "")));
  table.rows([&](const Row& row) {
    line(put([&](std::size_t c) { return human_cell(row.cells[c], table.columns[c].kind); }, style ? style(row) : ""));
  });
}

void TextPage::warnings(const Document& d) {
  const Overview& o = d.overview;
  if (o.state != "complete") {
    // Rank 0 writes last that it has ended.
    std::string text = "the experiment is incomplete: the program ";
    text += o.rank_0_is_snapshot ? "still runs, or was killed" : "ended without MPI_Finalize, or was killed";
    if (!o.missing_ranks.empty())
      text += fmt::format("; no data of rank{} {}", o.missing_ranks.size() == 1 ? "" : "s", rank_list(o.missing_ranks));
    const std::string first = fmt::format("{:.1f} s", o.first_end_s), last = fmt::format("{:.1f} s", o.last_end_s);
    if (o.last_end_s > 0)
      text += fmt::format("; the data ends {}{} after the start", first == last ? "" : first + " to ", last);
    if (o.rank_0_is_snapshot && !std::ranges::count(o.missing_ranks, 0))
      text += "; of rank 0 its last snapshot is shown";
    warning(text);
  }
  constexpr std::size_t most_damage = 5;
  const auto damage = d.experiment->damage();
  for (std::size_t i = 0; i < std::min(damage.size(), most_damage); ++i) warning(damage[i]);
  if (const std::size_t all = d.experiment->damages(); all > most_damage)
    warning(
        fmt::format("and {} more parts of the experiment are damaged; --format json lists them", all - most_damage));
  for (const std::string& note : d.tree.notes) warning(note);
  if (!out_.empty()) line();
}

void TextPage::heading(const Document& d) {
  const experiment::Manifest& manifest = d.experiment->manifest();
  std::string command;
  for (const auto& word : manifest.command) command += (command.empty() ? "" : " ") + word;
  if (!command.empty()) line(paint(style_.strong, cut_to(command, width())));
  std::string about = d.overview.without_mpi ? "1 process without MPI" : plural(d.overview.ranks, "rank", "ranks");
  if (!d.options.ranks.empty()) {
    auto ranks = d.options.ranks;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    about = fmt::format("rank{} {} of {}", ranks.size() == 1 ? "" : "s", rank_list(ranks), d.overview.ranks);
  }
  if (d.overview.hosts.size() == 1 && !d.overview.hosts[0].empty()) about += " on " + d.overview.hosts[0];
  if (d.overview.hosts.size() > 1) about += fmt::format(" on {} nodes", d.overview.hosts.size());
  about += ", " + plural(static_cast<std::int64_t>(d.tree.locations.size()), "thread", "threads");
  // MPI libraries tell much about themselves; the name and version come first.
  const std::string library = manifest.mpi_library.substr(0, manifest.mpi_library.find_first_of(",\n"));
  if (!library.empty()) about += ", " + library;
  if (!manifest.started.empty()) about += ", " + short_time(manifest.started);
  about += ", " + d.overview.state;
  wrapped("", about, 0);
  for (const std::string& text : d.part.subject) wrapped("", text, 0);
  line();
}

}  // namespace refrain::report

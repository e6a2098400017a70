#include "offline/report/text_page.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "offline/report/foreign_run.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

constexpr Style coloured{"\033[0m", "\033[1m", "\033[2m", "\033[36m", "\033[33m"};
constexpr Glyphs unicode{
    "├ ", "└ ", "│ ", "  ", "…", "×", "±", "│", "└", "─", "┴", "░", "█", "▲", {"·", "░", "▒", "▓", "█"}, 5};
constexpr Glyphs ascii{"|-", "`-", "| ", "  ", "...",
                       "x",  "+-", "|",  "+",  "-",
                       "+",  ":",  "#",  "^",  {".", ":", "-", "=", "+", "*", "#", "@"},
                       8};

/// "6 May 2024 07:08 UTC" for "2024-05-06T07:08:09Z"; any other text is returned unchanged.
std::string short_time(const std::string& iso) {
  constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (iso.size() != 20 || iso[10] != 'T' || iso[19] != 'Z') return iso;
  const int month = std::atoi(iso.substr(5, 2).c_str()), day = std::atoi(iso.substr(8, 2).c_str());
  if (month < 1 || month > 12) return iso;
  return fmt::format("{} {} {} {} UTC", day, months[month - 1], iso.substr(0, 4), iso.substr(11, 5));
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

std::string joined_command(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return text;
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

namespace {

/// A figure stays together with its error and its unit: "12.5 +- 0.8 %" is a word.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  std::size_t end = std::min(text.find(' ', at), text.size());
  const auto goes_on = [&] {
    const std::string_view rest = text.substr(end);
    return rest.starts_with(" %") || rest.starts_with(" +- ") || text.substr(at, end - at).ends_with(" +-");
  };
  while (end < text.size() && goes_on()) end = std::min(text.find(' ', end + 1), text.size());
  return end;
}

}  // namespace

std::size_t TextPage::text_width(std::size_t indent) const {
  return std::clamp<std::size_t>(width(), indent + 30, std::max<std::size_t>(100, indent + 60));
}

void TextPage::wrapped(const std::string& first, const std::string& text, std::size_t indent, const char* style) {
  const std::size_t limit = text_width(indent);
  std::string now = first;
  std::size_t at = 0;
  bool has_word = false;
  while (at < text.size()) {
    const std::size_t end = end_of_word(text, at);
    const std::string word = text.substr(at, end - at);
    has_word |= display_width(now) > indent;
    if (has_word && display_width(now) + 1 + display_width(word) > limit) {
      line(paint(style, now));
      now = std::string(indent, ' ');
      has_word = false;
    }
    if (has_word) now += ' ';
    // A word that is longer than a line continues on the next one.
    std::string rest = word;
    while (display_width(now) < limit && display_width(now) + display_width(rest) > limit) {
      const std::string part = cut_to(rest, limit - display_width(now));
      if (part.empty()) break;
      line(paint(style, now + part));
      now = std::string(indent, ' ');
      rest.erase(0, part.size());
    }
    now += rest;
    has_word = true;
    at = end + 1;
  }
  line(paint(style, now));
}

void TextPage::warnings(const Document& d) {
  const Overview& o = d.overview;
  if (o.has_unmeasured_ranks) {
    const bool one = o.missing_ranks.size() == 1;
    warning(fmt::format("the experiment is incomplete: rank{} {} {} not measured", one ? "" : "s",
                        rank_list(o.missing_ranks), one ? "was" : "were"));
  } else if (o.state != "complete" && !d.foreign) {
    // Rank 0 writes the end of the program last.
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

namespace {

/// "on 2 cores of node1"
std::string where(const Overview& o) {
  std::int64_t cores = 0;
  bool known = !o.nodes.empty();
  for (const analysis::NodeCores& node : o.nodes) {
    known = known && node.cores;
    cores += node.cores.value_or(0);
  }
  const bool named = o.hosts.size() == 1 && !o.hosts[0].empty();
  const std::string on = known ? fmt::format(" on {}", plural(cores, "core", "cores")) : "";
  if (named) return on + (known ? " of " : " on ") + o.hosts[0];
  return o.hosts.size() > 1 ? fmt::format("{} {} {} nodes", on, known ? "of" : "on", o.hosts.size()) : on;
}

/// A sentence about cores that were shared; empty: there were enough.
std::string too_few_cores(const Document& d) {
  const auto& shared = d.overview.shared;
  if (shared.empty()) return "";
  double ready_s = 0, off_s = 0, blocked_s = 0;
  for (const auto& of : d.tree.locations) {
    ready_s += of.user_s - of.blocked_s;
    off_s += of.not_on_cpu_s - of.blocked_s;
    blocked_s += of.blocked_s;
  }
  std::string text;
  constexpr double worth_a_word = 0.01;
  if (ready_s > 0 && off_s > worth_a_word * ready_s)
    text = fmt::format("User code had a core for {:.0f} % of {}: ", 100 * (1 - off_s / ready_s),
                       blocked_s > worth_a_word * ready_s ? "the time it was ready to run" : "its time");
  text += analysis::sentence(shared[0], d.overview.hosts.size() > 1);
  if (shared.size() > 1)
    text +=
        fmt::format(", and {} {} as crowded or less", shared.size() - 1, shared.size() == 2 ? "node is" : "nodes are");
  return text + ".";
}

}  // namespace

void TextPage::heading(const Document& d) {
  const experiment::Manifest& manifest = d.experiment->manifest();
  std::string about = d.overview.without_mpi ? "1 process without MPI" : plural(d.overview.ranks, "rank", "ranks");
  std::size_t ranks = static_cast<std::size_t>(d.overview.ranks);
  if (!d.request.ranks.empty()) {
    auto chosen = d.request.ranks;
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    ranks = chosen.size();
    about = fmt::format("rank{} {} of {}", ranks == 1 ? "" : "s", rank_list(chosen), d.overview.ranks);
  }
  if (d.tree.locations.size() > ranks)
    about += ", " + plural(static_cast<std::int64_t>(d.tree.locations.size()), "thread", "threads");
  if (d.request.thread) about += fmt::format(" (thread {} of each)", *d.request.thread);
  std::string threads;
  for (const auto& [rank, thread] : d.request.threads_of_ranks)
    threads += fmt::format("{}{}.{}", threads.empty() ? " (" : ", ", rank, thread);
  if (!threads.empty()) about += threads + ")";
  about += where(d.overview);
  // MPI libraries tell much about themselves; the name and version come first.
  const std::string library = manifest.mpi_library.substr(0, manifest.mpi_library.find_first_of(",\n"));
  if (!library.empty()) about += ", " + library;
  const std::string command = d.foreign ? d.foreign->title() : joined_command(manifest.command);
  constexpr std::size_t widest = 110, between = 3;
  const std::size_t whole = std::min(width(), widest), used = display_width(about);
  if (!command.empty() && display_width(command) + between + used <= whole) {
    line(paint(style_.strong, command) + std::string(whole - used - display_width(command), ' ') + about);
  } else {
    if (!command.empty()) line(paint(style_.strong, cut_to(command, width())));
    wrapped("", about, 0);
  }
  double longest_s = 0;
  for (const auto& of : d.tree.locations) longest_s = std::max(longest_s, of.wall_s);
  std::string when = manifest.started.empty() ? "" : short_time(manifest.started) + ", ";
  wrapped("", fmt::format("{}{}, {}", when, human_time(longest_s), d.overview.state), 0);
  if (d.foreign) wrapped("", d.foreign->sentence_of_unknown(), 0, style_.faint);
  for (const std::string& text : d.part.subject) wrapped("", text, 0);
  line();
}

void TextPage::fitness(const Document& d, const std::string& efficiency) {
  const std::string cores = too_few_cores(d);
  if (!efficiency.empty()) wrapped("", efficiency, 2, style_.strong);
  if (!cores.empty()) wrapped("", cores, 0, style_.warning);
  if (!efficiency.empty() || !cores.empty()) line();
}

}  // namespace refrain::report

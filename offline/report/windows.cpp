#include "offline/report/windows.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/windows.hpp"
#include "offline/report/csv_field.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

using analysis::add_values;
using analysis::JobWindow;
using analysis::WindowPair;

/// Without the pairs whose origin is not asked for.
std::vector<JobWindow> windows_of(const Document& d) {
  std::vector<JobWindow> windows = analysis::match_windows(d.experiment.profile).windows;
  if (d.options.ranks.empty()) return windows;
  for (JobWindow& window : windows)
    std::erase_if(window.pairs, [&](const WindowPair& pair) {
      return std::find(d.options.ranks.begin(), d.options.ranks.end(), pair.origin) == d.options.ranks.end();
    });
  return windows;
}

std::int64_t bytes_of(const WindowPair& pair) { return add_values(pair.traffic.bytes_put, pair.traffic.bytes_got); }

std::string world_rank(std::int32_t rank) { return rank < 0 ? "?" : std::to_string(rank); }

class WindowPage : TextPage {
 public:
  explicit WindowPage(const Terminal& terminal) : TextPage(terminal) {}

  std::string render(const Document& d) {
    const std::vector<JobWindow> windows = windows_of(d);
    if (windows.empty()) throw UsageError("--windows: the program has made no windows");
    warnings(d);
    heading(d);
    for (const JobWindow& window : windows) show(window);
    line(paint(style_.faint, "Counted at the origin; ranks are those in MPI_COMM_WORLD."));
    return std::move(out_);
  }

 private:
  static constexpr std::size_t pairs_shown = 16;

  void show(const JobWindow& window) {
    std::string title = "Window ";
    if (!window.name.empty()) title += window.name + " ";
    title += "of " + window.communicator + fmt::format(", {}", analysis::name_of(window.kind));
    if (window.made > 1) title += fmt::format(", {} times", human_count(window.made));
    line(paint(style_.strong, cut_to(title, width())));
    if (window.pairs.empty()) {
      line("  no operation");
      line();
      return;
    }
    std::vector<WindowPair> pairs = window.pairs;
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const WindowPair& a, const WindowPair& b) { return bytes_of(a) > bytes_of(b); });
    WindowPair all{};
    for (const WindowPair& pair : pairs) {
      all.traffic.puts = add_values(all.traffic.puts, pair.traffic.puts);
      all.traffic.bytes_put = add_values(all.traffic.bytes_put, pair.traffic.bytes_put);
      all.traffic.gets = add_values(all.traffic.gets, pair.traffic.gets);
      all.traffic.bytes_got = add_values(all.traffic.bytes_got, pair.traffic.bytes_got);
    }
    line("  " + right("origin", 8) + right("target", 8) + right("puts", 14) + right("bytes put", 12) +
         right("gets", 14) + right("bytes got", 12) + right("share", 8));
    row("all", "", all, all);
    for (std::size_t i = 0; i < pairs.size() && i < pairs_shown; ++i)
      row(world_rank(pairs[i].origin), world_rank(pairs[i].target), pairs[i], all);
    if (pairs.size() > pairs_shown)
      line(fmt::format("  and {} with less each; all with --format csv",
                       plural(static_cast<std::int64_t>(pairs.size() - pairs_shown), "pair", "pairs")));
    line();
  }

  void row(const std::string& origin, const std::string& target, const WindowPair& pair, const WindowPair& all) {
    const auto& t = pair.traffic;
    line("  " + right(origin, 8) + right(target, 8) + right(human_count(t.puts), 14) +
         right(human_bytes(t.bytes_put), 12) + right(human_count(t.gets), 14) + right(human_bytes(t.bytes_got), 12) +
         right(percent(static_cast<double>(bytes_of(pair)), static_cast<double>(bytes_of(all))), 8));
  }
};

}  // namespace

std::string windows_text(const Document& document, const Terminal& terminal) {
  return WindowPage(terminal).render(document);
}

std::string windows_csv(const Document& document) {
  std::string out = "window,communicator,kind,name,made,origin,target,puts,bytes_put,gets,bytes_got\r\n";
  const std::vector<JobWindow> windows = windows_of(document);
  for (std::size_t i = 0; i < windows.size(); ++i)
    for (const WindowPair& pair : windows[i].pairs)
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\r\n", i, csv_field(windows[i].communicator),
                         analysis::name_of(windows[i].kind), csv_field(windows[i].name), windows[i].made, pair.origin,
                         pair.target, pair.traffic.puts, pair.traffic.bytes_put, pair.traffic.gets,
                         pair.traffic.bytes_got);
  return out;
}

}  // namespace refrain::report

// Prints charts as text: values over many iterations as a graph and as a map.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "offline/report/print_tables.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "statistics/statistics.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t label_width = 11;
constexpr std::size_t default_columns = 100;  ///< if the width has no limit
constexpr std::size_t widest_place = 4;       ///< maximum width of a chart column, in terminal columns
constexpr std::size_t graph_rows = 12;
constexpr std::size_t most_map_rows = 32;
/// The axis begins at 0 unless the minimum is more than this fraction of the maximum.
constexpr double zero_based_until = 0.6;
constexpr double infinity = std::numeric_limits<double>::infinity();

class ChartText : TextPage {
 public:
  ChartText(const MakeChart& make, const Terminal& terminal)
      : TextPage(terminal),
        room_(std::max<std::size_t>(
            (terminal.width > 0 ? width() : default_columns) - std::min(width(), label_width + 2), 20)),
        chart_(make(room_)) {}

  std::string render() {
    print(chart_.before);
    if (chart_.all.count > 0) {
      columns_ = chart_.bins.front().size();
      repeat_ = std::clamp<std::size_t>(room_ / columns_, 1, widest_place);
      line();
      graph();
      line();
      map();
    }
    print(chart_.after);
    return std::move(out_);
  }

 private:
  std::string value(double v) const { return chart_.text(v); }

  std::string repeated(const char* glyph) const {
    std::string text;
    for (std::size_t i = 0; i < repeat_; ++i) text += glyph;
    return text;
  }

  /// The values at the bottom and at the top of the axis. Values that are all equal are drawn above 0, or at the bottom
  /// if they are 0.
  static std::pair<double, double> axis_of(const Bin& all) {
    const double low = all.min < zero_based_until * all.max ? std::min(0.0, all.min) : all.min;
    if (all.max > low) return {low, all.max};
    return all.max > 0 ? std::pair(0.0, all.max) : std::pair(all.max, all.max + 1);
  }

  /// The top of the graph. If a few columns are many times as high as the others, they are cut; otherwise the others
  /// would be flat.
  double top_of(double low, double high) const {
    constexpr double far_above = 8, few = 0.05;
    std::vector<double> tops;
    for (std::size_t c = 0; c < columns_; ++c) {
      double top = -infinity;
      for (const auto& bins : chart_.bins)
        if (bins[c].count > 0) top = std::max(top, bins[c].max);
      if (top > -infinity) tops.push_back(top);
    }
    const double usual = statistics::range_without_tails(tops, few).high;
    if (low < 0 || usual <= low || high <= far_above * usual) return high;
    return *std::prev(std::ranges::upper_bound(tops, far_above / 2 * usual));
  }

  void graph() {
    const std::size_t columns = columns_;
    const auto ends = axis_of(chart_.all);
    // The axis begins at 0 when it ends far below the largest value.
    const double high = top_of(std::max(ends.first, 0.0), ends.second), low = ends.first;
    const auto row_of = [&](double v) {
      const double at = (v - low) / (high - low) * static_cast<double>(graph_rows);
      return std::min(static_cast<std::size_t>(std::max(at, 0.0)), graph_rows - 1);
    };
    struct Column {
      bool used = false;
      std::size_t low = 0, middle = 0, high = 0;
      bool is_beyond = false;
    };
    std::vector<Column> drawn(columns);
    std::vector<double> means;
    for (std::size_t c = 0; c < columns; ++c) {
      Bin all;
      means.clear();
      for (const auto& bins : chart_.bins) {
        if (bins[c].count == 0) continue;
        all.add(bins[c]);
        means.push_back(bins[c].sum / static_cast<double>(bins[c].count));
      }
      if (!means.empty())
        drawn[c] = {true, row_of(all.min), row_of(statistics::median(means)), row_of(all.max), all.max > high};
    }
    for (std::size_t row = graph_rows; row-- > 0;) {
      std::string label;
      if (row + 1 == graph_rows) label = value(high);
      else if (row == graph_rows / 2) label = value(low + (high - low) * (static_cast<double>(row) + 1) / graph_rows);
      else if (row == 0) label = value(low);
      std::string cells;
      for (const Column& column : drawn) {
        const bool inside = column.used && row >= column.low && row <= column.high;
        const bool is_end = row + 1 == graph_rows && column.is_beyond;
        cells += repeated(!inside                ? " "
                          : is_end               ? glyphs_.beyond
                          : row == column.middle ? glyphs_.middle
                                                 : glyphs_.range);
      }
      line(right(label, label_width) + " " + paint(style_.faint, glyphs_.axis) + cells);
    }
    axis();
    const std::int64_t per_column =
        (chart_.places + static_cast<std::int64_t>(columns) - 1) / static_cast<std::int64_t>(columns);
    const std::string of_ranks = chart_.labels.size() > 1 ? "median over ranks" : "value";
    wrapped(
        "",
        per_column > 1
            ? fmt::format("{} {}, {} least to largest. A column is up to {} iterations: the least and the largest of "
                          "them, and their {}.",
                          glyphs_.middle, chart_.labels.size() > 1 ? "median" : "mean", glyphs_.range,
                          human_count(per_column), chart_.labels.size() > 1 ? "means' median over ranks" : "mean")
        : chart_.labels.size() > 1
            ? fmt::format("{} median over ranks, {} least to largest. A column is one iteration.", glyphs_.middle,
                          glyphs_.range)
            : fmt::format("A column is one iteration."),
        0, style_.faint);
    if (high < ends.second)
      wrapped("", fmt::format("{} goes on above the graph, to {} at most.", glyphs_.beyond, value(ends.second)), 0,
              style_.faint);
  }

  /// Iterations from tick to tick: 1, 2 or 5 times a power of ten, and enough of them for the numbers to be readable.
  static std::size_t round_step(std::size_t iterations, std::size_t places) {
    constexpr std::size_t distance = 14;
    for (std::size_t ten = 1;; ten *= 10)
      for (const std::size_t step : {ten, 2 * ten, 5 * ten})
        if (step >= iterations || step * places >= distance * iterations) return step;
  }

  void axis() {
    std::string line_of_axis = glyphs_.corner, numbers;
    const std::size_t columns = columns_, all = columns * repeat_;
    std::vector<bool> tick(all, false);
    const auto iterations = static_cast<std::size_t>(chart_.places);
    const std::size_t step = round_step(iterations, all);
    for (std::size_t iteration = 0; iteration < iterations; iteration += step) {
      const std::size_t at = iteration * columns / iterations * repeat_;
      const std::string number = fmt::format("{}", iteration);
      if (at + number.size() > all && at > 0) break;
      tick[at] = true;
      numbers = left(numbers, at) + number;
    }
    for (std::size_t i = 0; i < all; ++i) line_of_axis += tick[i] ? glyphs_.tick : glyphs_.dash;
    line(std::string(label_width + 1, ' ') + paint(style_.faint, line_of_axis));
    line(right("iteration", label_width) + "  " + numbers);
  }

  /// The smallest value of each shade; one shade if all cells are equal. Shades have equal steps, or equal ratios if a
  /// few large values would otherwise leave nearly all cells in the lightest shade.
  std::vector<double> shades_from(const std::vector<std::vector<double>>& cells) const {
    double low = infinity, high = -infinity, positive = infinity;
    std::size_t count = 0, light = 0;
    const auto for_each = [&](auto&& use) {
      for (const auto& row : cells)
        for (const double v : row)
          if (v != -infinity) use(v);
    };
    for_each([&](double v) {
      ++count;
      low = std::min(low, v);
      high = std::max(high, v);
      if (v > 0) positive = std::min(positive, v);
    });
    if (!(high > low)) return {low};
    const double step = (high - low) / static_cast<double>(glyphs_.shade_count);
    for_each([&](double v) { light += v < low + step; });
    std::vector<double> from;
    if (light * 10 < count * 9 || !(high > positive)) {
      for (std::size_t s = 0; s < glyphs_.shade_count; ++s) from.push_back(low + step * static_cast<double>(s));
      return from;
    }
    // If there are values of 0, the lightest shade is theirs.
    if (low <= 0) from.push_back(low);
    const std::size_t rest = glyphs_.shade_count - from.size();
    for (std::size_t s = 0; s < rest; ++s)
      from.push_back(positive * std::pow(high / positive, static_cast<double>(s) / static_cast<double>(rest)));
    return from;
  }

  void map() {
    const std::size_t ranks = chart_.labels.size(), columns = columns_;
    const std::size_t per_row = (ranks + most_map_rows - 1) / most_map_rows;
    // The shades divide the range of what is drawn: the largest value of each cell.
    std::vector<std::vector<double>> cells;
    for (std::size_t first = 0; first < ranks; first += per_row) {
      auto& row = cells.emplace_back(columns, -infinity);
      for (std::size_t r = first; r < std::min(ranks, first + per_row); ++r)
        for (std::size_t c = 0; c < columns; ++c) row[c] = std::max(row[c], chart_.bins[r][c].max);
    }
    const std::vector<double> from = shades_from(cells);
    for (std::size_t r = 0; r < cells.size(); ++r) {
      std::string text;
      for (const double v : cells[r]) {
        const auto above = std::upper_bound(from.begin(), from.end(), v) - from.begin();
        text += repeated(v == -infinity ? " " : glyphs_.shades[std::max<std::ptrdiff_t>(above - 1, 0)]);
      }
      const std::size_t first = r * per_row, last = std::min(ranks, first + per_row) - 1;
      line(right(row_label(first, last), label_width) + " " + paint(style_.faint, glyphs_.axis) + text);
    }
    axis();
    std::string legend;
    for (std::size_t s = 0; s < from.size(); ++s)
      legend += fmt::format("{}{} from {}", s ? ", " : "", glyphs_.shades[s], value(from[s]));
    const bool folded = static_cast<std::int64_t>(columns) < chart_.places || per_row > 1;
    std::string fold;
    if (folded) {
      fold = ". Each place is the largest value of";
      if (per_row > 1) fold += fmt::format(" up to {} ranks", per_row);
      if (static_cast<std::int64_t>(columns) < chart_.places)
        fold += fmt::format(
            "{} up to {} iterations", per_row > 1 ? " and" : "",
            human_count((chart_.places + static_cast<std::int64_t>(columns) - 1) / static_cast<std::int64_t>(columns)));
    }
    wrapped("", legend + fold + ".", 0, style_.faint);
  }

  std::string row_label(std::size_t first, std::size_t last) const {
    return first == last ? "rank " + chart_.labels[first] : chart_.labels[first] + "-" + chart_.labels[last];
  }

  const std::size_t room_;
  const Chart chart_;
  std::size_t columns_ = 0;
  std::size_t repeat_ = 1;  ///< width of a chart column, in terminal columns
};

}  // namespace

std::string chart_text(const MakeChart& make, const Terminal& terminal) { return ChartText(make, terminal).render(); }

}  // namespace refrain::report

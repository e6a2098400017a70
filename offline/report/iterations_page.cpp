#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "offline/report/loop_view.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t label_width = 11;
constexpr std::size_t default_columns = 100;  ///< where the width has no limit
constexpr std::size_t widest_iteration = 4;   ///< columns that a short loop gives to each
constexpr std::size_t graph_rows = 12;
constexpr std::size_t most_map_rows = 32;
constexpr double zero_based_until =
    0.6;  ///< the axis begins at 0 unless the least value is a larger part of the largest
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Values of the iterations that share a column.
struct Bin {
  double min = infinity, max = -infinity, sum = 0;
  std::int64_t count = 0;
  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
    ++count;
  }
  void add(const Bin& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    count += other.count;
  }
};

/// Where no sample hit, the value is below so many errors with 95 %.
constexpr double errors_that_hold_nothing = 3;

struct Place {
  double value;
  double error = 0;  ///< of the value; 0: it has none
  std::int64_t iteration = -1;
  const LoopPlace* location = nullptr;
};

/// What one pass over the iterations of a loop leaves: a bin per location and column, however many there are.
struct Picture {
  std::size_t columns = 0;
  std::vector<std::vector<Bin>> bins;  ///< by location, by column
  Bin all;
  Place least{infinity}, largest{-infinity};
  std::int64_t without_cluster = 0, in_overflow = 0, unreadable = 0;
  std::int64_t undivided = 0;  ///< their clusters cannot be read, or events of them were not kept
  std::int64_t untold = 0;     ///< waiting for a core was not told from being blocked
  double largest_error = 0;    ///< of values above 0
  double largest_unseen = 0;   ///< what values of 0 are below
  std::size_t clusters = 0;
  // Of the samples of single iterations.
  bool samples_kept = false, samples_everywhere = true;
  std::uint64_t largest_stride = 0;
};

Picture take_picture(const Document& d, const LoopGroup& group, std::size_t columns) {
  Picture picture;
  picture.columns = columns;
  for (const LoopPlace& of : group.locations) {
    auto& bins = picture.bins.emplace_back(columns);
    picture.clusters += of.clusters;
    const auto open = d.loops->open(*d.experiment, of);
    if (!open) {
      picture.unreadable += of.iterations;
      continue;
    }
    const experiment::Loop& loop = open->loop();
    const auto value = shown_value(*d.loops, *open), error = shown_error(*d.loops, *open);
    const bool is_untold =
        !d.loops->source &&
        run::is_untold(*open->profiles, d.loops->callpath ? &d.loops->callpath->selection : nullptr,
                            d.loops->metric.name);
    const std::uint64_t stride = open->profiles->samples_stride();
    picture.samples_kept |= stride > 0;
    picture.samples_everywhere &= stride == 1;
    picture.largest_stride = std::max(picture.largest_stride, stride);
    const auto read = run::for_each_iteration(
        loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
          if (i < 0 || i >= group.iterations || open->was_absent(cluster, row)) return;
          picture.without_cluster += cluster < 0;
          const double v = value ? value(i, cluster, row) : std::numeric_limits<double>::quiet_NaN();
          if (!std::isfinite(v)) {
            (is_untold ? picture.untold : picture.undivided) += d.loops->source || cluster >= 0;
            return;
          }
          bins[static_cast<std::size_t>(i) * columns / static_cast<std::size_t>(group.iterations)].add(v);
          const double e = error ? error(i, cluster, row) : 0;
          if (v > 0) picture.largest_error = std::max(picture.largest_error, e);
          else picture.largest_unseen = std::max(picture.largest_unseen, errors_that_hold_nothing * e);
          if (v < picture.least.value) picture.least = {v, e, i, &of};
          if (v > picture.largest.value) picture.largest = {v, e, i, &of};
          picture.in_overflow += cluster >= 0 && loop.clusters[static_cast<std::size_t>(cluster)].overflow;
        });
    picture.unreadable += std::max<std::int64_t>(0, loop.iterations - read);
    for (const Bin& bin : bins) picture.all.add(bin);
  }
  return picture;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

class LoopGraphs : TextPage {
 public:
  LoopGraphs(const Document& document, const Terminal& terminal)
      : TextPage(terminal), d_(document), view_(*document.loops) {}

  std::string of(const LoopGroup& group) {
    iterations(group);
    return std::move(out_);
  }

 private:
  std::string value(double v) const { return human_value(view_.metric.unit, v); }
  std::string value(const Place& place) const {
    if (place.error <= 0) return value(place.value);
    if (place.value <= 0) return "< " + value(errors_that_hold_nothing * place.error);
    return fmt::format("{} {} {}", value(place.value), glyphs_.plus_minus, value(place.error));
  }

  static std::string where(const Place& place, const LoopGroup& group) {
    const std::string iteration = fmt::format("iteration {}", place.iteration);
    return group.locations.size() == 1 ? iteration : iteration + " of " + report::name_of(*place.location);
  }

  void iterations(const LoopGroup& group) {
    std::string what = view_.metric.name;
    if (view_.metric.unit == "s") what += " time";
    if (view_.callpath) what += " in " + view_.callpath_name;
    line(paint(style_.strong, cut_to(about(group) + ", " + what, width())));
    const std::size_t room = std::max<std::size_t>(
        (terminal_.width > 0 ? width() : default_columns) - std::min(width(), label_width + 2), 20);
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(group.iterations, 0));
    const std::size_t columns = std::min(room, count);
    const Picture picture = take_picture(d_, group, std::max<std::size_t>(columns, 1));
    if (picture.all.count == 0) {
      line(view_.source ? view_.source->why_none()
           : picture.untold > 0
               ? "waiting for a core was not told from being blocked: run_delay_unknown, or sampling by wall time"
           : picture.undivided > 0
               ? "the clusters of this loop could not be read: call paths of its iterations are not known"
               : "no iteration of this loop has been recorded");
      return;
    }
    repeat_ = std::clamp<std::size_t>(room / columns, 1, widest_iteration);
    if (view_.source) origin(picture);
    else if (view_.callpath && !view_.callpath->selection.everything) reconstructed(picture);
    wrapped("",
            fmt::format("least {} ({}), mean {}, largest {} ({})", value(picture.least), where(picture.least, group),
                        value(picture.all.sum / static_cast<double>(picture.all.count)), value(picture.largest),
                        where(picture.largest, group)),
            0);
    unequal(group);
    line();
    graph(group, picture);
    line();
    map(group, picture);
    if (picture.unreadable > 0)
      warning(fmt::format("{} of this loop could not be read: its log is damaged or incomplete",
                          plural(picture.unreadable, "iteration", "iterations")));
    if (picture.untold > 0)
      warning(fmt::format(
          "of {} waiting for a core was not told from being blocked: run_delay_unknown, or sampling by wall time",
          plural(picture.untold, "iteration", "iterations")));
    if (picture.undivided > 0 && !view_.source)
      warning(fmt::format("the clusters of {} could not be read: their call paths are not known",
                          plural(picture.undivided, "iteration", "iterations")));
  }

  void origin(const Picture& picture) {
    const auto known = static_cast<double>(picture.all.count), rest = static_cast<double>(picture.undivided);
    wrapped("", view_.source->origin(rest == 0 ? 1 : known / (known + rest)), 0);
  }

  void reconstructed(const Picture& picture) {
    if (view_.metric.name == "samples" && recorded(picture)) return;
    if (run::is_by_rules(view_.callpath->selection)) return;
    wrapped("",
            fmt::format("Reconstructed from {}: what the call path has on average in the iteration's cluster, moved by "
                        "the exact totals of the iteration.",
                        plural(static_cast<std::int64_t>(picture.clusters), "cluster", "clusters")),
            0);
    if (picture.largest_error > 0 || picture.largest_unseen > 0) {
      std::string text = "User code is divided as the samples of similar iterations are; standard error up to " +
                         value(picture.largest_error) + ".";
      if (picture.largest_unseen > 0)
        text += fmt::format(" 0 means: hit by no sample, less than {} (3/n of its user time).",
                            value(picture.largest_unseen));
      wrapped("", text, 0);
    }
    if (picture.in_overflow > 0)
      wrapped("",
              fmt::format("{} in clusters of several classes (overflow): their values are less certain.",
                          plural(picture.in_overflow, "iteration is", "iterations are")),
              0);
    if (picture.without_cluster > 0)
      wrapped("",
              fmt::format("{} no cluster: they came after the last snapshot, and are not shown here.",
                          plural(picture.without_cluster, "iteration has", "iterations have")),
              0, style_.warning);
  }

  /// Says where the samples are those of the iterations themselves; true: everywhere.
  bool recorded(const Picture& picture) {
    if (!picture.samples_kept) return false;
    wrapped("",
            picture.largest_stride > 1
                ? fmt::format("Samples as they were recorded in every iteration, or one in up to {}.",
                              human_count(static_cast<std::int64_t>(picture.largest_stride)))
                : "Samples as they were recorded in each iteration.",
            0);
    return picture.samples_everywhere;
  }

  void unequal(const LoopGroup& group) {
    const auto fewest = std::ranges::min_element(group.locations, {}, &LoopPlace::iterations);
    if (fewest->iterations < group.iterations)
      wrapped("",
              fmt::format("Not all have as many iterations: {} has {}.", report::name_of(*fewest),
                          human_count(fewest->iterations)),
              0);
  }

  std::string repeated(const char* glyph) const {
    std::string text;
    for (std::size_t i = 0; i < repeat_; ++i) text += glyph;
    return text;
  }

  /// What is at the bottom and at the top. Values that are all the same stand above 0, or at the bottom when they are
  /// 0.
  static std::pair<double, double> axis_of(const Bin& all) {
    const double low = all.min < zero_based_until * all.max ? std::min(0.0, all.min) : all.min;
    if (all.max > low) return {low, all.max};
    return all.max > 0 ? std::pair(0.0, all.max) : std::pair(all.max, all.max + 1);
  }

  /// Of the graph. A few columns that are many times as high as the others end at its top: else these would be flat.
  static double top_of(const Picture& picture, double low, double high) {
    constexpr double far_above = 8, few = 0.05;
    std::vector<double> tops;
    for (std::size_t c = 0; c < picture.columns; ++c) {
      double top = -infinity;
      for (const auto& bins : picture.bins)
        if (bins[c].count > 0) top = std::max(top, bins[c].max);
      if (top > -infinity) tops.push_back(top);
    }
    std::ranges::sort(tops);
    const auto left_out = static_cast<std::size_t>(few * static_cast<double>(tops.size()));
    if (left_out == 0 || low < 0) return high;
    const double usual = tops[tops.size() - 1 - left_out];
    if (usual <= low || high <= far_above * usual) return high;
    return *std::prev(std::ranges::upper_bound(tops, far_above / 2 * usual));
  }

  void graph(const LoopGroup& group, const Picture& picture) {
    const std::size_t columns = picture.columns;
    const auto ends = axis_of(picture.all);
    // The axis begins at 0 when it ends far below the largest value.
    const double high = top_of(picture, std::max(ends.first, 0.0), ends.second), low = ends.first;
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
      for (const auto& bins : picture.bins) {
        if (bins[c].count == 0) continue;
        all.add(bins[c]);
        means.push_back(bins[c].sum / static_cast<double>(bins[c].count));
      }
      if (!means.empty()) drawn[c] = {true, row_of(all.min), row_of(median(means)), row_of(all.max), all.max > high};
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
    iteration_axis(group, columns);
    const std::int64_t per_column =
        (group.iterations + static_cast<std::int64_t>(columns) - 1) / static_cast<std::int64_t>(columns);
    const std::string of_ranks = group.locations.size() > 1 ? "median over ranks" : "value";
    wrapped(
        "",
        per_column > 1
            ? fmt::format("{} {}, {} least to largest. A column is up to {} iterations: the least and the largest of "
                          "them, and their {}.",
                          glyphs_.middle, group.locations.size() > 1 ? "median" : "mean", glyphs_.range,
                          human_count(per_column), group.locations.size() > 1 ? "means' median over ranks" : "mean")
        : group.locations.size() > 1
            ? fmt::format("{} median over ranks, {} least to largest. A column is one iteration.", glyphs_.middle,
                          glyphs_.range)
            : fmt::format("A column is one iteration."),
        0, style_.faint);
    if (high < ends.second)
      wrapped("", fmt::format("{} goes on above the graph, to {} at most.", glyphs_.beyond, value(ends.second)), 0,
              style_.faint);
  }

  /// From tick to tick: 1, 2 or 5 times a power of ten, so that ticks are not nearer than can be read.
  static std::size_t round_step(std::size_t iterations, std::size_t places) {
    constexpr std::size_t distance = 14;
    for (std::size_t ten = 1;; ten *= 10)
      for (const std::size_t step : {ten, 2 * ten, 5 * ten})
        if (step >= iterations || step * places >= distance * iterations) return step;
  }

  void iteration_axis(const LoopGroup& group, std::size_t columns) {
    std::string axis = glyphs_.corner, numbers;
    const std::size_t all = columns * repeat_;
    std::vector<bool> tick(all, false);
    const auto iterations = static_cast<std::size_t>(group.iterations);
    const std::size_t step = round_step(iterations, all);
    for (std::size_t iteration = 0; iteration < iterations; iteration += step) {
      const std::size_t at = iteration * columns / iterations * repeat_;
      const std::string number = fmt::format("{}", iteration);
      if (at + number.size() > all && at > 0) break;
      tick[at] = true;
      numbers = left(numbers, at) + number;
    }
    for (std::size_t i = 0; i < all; ++i) axis += tick[i] ? glyphs_.tick : glyphs_.dash;
    line(std::string(label_width + 1, ' ') + paint(style_.faint, axis));
    line(right("iteration", label_width) + "  " + numbers);
  }

  /// The smallest value of each shade, one shade when all cells are equal. In equal steps; in equal ratios when a few
  /// large values would leave nearly all cells in the lightest shade.
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
    // Where there are values of 0 the lightest shade is theirs.
    if (low <= 0) from.push_back(low);
    const std::size_t rest = glyphs_.shade_count - from.size();
    for (std::size_t s = 0; s < rest; ++s)
      from.push_back(positive * std::pow(high / positive, static_cast<double>(s) / static_cast<double>(rest)));
    return from;
  }

  void map(const LoopGroup& group, const Picture& picture) {
    const std::size_t ranks = group.locations.size(), columns = picture.columns;
    const std::size_t per_row = (ranks + most_map_rows - 1) / most_map_rows;
    // The shades tell apart what is drawn: the largest values of the cells.
    std::vector<std::vector<double>> cells;
    for (std::size_t first = 0; first < ranks; first += per_row) {
      auto& row = cells.emplace_back(columns, -infinity);
      for (std::size_t r = first; r < std::min(ranks, first + per_row); ++r)
        for (std::size_t c = 0; c < columns; ++c) row[c] = std::max(row[c], picture.bins[r][c].max);
    }
    const std::vector<double> from = shades_from(cells);
    for (std::size_t r = 0; r < cells.size(); ++r) {
      std::string text;
      for (const double v : cells[r]) {
        const auto above = std::upper_bound(from.begin(), from.end(), v) - from.begin();
        text += repeated(v == -infinity ? " " : glyphs_.shades[std::max<std::ptrdiff_t>(above - 1, 0)]);
      }
      const std::size_t first = r * per_row, last = std::min(ranks, first + per_row) - 1;
      line(right(row_label(group, first, last), label_width) + " " + paint(style_.faint, glyphs_.axis) + text);
    }
    iteration_axis(group, columns);
    std::string legend;
    for (std::size_t s = 0; s < from.size(); ++s)
      legend += fmt::format("{}{} from {}", s ? ", " : "", glyphs_.shades[s], value(from[s]));
    const bool folded = static_cast<std::int64_t>(columns) < group.iterations || per_row > 1;
    std::string fold;
    if (folded) {
      fold = ". Each place is the largest value of";
      if (per_row > 1) fold += fmt::format(" up to {} ranks", per_row);
      if (static_cast<std::int64_t>(columns) < group.iterations)
        fold += fmt::format("{} up to {} iterations", per_row > 1 ? " and" : "",
                            human_count((group.iterations + static_cast<std::int64_t>(columns) - 1) /
                                        static_cast<std::int64_t>(columns)));
    }
    wrapped("", legend + fold + ".", 0, style_.faint);
  }

  static std::string row_label(const LoopGroup& group, std::size_t first, std::size_t last) {
    const auto one = [&](std::size_t i) {
      const LoopPlace& of = group.locations[i];
      return of.thread == 0 ? fmt::format("{}", of.rank) : fmt::format("{}.{}", of.rank, of.thread);
    };
    return first == last ? "rank " + one(first) : one(first) + "-" + one(last);
  }

  const Document& d_;
  const LoopView& view_;
  std::size_t repeat_ = 1;  ///< places that a column takes
};

}  // namespace

std::string graphs_text(const Document& document, const LoopGroup& group, const Terminal& terminal) {
  return LoopGraphs(document, terminal).of(group);
}

}  // namespace refrain::report

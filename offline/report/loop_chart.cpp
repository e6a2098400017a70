// Every iteration of the marked loops, for people: a metric over the iterations and ranks, and how well it is known.
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

/// A value that no sample hit is below this many standard errors with 95 % confidence.
constexpr double errors_that_hold_nothing = 3;

struct Place {
  double value;
  double error = 0;  ///< of the value; 0: none
  std::int64_t iteration = -1;
  const LoopPlace* location = nullptr;
};

/// The result of one pass over the iterations of a loop: a bin per location and column for any number of iterations.
struct Picture {
  std::vector<std::vector<Bin>> bins;  ///< by location, by column
  Bin all;
  Place least{std::numeric_limits<double>::infinity()}, largest{-std::numeric_limits<double>::infinity()};
  std::int64_t without_cluster = 0, in_overflow = 0, unreadable = 0;
  std::int64_t undivided = 0;  ///< iterations whose clusters cannot be read or whose events were not kept
  std::int64_t untold = 0;     ///< iterations where waiting for a core was not told from being blocked
  double largest_error = 0;    ///< of values above 0
  double largest_unseen = 0;   ///< upper bound of values that are 0
  std::size_t clusters = 0;
  // About the samples of single iterations.
  bool samples_kept = false, samples_everywhere = true;
  std::uint64_t largest_stride = 0;
};

Picture take_picture(const Document& d, const LoopGroup& group, std::size_t columns) {
  Picture picture;
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
        !d.loops->source && run::is_untold(*open->profiles, d.loops->callpath ? &d.loops->callpath->selection : nullptr,
                                           d.loops->metric.name);
    const std::uint64_t stride = open->profiles->samples_stride();
    picture.samples_kept |= stride > 0;
    picture.samples_everywhere &= stride == 1;
    picture.largest_stride = std::max(picture.largest_stride, stride);
    const auto read =
        run::for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
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

/// The sentences around the graph and the map of a loop.
class LoopNotes {
 public:
  LoopNotes(const LoopView& view, const LoopGroup& group, const Picture& picture)
      : view_(view), group_(group), picture_(picture) {}

  std::vector<Note> before() {
    if (picture_.all.count == 0) {
      add(view_.source ? view_.source->why_none()
          : picture_.untold > 0
              ? "waiting for a core was not told from being blocked: run_delay_unknown, or sampling by wall time"
          : picture_.undivided > 0 && view_.metric.name == format::row_of(format::MetricId::OffCpuMpi).name
              ? "experiments of formats before 1.11 do not have off_cpu_mpi by call path"
          : picture_.undivided > 0
              ? "the clusters of this loop could not be read: call paths of its iterations are not known"
              : "no iteration of this loop has been recorded");
      return std::move(notes_);
    }
    const auto known = static_cast<double>(picture_.all.count), rest = static_cast<double>(picture_.undivided);
    if (view_.source) add(view_.source->origin(rest == 0 ? 1 : known / (known + rest)));
    else if (view_.callpath && !view_.callpath->selection.everything) reconstructed();
    add(fmt::format("least {} ({}), mean {}, largest {} ({})", value(picture_.least), where(picture_.least),
                    value(picture_.all.sum / known), value(picture_.largest), where(picture_.largest)));
    if (group_.kept_every > 1)
      add(
          fmt::format("From iteration {} on the log keeps one of 2 iterations, at the end one of {}; the others are "
                      "shown with the mean of theirs.",
                      human_count(group_.thinned_from), human_count(group_.kept_every)));
    const auto fewest = std::ranges::min_element(group_.locations, {}, &LoopPlace::iterations);
    if (fewest->iterations < group_.iterations)
      add(fmt::format("Not all have as many iterations: {} has {}.", report::name_of(*fewest),
                      human_count(fewest->iterations)));
    return std::move(notes_);
  }

  std::vector<Note> after() {
    if (picture_.all.count == 0) return {};
    warn(picture_.unreadable, "{} of this loop could not be read: its log is damaged or incomplete");
    warn(picture_.untold,
         "of {} waiting for a core was not told from being blocked: run_delay_unknown, or sampling by wall time");
    if (!view_.source) warn(picture_.undivided, "the clusters of {} could not be read: their call paths are not known");
    return std::move(notes_);
  }

 private:
  void add(std::string text, Note::Tone tone = Note::Plain) { notes_.push_back({std::move(text), tone}); }
  void warn(std::int64_t iterations, const char* text) {
    if (iterations <= 0) return;
    constexpr std::size_t indent = 9;
    const std::string count = plural(iterations, "iteration", "iterations");
    notes_.push_back({fmt::format("warning: {}", fmt::format(fmt::runtime(text), count)), Note::Warning, indent});
  }

  std::string value(double v) const { return human_value(view_.metric.unit, v); }
  std::string value(const Place& place) const {
    if (place.error <= 0) return value(place.value);
    if (place.value <= 0) return "< " + value(errors_that_hold_nothing * place.error);
    return fmt::format("{} +- {}", value(place.value), value(place.error));
  }
  std::string where(const Place& place) const {
    const std::string iteration = fmt::format("iteration {}", place.iteration);
    return group_.locations.size() == 1 ? iteration : iteration + " of " + report::name_of(*place.location);
  }

  void reconstructed() {
    if (view_.metric.name == "samples" && recorded()) return;
    if (run::is_by_rules(view_.callpath->selection)) return;
    add(
        fmt::format("Reconstructed from {}: what the call path has on average in the iteration's cluster, moved by the "
                    "exact totals of the iteration.",
                    plural(static_cast<std::int64_t>(picture_.clusters), "cluster", "clusters")));
    if (picture_.largest_error > 0 || picture_.largest_unseen > 0) {
      std::string text = "User code is divided as the samples of similar iterations are; standard error up to " +
                         value(picture_.largest_error) + ".";
      if (picture_.largest_unseen > 0)
        text += fmt::format(" 0 means: hit by no sample, less than {} (3/n of its user time).",
                            value(picture_.largest_unseen));
      add(std::move(text));
    }
    if (picture_.in_overflow > 0)
      add(fmt::format("{} in clusters of several classes (overflow): their values are less certain.",
                      plural(picture_.in_overflow, "iteration is", "iterations are")));
    if (picture_.without_cluster > 0)
      add(fmt::format("{} no cluster: they came after the last snapshot{}. They are not shown here.",
                      plural(picture_.without_cluster, "iteration has", "iterations have"),
                      group_.kept_every > 1 ? ", or the one that is kept of their group is a cluster of its own" : ""),
          Note::Warning);
  }

  /// Notes whether samples were recorded in the iterations themselves. True: in every iteration at every location.
  bool recorded() {
    if (!picture_.samples_kept) return false;
    add(picture_.largest_stride > 1
            ? fmt::format("Samples as they were recorded in every iteration, or one in up to {}.",
                          human_count(static_cast<std::int64_t>(picture_.largest_stride)))
            : "Samples as they were recorded in each iteration.");
    return picture_.samples_everywhere;
  }

  const LoopView& view_;
  const LoopGroup& group_;
  const Picture& picture_;
  std::vector<Note> notes_;
};

Chart chart_of(const Document& d, const LoopGroup& group, std::size_t room) {
  const auto iterations = static_cast<std::size_t>(std::max<std::int64_t>(group.iterations, 0));
  Picture picture = take_picture(d, group, std::max<std::size_t>(std::min(room, iterations), 1));
  LoopNotes notes(*d.loops, group, picture);
  Chart chart{.places = group.iterations,
              .all = picture.all,
              .text = [unit = d.loops->metric.unit](double value) { return human_value(unit, value); },
              .before = notes.before(),
              .after = notes.after()};
  chart.bins = std::move(picture.bins);
  for (const LoopPlace& of : group.locations)
    chart.labels.push_back(of.thread == 0 ? fmt::format("{}", of.rank) : fmt::format("{}.{}", of.rank, of.thread));
  return chart;
}

}  // namespace

Table chart_table(const Document& d, const LoopGroup& group) {
  const LoopView& view = *d.loops;
  std::string title = about(group) + ", " + view.metric.name;
  if (view.metric.unit == "s") title += " time";
  if (view.callpath) title += " in " + view.callpath_name;
  return {.name = "iterations",
          .before = {{std::move(title), Note::Strong, 0, true}},
          .chart = [&d, &group](std::size_t room) { return chart_of(d, group, room); }};
}

}  // namespace refrain::report

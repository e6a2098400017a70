// The events that were kept, rank by rank.
#include <algorithm>
#include <fmt/format.h>

#include "offline/report/columns.hpp"
#include "offline/report/events.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/views.hpp"
#include "offline/trace/pairing.hpp"

namespace refrain::report {
namespace {

const char* word_of(format::EventMode mode) {
  switch (mode) {
    case format::EventMode::All: return "all";
    case format::EventMode::List: return "list";
    case format::EventMode::Sampled: return "sampled";
    case format::EventMode::Off: break;
  }
  return "off";
}

/// The events of the chosen ranks.
struct KeptEvents : KeptOfTrace {
  std::shared_ptr<const trace::Trace> trace;  ///< null: there are no events

  explicit KeptEvents(const Document& d)
      : trace(trace::Trace::open(d.experiment, [&](std::int32_t rank) { return d.request.chosen(rank); })) {
    if (trace) KeptOfTrace::operator=(count_kept(*trace));
  }
  bool has_stretches() const {
    return trace && trace->ranks()[0].mode == format::EventMode::Sampled && trace->has_stretches();
  }
  std::uint64_t of_all_ranks() const {
    std::uint64_t least = iterations.empty() ? 0 : iterations[0].count;
    for (const KeptIterations& of : iterations) least = std::min(least, of.count);
    return least;
  }
};

std::int64_t count(std::uint64_t number) { return static_cast<std::int64_t>(number); }

Table messages_table(const trace::MessageCounts& of) {
  std::vector<Column> all = columns("sends, receives, paired");
  Row row{{count(of.sends), count(of.receives), count(of.paired)}};
  for (unsigned i = 0; i < trace::reasons; ++i) {
    all.push_back(
        {trace::name_of(trace::LeftOut{static_cast<std::uint8_t>(i)}), Kind::Count, Everywhere, {}, {"left_out"}});
    row.cells.emplace_back(count(of.left_out[i]));
  }
  return object_of("messages", std::move(all), std::move(row));
}

/// "Messages: 2000 sends, 1998 receives, 1998 pairs; left out: 2 not kept".
std::string line_of_messages(const trace::MessageCounts& of) {
  std::string text =
      fmt::format("Messages: {}, {}, {}", plural(count(of.sends), "send", "sends"),
                  plural(count(of.receives), "receive", "receives"), plural(count(of.paired), "pair", "pairs"));
  const char* separator = "; left out: ";
  for (unsigned i = 0; i < trace::reasons; ++i) {
    if (of.left_out[i] == 0) continue;
    std::string reason = trace::name_of(trace::LeftOut{static_cast<std::uint8_t>(i)});
    std::ranges::replace(reason, '_', ' ');
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), of.left_out[i], reason);
  }
  return text;
}

/// Messages that were sampled one by one because there was no room for iterations.
Table matched_table(const KeptMessages& of) {
  return object_of("matched",
                   columns("level, from_s, entries, paired, alone, lost, late_sender_least_s, late_sender_most_s"),
                   {{count(of.level), static_cast<double>(of.begin_ns) / 1e9, count(of.ends), count(of.paired),
                     count(of.alone), count(of.lost), of.waiting.least_ns / 1e9, of.waiting.most_ns / 1e9}});
}

/// "Single messages, where iterations found no room: one of 16 from 0.012 s on; 1200 pairs, 3 ends alone; ...".
std::string line_of_matched(const KeptMessages& of) {
  std::string text = fmt::format("Single messages, where iterations found no room: {} from {:.3f} s on; {}",
                                 of.level == 0 ? "all" : fmt::format("one of {}", std::int64_t{1} << of.level),
                                 static_cast<double>(of.begin_ns) / 1e9, plural(count(of.paired), "pair", "pairs"));
  if (of.alone > 0) text += fmt::format(", {} alone", plural(count(of.alone), "end", "ends"));
  if (of.lost > 0) text += fmt::format(", {} without a number", count(of.lost));
  return text + fmt::format("; waiting for late senders: {:.3f} to {:.3f} s", of.waiting.least_ns / 1e9,
                            of.waiting.most_ns / 1e9);
}

Cell seconds_of(const std::optional<std::int64_t>& ns) { return ns ? Cell(static_cast<double>(*ns) / 1e9) : Cell(); }

Table by_rank_table(std::shared_ptr<const KeptEvents> kept) {
  return {"by_rank",
          columns("rank, node, events, bytes, iterations_kept: iterations, lost") +
              columns("kept_hash, clock_offset_s", ForPrograms),
          [kept](const TakeRow& take) {
            for (std::size_t i = 0; kept->trace && i < kept->trace->ranks().size(); ++i) {
              const trace::RankOfTrace& rank = kept->trace->ranks()[i];
              std::uint64_t records = 0, lost = 0;
              for (const trace::LocationOfTrace& location : kept->trace->locations())
                if (location.rank == rank.rank) records += location.records, lost += location.lost;
              take({{std::int64_t{rank.rank}, rank.host, count(records), count(rank.bytes),
                     count(kept->iterations[i].count), count(lost), fmt::format("{:016x}", kept->iterations[i].hash),
                     seconds_of(rank.clock_offset_ns)}});
            }
          }};
}

const char* mode_of(const KeptEvents& kept) {
  return word_of(kept.trace ? kept.trace->ranks()[0].mode : format::EventMode::Off);
}

/// Stretches belong to the sample only if no loop was marked.
bool is_counted(const KeptEvents& kept, const std::string& loop) {
  return !loop.empty() && (loop != trace::stretches_loop || kept.trace->has_stretches());
}

/// The level of a sample, which keeps one of 2^level iterations: the highest level of its loops.
std::optional<std::int64_t> level_of(const KeptEvents& kept) {
  if (!kept.trace || kept.trace->ranks()[0].mode != format::EventMode::Sampled) return std::nullopt;
  unsigned highest = 0;
  for (const auto& [loop, level] : kept.trace->levels())
    if (is_counted(kept, loop)) highest = std::max(highest, level);
  return highest;
}

/// "one of 16 iterations of step".
std::string sample_of(const KeptEvents& kept) {
  std::string text;
  for (const auto& [loop, level] : kept.trace->levels()) {
    if (!is_counted(kept, loop)) continue;
    text += text.empty() ? "" : ", ";
    const bool is_loop = loop != trace::stretches_loop;
    text += level == 0 ? "all " : fmt::format("one of {} ", std::int64_t{1} << level);
    text += is_loop ? fmt::format("iterations of {}", loop) : "stretches between collective operations of all ranks";
  }
  return text;
}

/// Iterations that were kept for being slow; some may be in the sample as well.
Table slowest_table(std::shared_ptr<const KeptEvents> kept) {
  return {"slowest", columns("loop, iteration, ranks"), [kept](const TakeRow& take) {
            if (!kept->trace) return;
            const auto all = static_cast<std::int64_t>(kept->trace->ranks().size());
            for (const auto& [iteration, ranks] : kept->trace->slowest())
              take({{iteration.first, iteration.second,
                     kept->trace->is_sampled(iteration.first, iteration.second) ? all : std::int64_t{ranks}}});
          }};
}

Table events_table(const std::shared_ptr<const KeptEvents>& kept) {
  const auto level = level_of(*kept);
  Row row{{mode_of(*kept), level ? Cell(*level) : Cell(), count(kept->of_all_ranks()), Cell(), Cell(), Cell(), Cell(),
           Cell(), Cell()},
          {messages_table(kept->messages), slowest_table(kept), by_rank_table(kept)}};
  if (kept->matched) row.tables.push_back(matched_table(*kept->matched));
  if (kept->has_stretches()) {
    row.cells[3] = count(kept->trace->stretches());
    row.cells[4] = count(kept->trace->stretches_left_out());
  }
  if (kept->trace) {
    const trace::JobClocks& clocks = kept->trace->clocks();
    row.cells[5] = count(clocks.machines());
    if (clocks.uncertainty_ns() >= 0) row.cells[6] = static_cast<double>(clocks.uncertainty_ns()) / 1e9;
    if (clocks.machines() > 1) row.cells[7] = count(clocks.bounds()), row.cells[8] = count(kept->clock_violations);
  }
  return object_of("events",
                   columns("mode, level, iterations_kept, stretches, stretches_left_out, machines, "
                           "clock_uncertainty_s, clock_bounds, clock_violations"),
                   std::move(row));
}

std::vector<Note> notes_on_clocks(const trace::JobClocks& clocks, std::uint64_t violations) {
  if (clocks.machines() < 2) return {};
  if (clocks.uncertainty_ns() < 0)
    return {{fmt::format("The clocks of {} machines were not compared: an event may seem to come before its cause.",
                         clocks.machines())}};
  std::vector<Note> notes{
      {fmt::format("The clocks of {} machines were compared to {:.1f} us, in MPI_Init and in MPI_Finalize.",
                   clocks.machines(), static_cast<double>(clocks.uncertainty_ns()) / 1e3)}};
  if (clocks.bounds() > 0)
    notes.push_back({fmt::format(
        "{} of different machines correct them in between; {} of them are still in the wrong order.",
        plural(static_cast<std::int64_t>(clocks.bounds()), "pair of events", "pairs of events"), violations)});
  return notes;
}

/// The notes in front of the table by rank.
std::vector<Note> notes_on_kept(const KeptEvents& kept) {
  const std::string sample = sample_of(kept);
  const std::int64_t all = count(kept.of_all_ranks());
  constexpr std::size_t indent = 8;
  std::vector<Note> notes{
      {fmt::format("Events: {}{}; {} on every rank", mode_of(kept), sample.empty() ? "" : ", " + sample,
                   kept.has_stretches()
                       ? fmt::format("{} of {}", all, plural(count(kept.trace->stretches()), "stretch", "stretches"))
                       : plural(all, "iteration", "iterations")),
       Note::Plain, indent},
      {line_of_messages(kept.messages), Note::Plain, indent}};
  if (kept.matched) notes.push_back({line_of_matched(*kept.matched), Note::Plain, indent});
  if (const std::uint64_t left_out = kept.trace->stretches_left_out(); left_out > 0)
    notes.push_back({fmt::format("{} left out: not all ranks have called the same collective operations.",
                                 plural(count(left_out), "stretch", "stretches"))});
  for (Note& note : notes_on_clocks(kept.trace->clocks(), kept.clock_violations)) notes.push_back(std::move(note));
  notes.push_back({});
  return notes;
}

}  // namespace

std::vector<Table> events_tables(const Document& d) {
  const auto kept = std::make_shared<const KeptEvents>(d);
  if (d.request.format == Format::Json) return {events_table(kept)};
  Table by_rank = by_rank_table(kept);
  if (d.request.format != Format::Text) return {std::move(by_rank)};
  if (!kept->trace)
    return {Table{.before = {{"No events were kept; REFRAIN_TRACE=all keeps them when the program is measured."}}}};
  by_rank.before = notes_on_kept(*kept);
  by_rank.after = {{}};
  by_rank.footnotes = {
      {"To see them: refrain events EXPERIMENT; for other tools: refrain export EXPERIMENT", Note::Faint}};
  if (kept->trace->slowest().empty()) return {std::move(by_rank)};
  Table slowest = slowest_table(kept);
  slowest.before = {{"The slowest iterations, and how many ranks have kept their events:"}, {}};
  slowest.after = {{}};
  return {std::move(by_rank), std::move(slowest)};
}

}  // namespace refrain::report

#include "offline/findings/sentence.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/human_units.hpp"
#include "offline/analysis/short_names.hpp"

namespace refrain::findings {
namespace {

using analysis::human_count;
using analysis::short_path;

constexpr double whole_percent = 100;

std::string time_text(const Finding& f, Figure figure) { return analysis::human_time(f.figure(figure)); }
std::string percent_text(double share) { return fmt::format("{:.0f} %", whole_percent * share); }

/// "rank 3", "ranks 0-3, 7", "17 ranks".
std::string ranks_text(const Ranks& ranks) {
  constexpr std::size_t most_parts = 4;
  if (ranks.ranges.size() > most_parts) return human_count(ranks.count()) + " ranks";
  return (ranks.count() == 1 ? "rank " : "ranks ") + ranks.text();
}
/// "2nd", "20th".
std::string ordinal_text(std::int64_t number) {
  constexpr std::int64_t ten = 10;
  const bool is_teen = number / ten % ten == 1;
  const char* const ending = is_teen             ? "th"
                             : number % ten == 1 ? "st"
                             : number % ten == 2 ? "nd"
                             : number % ten == 3 ? "rd"
                                                 : "th";
  return fmt::format("{}{}", number, ending);
}

/// "loop step", and how many ranks were read if these are not all: the figures are theirs.
std::string loop_text(const Iterations& of) {
  const std::string name = of.loop.empty() ? "the loop" : "loop " + of.loop;
  if (of.ranks == 0) return name;
  return fmt::format("{} (of {} of its {} ranks)", name, human_count(of.ranks_read), human_count(of.ranks));
}

/// "10, 20, 30, 40, ...".
std::string numbers_text(const Iterations& of) {
  constexpr std::size_t most = 4;
  const auto shown = std::min(of.numbers.size(), most);
  return fmt::format("{}{}", fmt::join(std::span(of.numbers).first(shown), ", "),
                     of.numbers.size() > most ? ", ..." : "");
}

const char* off_cpu_text(OffCpu off_cpu) {
  switch (off_cpu) {
    case OffCpu::WaitedForCore: return "time spent waiting for a core";
    case OffCpu::Blocked: return "time spent blocked (sleep, locks or files)";
    case OffCpu::Either: return "time spent waiting for a core or blocked";
    case OffCpu::Unknown: return "time not on a CPU (a shared core, sleep or files)";
    default: return "";
  }
}

/// "f > g and time spent blocked", "time not on a CPU in f > MPI_Reduce"; "": the cause is not known.
std::string function_text(const Cause& cause) {
  if (cause.is_many) return "many causes";
  std::string text;
  for (const Cause::Part& of : cause.parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", of.function, percent_text(of.share));
  if (!cause.path.empty()) text = short_path(cause.path);
  if (cause.off_cpu == OffCpu::No) return text;
  if (!cause.path.empty() && !cause.is_user) return "time not on a CPU in " + text;
  return text + (text.empty() ? "" : " and ") + off_cpu_text(cause.off_cpu);
}

std::string on_ranks(const Cause& cause) {
  if (cause.ranks.empty()) return cause.is_in_turn ? ", now on one rank and now on another" : "";
  return " on " + ranks_text(cause.ranks) + (cause.is_in_turn ? " in turn" : "");
}

/// ", in f > g on rank 3" for the end of a sentence on what takes longer; "": the cause is not known.
std::string in_text(const Cause& cause) {
  if (!cause.is_known()) return {};
  if (!cause.path.empty() && !cause.is_user) return ", most of that in " + short_path(cause.path);
  if (cause.path.empty() && cause.off_cpu != OffCpu::No)
    return fmt::format("; the difference is {}{}", off_cpu_text(cause.off_cpu), on_ranks(cause));
  return ", in " + function_text(cause) + on_ranks(cause);
}

/// As in_text(), if the sentence has named the ranks already.
std::string because_text(const Cause& cause, const char* in) {
  if (!cause.path.empty()) return cause.is_user ? in + short_path(cause.path) : "";
  return cause.off_cpu == OffCpu::No ? std::string() : fmt::format(", because of {}", off_cpu_text(cause.off_cpu));
}

/// "every 20th iteration of loop step (7, 27, 47, 67, ...)".
std::string single_text(const Iterations& of) {
  if (of.period > 0)
    return fmt::format("every {} iteration of {} ({})", ordinal_text(of.period), loop_text(of), numbers_text(of));
  if (of.count == 1) return fmt::format("iteration {} of {}", numbers_text(of), loop_text(of));
  return fmt::format("{} of {} iterations of {} ({})", human_count(of.count), human_count(of.of), loop_text(of),
                     numbers_text(of));
}

std::string cores_text(const Finding& f, const char* unknown) {
  return f.cores ? analysis::sentence(*f.cores, !f.cores->host.empty()) : unknown;
}

std::string why_no_core(const Finding& f) {
  const std::string held_back =
      f.has(Figure::Throttled) ? "held threads back for " + time_text(f, Figure::Throttled) : "";
  if (f.cores) return ", because " + cores_text(f, "") + (held_back.empty() ? "" : ", which " + held_back);
  return held_back.empty() ? "; other threads or processes had it"
                           : ", because the quota of the control group " + held_back;
}

std::string bounds_text(const Finding& f) {
  const std::string low = fmt::format("{:.0f}", whole_percent * f.figure(Figure::LowShare)),
                    high = percent_text(f.figure(Figure::HighShare));
  return low + " %" == high ? high : low + " to " + high;
}

std::string unseen_text(const Finding& f) {
  std::string text;
  for (const std::string& name : f.names) {
    text += (text.empty() ? "" : ", ") + name;
    if (name == run::no_sample_name) text += ", for which timer ticks came too late or not at all";
    if (name == run::arena_full_name) text += ", for which the call tree had no room (REFRAIN_MEMORY)";
  }
  return text;
}

/// "rank 3 waits in f > MPI_Recv and 2 more call paths".
std::string waiting_text(const Finding& f) {
  std::string text = f.ranks.empty() ? "ranks wait" : ranks_text(f.ranks);
  if (!f.ranks.empty()) text += f.ranks.count() == 1 ? " waits" : " wait";
  if (!f.paths.empty()) text += " in " + short_path(f.paths[0]);
  if (!f.names.empty()) text += " below " + f.names[0];  // call paths that read the same differ there
  if (f.paths.size() > 1)
    text += fmt::format(" and {} more call path{}", f.paths.size() - 1, f.paths.size() == 2 ? "" : "s");
  return text;
}

/// How waiting is known, and what causes it.
std::string about_waiting(const Finding& f) {
  std::string text = f.method == "matched"   ? ", as single messages tell"
                     : f.method == "minimum" ? ", as durations of calls tell"
                                             : "";
  if (f.has(Figure::ToldShare))
    text += fmt::format("; events tell of {} of these calls' time, and {} of that was waiting",
                        percent_text(f.figure(Figure::ToldShare)), percent_text(f.figure(Figure::WaitedShare)));
  if (!f.cause.is_known()) return text;
  if (f.cause.is_many) return text + "; many causes";
  constexpr double nearly_all = 0.95;
  return text + fmt::format("; {}because of {}{}",
                            f.cause.share < nearly_all ? percent_text(f.cause.share) + " of it " : "",
                            function_text(f.cause), on_ranks(f.cause));
}

/// The words of sentences, by their names in the table of rules.
fmt::dynamic_format_arg_store<fmt::format_context> words_of(const Finding& f) {
  fmt::dynamic_format_arg_store<fmt::format_context> words;
  const auto add = [&](const char* name, std::string text) { words.push_back(fmt::arg(name, std::move(text))); };
  const Iterations iterations = f.iterations.value_or(Iterations());
  const bool is_one_rank = f.ranks.count() == 1, is_one = iterations.count == 1 || iterations.period > 0;
  const double ratio = f.figure(Figure::Mean) / f.figure(Figure::Others);
  constexpr double is_large = 9.95;
  const bool is_on_cpu = f.cause.off_cpu == OffCpu::No && f.method != by_user_code;
  add("ranks", ranks_text(f.ranks));
  add("mostly", f.ranks.empty() ? "" : ", mostly on " + ranks_text(f.ranks));
  add("of_rank", f.ranks.empty() ? "" : " of " + ranks_text(f.ranks));
  add("mostly_in", f.paths.empty() ? "" : ", mostly in " + short_path(f.paths[0]));
  add("computes", fmt::format("{}{}", is_on_cpu ? "compute" : "take", is_one_rank ? "s" : ""));
  add("in_user_code", f.method == by_user_code ? " (how much of it on a CPU is not known)" : "");
  add("it", is_one_rank ? "it" : "them");
  for (const auto& [name, figure] : {std::pair("mean", Figure::Mean),
                                     {"others", Figure::Others},
                                     {"low", Figure::Low},
                                     {"high", Figure::High},
                                     {"median", Figure::Median}})
    add(name, time_text(f, figure));
  for (const auto& [name, figure] : {std::pair("count", Figure::Count),
                                     {"bytes", Figure::Bytes},
                                     {"samples", Figure::Samples},
                                     {"thread", Figure::Thread}})
    add(name, human_count(std::llround(f.figure(figure))));
  add("first", human_count(iterations.first));
  add("last", human_count(iterations.last));
  add("loop", loop_text(iterations));
  add("single", single_text(iterations));
  add("take", is_one ? "takes" : "take");
  add("those", is_one ? "it" : "them");
  add("ratio", fmt::format("{:.{}f}", ratio, ratio < is_large ? 1 : 0));
  add("more", f.figure(Figure::High) > f.figure(Figure::Low) ? "more" : "less");
  add("wander", f.has(Figure::LevelLow) ? fmt::format(": their level wanders between {} and {}",
                                                      time_text(f, Figure::LevelLow), time_text(f, Figure::LevelHigh))
                                        : "");
  add("cause", in_text(f.cause));
  add("because", because_text(f.cause, ", mostly in "));
  add("work", percent_text(f.figure(Figure::WorkShare)));
  add("why_no_core", why_no_core(f));
  add("bounds", bounds_text(f));
  add("cores", cores_text(f, "threads share cores, sleep, or read and write files"));
  add("names", unseen_text(f));
  add("wait", waiting_text(f));
  add("about_waiting", about_waiting(f));
  return words;
}

}  // namespace

std::string share_text(const Finding& f) {
  if (!(f.share > 0)) return {};
  constexpr double rounds_to_nothing = 0.0005;
  if (f.error < rounds_to_nothing)
    return fmt::format("{}{:.1f} %", f.error < 0 ? "about " : "", whole_percent * f.share);
  return fmt::format("{:.1f} +- {:.1f} %", whole_percent * f.share, whole_percent * f.error);
}

std::string sentence_of(const Finding& f) {
  std::string text = fmt::vformat(rule_of(f).sentence, words_of(f));
  if (f.has(Figure::Measured)) text += fmt::format("; only {} measured", time_text(f, Figure::Measured));
  return text;
}

std::string line_of(const Finding& f) {
  const std::string share = share_text(f);
  return share.empty() ? sentence_of(f) : share + " of the time: " + sentence_of(f);
}

}  // namespace refrain::findings

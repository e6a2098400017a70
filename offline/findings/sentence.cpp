#include "offline/findings/sentence.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/human_units.hpp"
#include "offline/analysis/short_names.hpp"

namespace refrain::findings {
namespace {

using analysis::human_count;
using analysis::short_path;

constexpr double whole_percent = 100;

std::string time_text(const Finding& f, Figure figure) { return analysis::human_time(f.figure(figure)); }
std::string count_text(const Finding& f, Figure figure) {
  return human_count(static_cast<std::int64_t>(f.figure(figure)));
}
std::string percent_text(double share) { return fmt::format("{:.0f} %", whole_percent * share); }

/// "rank 3", "ranks 0-3, 7", "17 ranks".
std::string ranks_text(const Ranks& ranks) {
  constexpr std::size_t most_parts = 4;
  if (ranks.ranges.size() > most_parts) return human_count(ranks.count()) + " ranks";
  return (ranks.count() == 1 ? "rank " : "ranks ") + ranks.text();
}
/// ", mostly on rank 3".
std::string mostly_text(const Finding& f) { return f.ranks.empty() ? "" : ", mostly on " + ranks_text(f.ranks); }
/// ", mostly in f > g".
std::string mostly_in(const Finding& f) { return f.paths.empty() ? "" : ", mostly in " + short_path(f.paths[0]); }

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

/// "loop step". Where few of many ranks were read, the figures are theirs.
std::string loop_text(const Iterations& of) {
  const std::string name = of.loop.empty() ? "the loop" : "loop " + of.loop;
  if (of.ranks == 0) return name;
  return fmt::format("{} (of {} of its {} ranks)", name, human_count(of.ranks_read), human_count(of.ranks));
}
std::string loop_text(const Finding& f) { return loop_text(f.iterations.value_or(Iterations())); }

/// "10, 20, 30, 40, ...".
std::string numbers_text(const Iterations& of) {
  constexpr std::size_t most = 4;
  const auto shown = std::min(of.numbers.size(), most);
  return fmt::format("{}{}", fmt::join(of.numbers.begin(), of.numbers.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
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

/// "f > g and time spent blocked"; "": it is not known.
std::string function_text(const Cause& cause) {
  if (cause.is_many) return "many causes";
  std::string text;
  for (const Cause::Part& of : cause.parts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", of.function, percent_text(of.share));
  if (!cause.path.empty()) text = short_path(cause.path);
  if (cause.off_cpu == OffCpu::No) return text;
  return text + (text.empty() ? "" : " and ") + off_cpu_text(cause.off_cpu);
}

std::string on_ranks(const Cause& cause) {
  if (cause.ranks.empty()) return cause.is_in_turn ? ", now on one rank and now on another" : "";
  return " on " + ranks_text(cause.ranks) + (cause.is_in_turn ? " in turn" : "");
}

/// ", in f > g on rank 3" for the end of a sentence on what takes longer; "": it is not known.
std::string in_text(const Cause& cause) {
  if (!cause.is_known()) return {};
  if (!cause.path.empty() && !cause.is_user) return ", most of that in " + short_path(cause.path);
  if (cause.path.empty() && cause.off_cpu != OffCpu::No)
    return fmt::format("; the difference is {}{}", off_cpu_text(cause.off_cpu), on_ranks(cause));
  return ", in " + function_text(cause) + on_ranks(cause);
}

/// The same where the ranks are known from the sentence.
std::string because_text(const Cause& cause, const char* in) {
  if (!cause.path.empty()) return cause.is_user ? in + short_path(cause.path) : "";
  return cause.off_cpu == OffCpu::No ? std::string() : fmt::format(", because of {}", off_cpu_text(cause.off_cpu));
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
  std::string text = rule_of(f).say(f);
  if (f.has(Figure::Measured)) text += fmt::format("; only {} measured", time_text(f, Figure::Measured));
  return text;
}

std::string line_of(const Finding& f) {
  const std::string share = share_text(f);
  return share.empty() ? sentence_of(f) : share + " of the time: " + sentence_of(f);
}

namespace say {

std::string late_rank(const Finding& f) {
  const bool is_one = f.ranks.count() == 1;
  // Functions have the time on a CPU, which is a part of that in user code.
  const bool is_on_cpu = f.cause.off_cpu == OffCpu::No;
  Cause where = f.cause;
  where.off_cpu = OffCpu::No;
  return fmt::format("{} {} than the others, {} against their mean of {}{}{}; they wait for {}", ranks_text(f.ranks),
                     is_on_cpu ? is_one ? "computes longer" : "compute longer"
                     : is_one  ? "is longer in user code"
                               : "are longer in user code",
                     time_text(f, Figure::Mean), time_text(f, Figure::Others),
                     is_on_cpu ? "" : " (how much of it on a CPU is not known)", in_text(where),
                     is_one ? "it" : "them");
}

std::string late_for_a_while(const Finding& f) {
  const Iterations of = f.iterations.value_or(Iterations());
  return fmt::format("{} {} longer than the others from about iteration {} to {} of {}, {} each against their mean of {}{}",
                     ranks_text(f.ranks), f.cause.off_cpu == OffCpu::No ? "computes" : "takes", human_count(of.first),
                     human_count(of.last), loop_text(of), time_text(f, Figure::Mean), time_text(f, Figure::Others),
                     because_text(f.cause, ", in "));
}

std::string moving_hot_spot(const Finding& f) {
  return fmt::format("the slowest rank of {} changes as iterations go ({}), and the others wait for it{}", loop_text(f),
                     ranks_text(f.ranks), because_text(f.cause, ", mostly in "));
}

std::string slow_iterations(const Finding& f) {
  const Iterations of = f.iterations.value_or(Iterations());
  const bool is_one = of.count == 1 || of.period > 0;
  std::string which = fmt::format("{} of {} iterations of {} ({})", human_count(of.count), human_count(of.of),
                                  loop_text(of), numbers_text(of));
  if (of.count == 1) which = fmt::format("iteration {} of {}", numbers_text(of), loop_text(of));
  if (of.period > 0)
    which = fmt::format("every {} iteration of {} ({})", ordinal_text(of.period), loop_text(of), numbers_text(of));
  const double ratio = f.figure(Figure::Mean) / f.figure(Figure::Others);
  constexpr double is_large = 9.95;
  return fmt::format("{} take{} {:.{}f} times as long as those around {}, {} instead of {}{}", which, is_one ? "s" : "",
                     ratio, ratio < is_large ? 1 : 0, is_one ? "it" : "them", time_text(f, Figure::Mean),
                     time_text(f, Figure::Others), in_text(f.cause));
}

std::string step_of_iterations(const Finding& f) {
  const Iterations of = f.iterations.value_or(Iterations());
  return fmt::format("from iteration {} on an iteration of {} takes {} instead of {}{}", human_count(of.first),
                     loop_text(of), time_text(f, Figure::Mean), time_text(f, Figure::Others), in_text(f.cause));
}

std::string slow_stretch(const Finding& f) {
  const Iterations of = f.iterations.value_or(Iterations());
  return fmt::format("iterations {} to {} of {} take {}, {} before and afterwards{}", human_count(of.first),
                     human_count(of.last), loop_text(of), time_text(f, Figure::Mean), time_text(f, Figure::Others),
                     in_text(f.cause));
}

std::string growing_iterations(const Finding& f) {
  return fmt::format("an iteration of {} takes ever {} time, from {} in the beginning to {} in the end{}", loop_text(f),
                     f.figure(Figure::High) > f.figure(Figure::Low) ? "more" : "less", time_text(f, Figure::Low),
                     time_text(f, Figure::High), in_text(f.cause));
}

std::string varying_iterations(const Finding& f) {
  std::string text =
      fmt::format("iterations of {} take {} to {}, half of them more than {}", loop_text(f), time_text(f, Figure::Low),
                  time_text(f, Figure::High), time_text(f, Figure::Median));
  if (f.has(Figure::LevelLow))
    text += fmt::format(": their level wanders between {} and {}", time_text(f, Figure::LevelLow),
                        time_text(f, Figure::LevelHigh));
  return text + in_text(f.cause);
}

std::string uneven_threads(const Finding& f) {
  const std::string of_rank = f.ranks.empty() ? "" : " of " + ranks_text(f.ranks);
  return fmt::format("threads of OpenMP have unequal work{}: {} of thread {:.0f}{} against a mean of {}, and the others "
                     "wait for it",
                     mostly_in(f), time_text(f, Figure::Mean), f.figure(Figure::Thread), of_rank,
                     time_text(f, Figure::Others));
}

std::string serial_section(const Finding& f) {
  return fmt::format("the first threads of ranks compute alone, while worker threads of OpenMP have work for {} of their "
                     "time{}",
                     percent_text(f.figure(Figure::WorkShare)), mostly_in(f));
}

std::string waiting_for_core(const Finding& f) {
  std::string text = "user code waited for a core" + mostly_text(f);
  const std::string held_back = time_text(f, Figure::Throttled);
  if (f.cores)
    return text + ", because " + analysis::sentence(*f.cores, !f.cores->host.empty()) +
           (f.has(Figure::Throttled) ? ", which held threads back for " + held_back : "");
  return text + (f.has(Figure::Throttled)
                     ? ", because the quota of the control group held threads back for " + held_back
                     : "; other threads or processes had it");
}

std::string blocked(const Finding& f) {
  return "user code was blocked" + mostly_text(f) + " (sleep, locks, files or page faults)";
}

std::string shared_core(const Finding& f) {
  const std::string low = fmt::format("{:.0f}", whole_percent * f.figure(Figure::LowShare)),
                    high = fmt::format("{:.0f}", whole_percent * f.figure(Figure::HighShare));
  return fmt::format("in user code the program was not on a CPU ({}{} %){}: {}", low, low == high ? "" : " to " + high,
                     mostly_text(f),
                     f.cores ? analysis::sentence(*f.cores, !f.cores->host.empty())
                             : std::string("threads share cores, sleep, or read and write files"));
}

std::string polling(const Finding& f) {
  return fmt::format("polling: {} tests found nothing{}{}", count_text(f, Figure::Count), mostly_in(f), mostly_text(f));
}

std::string small_messages(const Finding& f) {
  return fmt::format("{} messages of {:.0f} B each on average cost at least that in calls alone, without any waiting{}",
                     count_text(f, Figure::Count), f.figure(Figure::Bytes), mostly_in(f));
}

std::string measurement_cost(const Finding& f) {
  return fmt::format("Refrain itself, for {} calls of MPI and {} samples", count_text(f, Figure::Count),
                     count_text(f, Figure::Samples));
}

std::string unseen(const Finding& f) {
  std::string text;
  for (const std::string& name : f.names) {
    text += (text.empty() ? "" : ", ") + name;
    if (name == analysis::no_sample_name) text += ", for which timer ticks came too late or not at all";
    if (name == analysis::arena_full_name) text += ", for which the call tree had no room (REFRAIN_MEMORY)";
  }
  return "of this no call path is known: " + text;
}

std::string waiting(const Finding& f) {
  std::string text = f.ranks.empty()          ? "ranks wait"
                     : f.ranks.count() == 1 ? ranks_text(f.ranks) + " waits"
                                              : ranks_text(f.ranks) + " wait";
  if (f.has(Figure::Thread))
    text = fmt::format("{}, thread {:.0f}, waits", ranks_text(f.ranks), f.figure(Figure::Thread));
  // Call paths that read the same are told apart by the innermost function in which they differ.
  if (!f.paths.empty()) text += " in " + short_path(f.paths[0]);
  if (!f.names.empty()) text += " below " + f.names[0];
  if (f.paths.size() > 1)
    text += fmt::format(" and {} more call path{}", f.paths.size() - 1, f.paths.size() == 2 ? "" : "s");
  text += std::string(" ") + rule_of(f).waits_for;
  if (f.method == "matched") text += ", as single messages tell";
  if (f.method == "minimum") text += ", as durations of calls tell";
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

std::string events_damaged(const Finding&) {
  return "events are damaged: what is said of waiting is of the rest of them";
}
std::string events_not_searched(const Finding&) {
  return "waiting is not known: there are too many events to search them for a page; refrain analyze searches them";
}
std::string not_searched(const Finding&) {
  return "what stands out is not known: the search for it did not come to its end";
}

}  // namespace say
}  // namespace refrain::findings

// The table of rules: those that look at the profile, then those whose findings the search of events makes.
#include <algorithm>

#include "offline/findings/rules_of.hpp"

namespace refrain::findings {
namespace {

constexpr const char* balance = "Give these ranks less work, or move work while the program runs";

constexpr Rule waiting(const char* id, const char* help, const char* sentence) {
  return {id,
          help,
          sentence,
          "--waits",
          "Let the late ranks do less before the call, or work on while messages travel",
          nullptr,
          false,
          true};
}

/// Kinds of waiting have the names of patterns (offline/patterns/waiting.cpp).
constexpr Rule table[] = {
    {"late_rank", "Some ranks compute longer than the others, over the whole run, and in which function",
     "{ranks} {computes} longer than the others, {mean} against their mean of {others}{in_user_code}{cause}; they wait "
     "for {it}",
     "--locations", balance, late_rank},
    {"late_for_a_while", "A rank that computes longer than the others in one part of a loop",
     "{ranks} {computes} longer than the others from about iteration {first} to {last} of {loop}, {mean} each against "
     "their mean of {others}{cause}",
     "--iterations", balance, late_for_a_while, true},
    {"moving_hot_spot", "The slowest rank is another one as the iterations go on",
     "the slowest rank of {loop} changes as iterations go ({ranks}), and the others wait for it{because}",
     "--iterations", "Move work from rank to rank while the program runs", moving_hot_spot, true},
    {"slow_iterations", "Single iterations that take much more than those around them, and how regularly they come",
     "{single} {take} {ratio} times as long as those around {those}, {mean} instead of {others}{cause}", "--iterations",
     "Look for output, checkpoints or remeshing at these iterations", slow_iterations, true},
    {"step_of_iterations", "Another level of time from an iteration on",
     "from iteration {first} on an iteration of {loop} takes {mean} instead of {others}{cause}", "--iterations",
     "Look at what the program, or its data, begins there", step_of_iterations, true},
    {"slow_stretch", "Iterations that follow each other on a higher level of time, and then no more",
     "iterations {first} to {last} of {loop} take {mean}, {others} before and afterwards{cause}", "--iterations",
     "Look at what the program, or the machine, does meanwhile", slow_stretch, true},
    {"growing_iterations", "Iterations that take ever more, or ever less, time",
     "an iteration of {loop} takes ever {more} time, from {low} in the beginning to {high} in the end{cause}",
     "--iterations", "Look for data that only grows: lists, searches, files", growing_iterations, true},
    {"varying_iterations", "Iterations whose times differ much in none of these ways, and where the longer ones are",
     "iterations of {loop} take {low} to {high}, half of them more than {median}{wander}{cause}", "--iterations", "",
     varying_iterations, true},
    {"uneven_threads", "Threads of OpenMP of which some have more work than the others",
     "threads of OpenMP have unequal work{mostly_in}: {mean} of thread {thread}{of_rank} against a mean of {others}, "
     "and the others wait for it",
     "", "Try schedule(dynamic) or smaller pieces of work", uneven_threads},
    {"serial_section", "First threads that compute alone while worker threads of OpenMP wait",
     "the first threads of ranks compute alone, while worker threads of OpenMP have work for {work} of their "
     "time{mostly_in}",
     "--thread 0", "Make this section parallel, too, or use fewer threads and more ranks", serial_section},
    {"waiting_for_core", "Time in which user code was ready to run and had no core",
     "user code waited for a core{mostly}{why_no_core}", "--locations --metric waited_for_core",
     "Use no more ranks and threads than cores, and bind each to its own", waiting_for_core},
    {"blocked", "Time in which user code slept or waited for a lock, a file or a page",
     "user code was blocked{mostly} (sleep, locks, files or page faults)", "--locations --metric blocked", "", blocked},
    {"shared_core", "Time in which user code was not on a CPU, where the causes were not told apart",
     "in user code the program was not on a CPU ({bounds}){mostly}: {cores}", "--locations --metric not_on_cpu", "",
     shared_core},
    {"polling", "Calls that test for messages and find nothing",
     "polling: {count} tests found nothing{mostly_in}{mostly}", "--waits",
     "Do other work between tests, or wait for the message", polling},
    {"small_messages", "So many small messages that their calls cost much without any waiting",
     "{count} messages of {bytes} B each on average cost at least that in calls alone, without any waiting{mostly_in}",
     "--sizes", "Send what goes to one rank in one message", small_messages},
    {"measurement_cost", "Time that the measurement itself has taken",
     "Refrain itself, for {count} calls of MPI and {samples} samples", "--locations",
     "REFRAIN_TRACE=off makes calls cheaper, and a lower REFRAIN_SAMPLING_FREQUENCY samples fewer", measurement_cost},
    {"unseen", "Time of which no call path is known",
     "no call path is known of this part of all threads' time: {names}", "--locations", "", unseen},
    {"events_damaged", "Events that could not be read",
     "events are damaged: what is said of waiting is of the rest of them", "--events", ""},
    {"events_not_searched", "Events that were not searched", "the events were not searched: {names}", "", ""},
    {"analysed_by_another_version", "The search is that of another version of Refrain, which has other rules",
     "analysed by Refrain {names}; refrain analyze --again searches again", "", ""},
    waiting("late_sender", "Receivers wait for senders", "{wait} for late senders{about_waiting}"),
    waiting("late_receiver", "Senders wait for receivers", "{wait} for late receivers{about_waiting}"),
    waiting("wait_at_nxn", "All wait for the last process of an operation of all",
            "{wait} for the last rank{about_waiting}"),
    waiting("wait_at_barrier", "All wait for the last process at a barrier", "{wait} for the last rank{about_waiting}"),
    waiting("wait_at_fence", "All wait for the last process at a fence", "{wait} for the last rank{about_waiting}"),
    waiting("late_broadcast", "Receivers wait for the root", "{wait} for a late root{about_waiting}"),
    waiting("early_reduce", "The root waits for senders", "{wait} for those that send to the root{about_waiting}"),
    waiting("early_scan", "Processes wait for those before them", "{wait} for the ranks before them{about_waiting}"),
    waiting("late_post", "An access waits until its target is exposed",
            "{wait} for late exposures of windows{about_waiting}"),
    waiting("early_wait", "An exposure waits until the last access has ended",
            "{wait} for the last access to a window{about_waiting}"),
    waiting("lock_contention", "A lock waits until another process gives it back",
            "{wait} for locks of windows{about_waiting}"),
    waiting("wait_at_init", "Waiting for the last process to begin",
            "{wait} for the last rank to begin{about_waiting}"),
    waiting("wait_at_finalize", "Waiting for the last process to end",
            "{wait} for the last rank to end{about_waiting}"),
};
constexpr Rule of_plugins = waiting("", "Processes wait for others", "{wait} for others{about_waiting}");

}  // namespace

std::span<const Rule> rules() { return table; }

const Rule& rule_of(const Finding& finding) {
  const auto at = std::ranges::find_if(table, [&](const Rule& rule) { return finding.rule == rule.id; });
  return at == std::end(table) ? of_plugins : *at;
}

bool is_waiting(const Finding& finding) { return rule_of(finding).is_waiting; }

}  // namespace refrain::findings

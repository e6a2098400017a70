// The one table of rules: those that look at the profile, then what the search of events finds.
#include <algorithm>

#include "offline/findings/rules_of.hpp"
#include "offline/findings/sentence.hpp"

namespace refrain::findings {

std::span<const Rule> rules() {
  constexpr const char *balance = "Give these ranks less work, or move work while the program runs",
                       *wait_less = "Let the late ranks do less before the call, or work on while messages travel";
  static constexpr Rule table[] = {
      {"late_rank", "Some ranks compute longer than the others, over the whole run, and in which function",
       "--locations", balance, say::late_rank, late_rank},
      {"late_for_a_while", "A rank that computes longer than the others in one part of a loop", "--iterations", balance,
       say::late_for_a_while, late_for_a_while, true},
      {"moving_hot_spot", "The slowest rank is another one as the iterations go on", "--iterations",
       "Move work from rank to rank while the program runs", say::moving_hot_spot, moving_hot_spot, true},
      {"slow_iterations", "Single iterations that take much more than those around them, and how regularly they come",
       "--iterations", "Look for output, checkpoints or remeshing at these iterations", say::slow_iterations,
       slow_iterations, true},
      {"step_of_iterations", "Another level of time from an iteration on", "--iterations",
       "Look at what the program, or its data, begins there", say::step_of_iterations, step_of_iterations, true},
      {"slow_stretch", "Iterations that follow each other on a higher level of time, and then no more", "--iterations",
       "Look at what the program, or the machine, does meanwhile", say::slow_stretch, slow_stretch, true},
      {"growing_iterations", "Iterations that take ever more, or ever less, time", "--iterations",
       "Look for data that only grows: lists, searches, files", say::growing_iterations, growing_iterations, true},
      {"varying_iterations",
       "Iterations whose times differ much in none of these ways, and where the longer ones are", "--iterations", "",
       say::varying_iterations, varying_iterations, true},
      {"uneven_threads", "Threads of OpenMP of which some have more work than the others", "",
       "Try schedule(dynamic) or smaller pieces of work", say::uneven_threads, uneven_threads},
      {"serial_section", "First threads that compute alone while worker threads of OpenMP wait", "--thread 0",
       "Make this section parallel, too, or use fewer threads and more ranks", say::serial_section, serial_section},
      {"waiting_for_core", "Time in which user code was ready to run and had no core",
       "--locations --metric waited_for_core", "Use no more ranks and threads than cores, and bind each to its own",
       say::waiting_for_core, waiting_for_core},
      {"blocked", "Time in which user code slept or waited for a lock, a file or a page", "--locations --metric blocked",
       "", say::blocked, blocked},
      {"shared_core", "Time in which user code was not on a CPU, where the causes were not told apart",
       "--locations --metric not_on_cpu", "", say::shared_core, shared_core},
      {"polling", "Calls that test for messages and find nothing", "--waits",
       "Do other work between tests, or wait for the message", say::polling, polling},
      {"small_messages", "So many small messages that their calls cost much without any waiting", "--sizes",
       "Send what goes to one rank in one message", say::small_messages, small_messages},
      {"measurement_cost", "Time that the measurement itself has taken", "--locations",
       "REFRAIN_TRACE=off makes calls cheaper, and a lower REFRAIN_SAMPLING_FREQUENCY samples fewer",
       say::measurement_cost, measurement_cost},
      {"unseen", "Time of which no call path is known", "--locations", "", say::unseen, unseen},
      // What events tell. Kinds of waiting have the names of patterns (offline/patterns/waiting.cpp).
      {"events_damaged", "Events that could not be read", "--events", "", say::events_damaged},
      {"events_not_searched", "There are too many events to search them for a page", "", "", say::events_not_searched},
      {"not_searched", "The search for findings did not come to its end", "", "", say::not_searched},
      {"late_sender", "Receivers wait for senders", "--waits", wait_less, say::waiting, nullptr, false,
       "for late senders"},
      {"late_receiver", "Senders wait for receivers", "--waits", wait_less, say::waiting, nullptr, false,
       "for late receivers"},
      {"wait_at_nxn", "All wait for the last process of an operation of all", "--waits", wait_less, say::waiting,
       nullptr, false, "for the last rank"},
      {"wait_at_barrier", "All wait for the last process at a barrier", "--waits", wait_less, say::waiting, nullptr,
       false, "for the last rank"},
      {"wait_at_fence", "All wait for the last process at a fence", "--waits", wait_less, say::waiting, nullptr, false,
       "for the last rank"},
      {"late_broadcast", "Receivers wait for the root", "--waits", wait_less, say::waiting, nullptr, false,
       "for a late root"},
      {"early_reduce", "The root waits for senders", "--waits", wait_less, say::waiting, nullptr, false,
       "for those that send to the root"},
      {"early_scan", "Processes wait for those before them", "--waits", wait_less, say::waiting, nullptr, false,
       "for the ranks before them"},
      {"late_post", "An access waits until its target is exposed", "--waits", wait_less, say::waiting, nullptr, false,
       "for late exposures of windows"},
      {"early_wait", "An exposure waits until the last access has ended", "--waits", wait_less, say::waiting, nullptr,
       false, "for the last access to a window"},
      {"lock_contention", "A lock waits until another process gives it back", "--waits",
       "Hold locks for less time, or lock fewer targets", say::waiting, nullptr, false, "for locks of windows"},
      {"wait_at_init", "Waiting for the last process to begin", "--waits", "", say::waiting, nullptr, false,
       "for the last rank to begin"},
      {"wait_at_finalize", "Waiting for the last process to end", "--waits", "", say::waiting, nullptr, false,
       "for the last rank to end"}};
  return table;
}

const Rule& rule_of(const Finding& finding) {
  static constexpr Rule of_plugins{"", "Processes wait for others", "--waits", "", say::waiting, nullptr, false,
                                   "for others"};
  const auto at = std::ranges::find_if(rules(), [&](const Rule& rule) { return finding.rule == rule.id; });
  return at == rules().end() ? of_plugins : *at;
}

bool is_waiting(const Finding& finding) { return *rule_of(finding).waits_for != '\0'; }

}  // namespace refrain::findings

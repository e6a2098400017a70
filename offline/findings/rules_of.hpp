#pragma once
/// The rules, in one file for each kind of cause.

#include "offline/findings/facts.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// Findings with a smaller share are not reported.
inline constexpr double least_share = 0.03;
/// The cost of messages up to this size is their number: SmallMessage of offline/properties/library.asl.
inline constexpr double small_message_bytes = 1024;

// iterations.cpp
/// Seconds of one rank as a share of the time of all ranks.
double share_of(const Facts& facts, const LoopFacts& loop, double seconds);
/// A finding on all iterations of a loop that costs one rank this many seconds.
Finding finding_of(const Facts& facts, const LoopFacts& loop, double seconds, double error_s);
void slow_iterations(const Facts& facts, std::vector<Finding>& found);
void step_of_iterations(const Facts& facts, std::vector<Finding>& found);
void slow_stretch(const Facts& facts, std::vector<Finding>& found);
void growing_iterations(const Facts& facts, std::vector<Finding>& found);
void varying_iterations(const Facts& facts, std::vector<Finding>& found);
// loop_ranks.cpp
void late_for_a_while(const Facts& facts, std::vector<Finding>& found);
void moving_hot_spot(const Facts& facts, std::vector<Finding>& found);
// ranks.cpp
void late_rank(const Facts& facts, std::vector<Finding>& found);
void waiting_for_core(const Facts& facts, std::vector<Finding>& found);
void blocked(const Facts& facts, std::vector<Finding>& found);
void shared_core(const Facts& facts, std::vector<Finding>& found);
// threads.cpp
void uneven_threads(const Facts& facts, std::vector<Finding>& found);
void serial_section(const Facts& facts, std::vector<Finding>& found);
// calls.cpp
void polling(const Facts& facts, std::vector<Finding>& found);
void small_messages(const Facts& facts, std::vector<Finding>& found);
void measurement_cost(const Facts& facts, std::vector<Finding>& found);
void unseen(const Facts& facts, std::vector<Finding>& found);

}  // namespace refrain::findings

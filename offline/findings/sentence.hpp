#pragma once
/// The one printer of findings: English of a record.

#include <string>

#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// "rank 3 computes longer than the others, ...": one sentence, without the share and without an end.
std::string sentence_of(const Finding& finding);
/// "12.3 +- 0.4 %"; "": it is no cost.
std::string share_text(const Finding& finding);
/// "12.3 +- 0.4 % of the time: rank 3 computes longer than the others, ...".
std::string line_of(const Finding& finding);

/// One for each rule of the table.
namespace say {
std::string late_rank(const Finding& f);
std::string late_for_a_while(const Finding& f);
std::string moving_hot_spot(const Finding& f);
std::string slow_iterations(const Finding& f);
std::string step_of_iterations(const Finding& f);
std::string slow_stretch(const Finding& f);
std::string growing_iterations(const Finding& f);
std::string varying_iterations(const Finding& f);
std::string uneven_threads(const Finding& f);
std::string serial_section(const Finding& f);
std::string waiting_for_core(const Finding& f);
std::string blocked(const Finding& f);
std::string shared_core(const Finding& f);
std::string polling(const Finding& f);
std::string small_messages(const Finding& f);
std::string measurement_cost(const Finding& f);
std::string unseen(const Finding& f);
std::string waiting(const Finding& f);
std::string events_damaged(const Finding& f);
std::string events_not_searched(const Finding& f);
std::string not_searched(const Finding& f);
}  // namespace say

}  // namespace refrain::findings

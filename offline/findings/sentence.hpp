#pragma once
/// Prints findings: turns a record into English by the sentence of its rule in the table.

#include <string>

#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// "rank 3 computes longer than the others, ...": one sentence, without the share and without an end.
std::string sentence_of(const Finding& finding);
/// "12.3 +- 0.4 %"; "": a finding without cost.
std::string share_text(const Finding& finding);
/// "12.3 +- 0.4 % of the time: rank 3 computes longer than the others, ...".
std::string line_of(const Finding& finding);

}  // namespace refrain::findings

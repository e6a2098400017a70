#pragma once
/// The one printer of findings: English of a record, by the sentence that its rule has in the table.

#include <string>

#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// "rank 3 computes longer than the others, ...": one sentence, without the share and without an end.
std::string sentence_of(const Finding& finding);
/// "12.3 +- 0.4 %"; "": it is no cost.
std::string share_text(const Finding& finding);
/// "12.3 +- 0.4 % of the time: rank 3 computes longer than the others, ...".
std::string line_of(const Finding& finding);

}  // namespace refrain::findings

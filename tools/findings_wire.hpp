#pragma once
/// What the process that searches an experiment tells the one that has started it: lines, each a letter and what it
/// stands for.

#include <string>
#include <vector>

#include "tools/first_findings.hpp"

namespace refrain::tools {

std::string wire_of(const findings::Finding& finding);
/// `by_rank`: with what each rank has waited.
std::string wire_of(const report::PathWaits& waits, bool by_rank);
std::string wire_of(const report::EventTraffic& traffic);

std::string wire_of_step(Step done);

/// The last of those that lines tell.
Step last_step(const std::vector<std::string>& lines);
/// A line of these, without its end. One that is none of them says nothing.
void take_line(const std::string& line, FirstFindings& findings);

}  // namespace refrain::tools

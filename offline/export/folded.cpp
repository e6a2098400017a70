/// Folded stacks, as Brendan Gregg's flamegraph.pl reads them: "main;solve;MPI_Wait 1234", a line for each call path
/// that has exclusive wall time, in whole microseconds. Readers silently ignore lines of any other form, so there is no
/// comment.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "offline/experiment/clean_text.hpp"
#include "offline/export/formats.hpp"

namespace refrain::exports {
namespace {

/// The name without semicolons, and without U+2028 and U+2029, which end lines for readers in JavaScript.
std::string name_in_stack(const std::string& name) {
  std::string text = experiment::clean_text(name);
  std::ranges::replace(text, ';', ',');
  for (const std::string_view separator : {"\xe2\x80\xa8", "\xe2\x80\xa9"})
    experiment::replace_all(text, separator, " ");
  return text;
}

}  // namespace

void write_folded(Run& run, OutputFile& out) {
  const std::size_t wall = run.metric(wall_metric).value();
  const std::vector<double> seconds = sums_of(run, 0, run.locations().size(), {&wall, 1});
  std::string stack;                // of the node and those above it
  std::vector<std::size_t> length;  // of the stack of each node
  for (std::size_t node = 0; node < seconds.size(); ++node) {
    const RunNode& of = run.nodes()[node];
    stack.resize(of.parent < 0 ? 0 : length[static_cast<std::size_t>(of.parent)]);
    if (of.parent >= 0) stack += ';';
    stack += name_in_stack(of.name);
    length.push_back(stack.size());
    if (const long long us = std::llround(seconds[node] * 1e6); us > 0) out.write(fmt::format("{} {}\n", stack, us));
  }
}

}  // namespace refrain::exports

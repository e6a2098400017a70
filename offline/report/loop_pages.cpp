#include "offline/report/loop_pages.hpp"

#include <fmt/format.h>

#include "offline/report/text_page.hpp"

namespace refrain::report {
namespace {

class LoopsText : TextPage {
 public:
  explicit LoopsText(const Terminal& terminal) : TextPage(terminal) {}

  std::string of(const Document& document) {
    warnings(document);
    heading(document);
    const Options& options = document.options;
    const LoopView& view = *document.loops;
    bool first = true;
    for (const LoopGroup& group : view.groups) {
      if (!first) line();
      first = false;
      if (options.iterations) out_ += graphs_text(view, group, terminal_);
      if (options.iterations && options.clusters) line();
      if (options.clusters) out_ += clusters_text(document, group, terminal_);
    }
    return std::move(out_);
  }
};

}  // namespace

std::string about(const LoopGroup& group) {
  bool threads = false;
  for (const auto& of : group.locations) threads |= of.location->thread != 0;
  const auto count = static_cast<std::int64_t>(group.locations.size());
  const std::string loop = fmt::format("loop {}: {}", group.name, plural(group.iterations, "iteration", "iterations"));
  if (count == 1) return loop;  // the heading says of what, and a program without MPI has no ranks
  return fmt::format("{} on {}", loop, plural(count, threads ? "thread" : "rank", threads ? "threads" : "ranks"));
}

std::string loops_text(const Document& document, const Terminal& terminal) { return LoopsText(terminal).of(document); }

}  // namespace refrain::report

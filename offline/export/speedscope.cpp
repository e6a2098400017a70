/// The file format of speedscope (jlfwong/speedscope, src/lib/file-format-spec.ts): "sampled" profiles, whose stacks go
/// from the root to the leaf and whose weights are whole nanoseconds of wall time. The sum over all ranks comes first.

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/export/formats.hpp"
#include "offline/report/json_writer.hpp"

namespace refrain::exports {
namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(Run& run, OutputFile& out)
      : run_(run),
        json_([&out](std::string_view text) { out.write(text); }, 2),
        wall_(run.metric(wall_metric).value()) {}

  void write() {
    json_.object([&] {
      json_.member("$schema", "https://www.speedscope.app/file-format-schema.json");
      json_.member("exporter", run_.facts().creator + ", schema 1");
      json_.member("name", run_.facts().program);
      json_.member("activeProfileIndex", 0);
      json_.member_object("shared", [&] { json_.member_array("frames", [&] { write_frames(); }); });
      json_.member_array("profiles", [&] {
        const std::size_t all = run_.locations().size();
        write_profile("all ranks", 0, all);
        for (std::size_t first = 0; first < all;) {
          const std::size_t end = end_of_rank(run_, first);
          write_profile(fmt::format("rank {}", run_.locations()[first].rank), first, end);
          first = end;
        }
      });
    });
    json_.end_document();
  }

 private:
  void write_frames() {
    std::map<std::string_view, std::size_t> frames;
    for (const RunNode& node : run_.nodes()) {
      const auto [at, is_new] = frames.try_emplace(node.name, frames.size());
      frame_of_.push_back(at->second);
      if (is_new) json_.object([&] { json_.member("name", node.name); });
    }
  }

  void write_profile(const std::string& name, std::size_t first, std::size_t end) {
    const std::vector<double> seconds = sums_of(run_, first, end, {&wall_, 1});
    std::vector<std::uint32_t> nodes;
    std::vector<std::int64_t> weights;
    std::int64_t sum = 0;
    for (std::uint32_t node = 0; node < seconds.size(); ++node)
      if (const std::int64_t ns = std::llround(seconds[node] * 1e9); ns > 0) {
        nodes.push_back(node);
        weights.push_back(ns);
        sum += ns;
      }
    json_.object([&] {
      json_.member("type", "sampled");
      json_.member("name", name);
      json_.member("unit", "nanoseconds");
      json_.member("startValue", 0);
      json_.member("endValue", sum);
      json_.member_array("samples", [&] {
        for (const std::uint32_t node : nodes) json_.value(stack_of(node));
      });
      json_.member("weights", weights);
    });
  }

  std::vector<std::size_t> stack_of(std::uint32_t node) const {
    std::vector<std::size_t> stack;
    for (auto at = static_cast<std::int32_t>(node); at >= 0; at = run_.nodes()[static_cast<std::size_t>(at)].parent)
      stack.push_back(frame_of_[static_cast<std::size_t>(at)]);
    return {stack.rbegin(), stack.rend()};
  }

  Run& run_;
  report::JsonWriter json_;
  std::size_t wall_;
  std::vector<std::size_t> frame_of_;  ///< by node
};

}  // namespace

void write_speedscope(Run& run, OutputFile& out) { SpeedscopeWriter(run, out).write(); }

}  // namespace refrain::exports

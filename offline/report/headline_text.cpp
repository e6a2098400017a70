#include "offline/report/headline_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/short_names.hpp"
#include "offline/patterns/headlines.hpp"
#include "offline/report/patterns_view.hpp"

namespace refrain::report {
namespace {

using analysis::short_path;

std::string activity_text(const patterns::CauseResult& of, const patterns::Naming& naming) {
  const auto path = [&](const std::optional<std::uint32_t>& node) {
    return node ? short_path(naming.names_of(*node)) : std::string("the begin");
  };
  if (of.activity.is_call) return path(of.activity.before);
  if (const auto function = patterns::main_function(of, naming); !function.empty()) return short_path(function);
  return fmt::format("computation between {} and {}", path(of.activity.before), path(of.activity.after));
}

std::string text_of(const patterns::Headline& of, const trace::Trace& trace, const patterns::Naming& naming) {
  constexpr double half = 0.5;
  std::string pattern = of.pattern;
  std::ranges::replace(pattern, '_', ' ');
  std::string line = fmt::format("{} in {}", pattern, short_path(naming.names_of(of.node)));
  if (of.location) line += fmt::format(", mostly on {}", place_of(trace.locations()[*of.location]));
  if (!of.cause) return line;
  const std::string part =
      of.cause_share < half ? fmt::format("caused for {:.0f} % by", 100 * of.cause_share) : std::string("caused by");
  return line + fmt::format("; {} {} on {}", part, activity_text(*of.cause, naming),
                            place_of(trace.locations()[of.cause->activity.location]));
}

}  // namespace

std::vector<findings::Finding> findings_of(const patterns::Analysis& analysis, const trace::Trace& trace,
                                           const patterns::Naming& naming, double elapsed_s) {
  std::vector<findings::Finding> all;
  for (const patterns::Headline& of : analysis.headlines)
    all.push_back({.rule = of.pattern,
                   .share = of.severity.ns / 1e9 / elapsed_s,
                   .error = std::max(of.severity.error_ns, 0.0) / 1e9 / elapsed_s,
                   .text = text_of(of, trace, naming),
                   .more = {"--waits"}});
  return all;
}

}  // namespace refrain::report

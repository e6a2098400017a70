#include "offline/report/headline_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/patterns/headlines.hpp"
#include "offline/report/patterns_view.hpp"

namespace refrain::report {
namespace {

using analysis::short_path;

/// Of a computation the function that takes most of it. Time that was not on a CPU has no call path: it may be that
/// function's, too.
std::string function_text(const patterns::CauseResult& of, const patterns::Naming& naming) {
  constexpr double worth_a_word = 0.25;
  patterns::CauseResult on_cpu = of;
  double all_ns = 0, not_on_cpu_ns = 0;
  std::erase_if(on_cpu.by_node, [&](const auto& row) {
    const auto names = naming.names_of(row.node);
    const bool is_not_on_cpu = names.size() == 1 && names[0] == analysis::not_on_cpu_name;
    all_ns += row.severity.ns;
    if (is_not_on_cpu) not_on_cpu_ns += row.severity.ns;
    return is_not_on_cpu;
  });
  const auto function = main_function(on_cpu, naming);
  const bool has_function = !function.empty() && all_ns - not_on_cpu_ns >= worth_a_word * all_ns,
             has_other = not_on_cpu_ns >= worth_a_word * all_ns && not_on_cpu_ns > 0;
  constexpr const char* other = "time not on a CPU";
  if (has_function) return short_path(function) + (has_other ? std::string(" and ") + other : "");
  return has_other ? other : std::string();
}

std::string activity_text(const patterns::CauseResult& of, const patterns::Naming& naming) {
  const auto path = [&](const std::optional<std::uint32_t>& node) {
    return node ? short_path(naming.names_of(*node)) : std::string("the begin");
  };
  if (of.activity.is_call) return path(of.activity.before);
  if (std::string text = function_text(of, naming); !text.empty()) return text;
  return fmt::format("computation between {} and {}", path(of.activity.before), path(of.activity.after));
}

std::string text_of(const patterns::Headline& of, const trace::Trace& trace, const patterns::Naming& naming) {
  constexpr double nearly_all = 0.75;
  std::string pattern = of.pattern;
  std::ranges::replace(pattern, '_', ' ');
  std::string line = fmt::format("{} in {}", pattern, short_path(naming.names_of(of.node)));
  if (of.others > 0) line += fmt::format(" and {} more call path{}", of.others, of.others == 1 ? "" : "s");
  if (of.location) line += fmt::format(", mostly on {}", place_of(trace.locations()[*of.location]));
  if (!of.cause) return line;
  const std::string part = of.cause_share < nearly_all ? fmt::format("caused for {:.0f} % by", 100 * of.cause_share)
                                                       : std::string("caused by");
  return line + fmt::format("; {} {} on {}", part, activity_text(*of.cause, naming),
                            place_of(trace.locations()[of.cause->activity.location]));
}

}  // namespace

std::vector<findings::Finding> findings_of(const patterns::Analysis& analysis, const trace::Trace& trace,
                                           const patterns::Naming& naming, double elapsed_s) {
  std::vector<findings::Finding> all;
  for (const patterns::Headline& of : analysis.headlines) {
    findings::Finding finding{.rule = of.pattern,
                              .share = of.severity.ns / 1e9 / elapsed_s,
                              .error = of.severity.error_ns / 1e9 / elapsed_s,
                              .text = text_of(of, trace, naming),
                              .more = {"--waits"}};
    if (is_certain(finding)) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace refrain::report

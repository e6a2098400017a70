#include "offline/report/headline_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

#include "offline/patterns/headlines.hpp"
#include "offline/report/patterns_view.hpp"

namespace refrain::report {
namespace {

/// Of C++ without arguments, those of templates, and what stands before the name: "void a<int>::f<int>(int) const" is
/// "a::f". What is not understood stays.
std::string short_name(const std::string& name) {
  static const std::string unnamed = "(anonymous namespace)";
  if (name.starts_with('(') || name.find("operator") != std::string::npos) return name;
  std::string text;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (depth == 0 && name.compare(i, unnamed.size(), unnamed) == 0) {
      text += "{}";
      i += unnamed.size() - 1;
      continue;
    }
    const char c = name[i];
    if (c == '(' && depth == 0 && !text.empty()) break;
    if (c == '<') ++depth;
    else if (c == '>') --depth;
    else if (depth == 0) text += c;
    if (depth < 0) return name;
  }
  text = text.substr(text.rfind(' ') + 1);
  return depth != 0 || text.empty() ? name : text;
}

/// Its last names tell most; one that calls itself is told once.
std::string short_path(std::span<const std::string> names) {
  constexpr std::size_t most = 2;
  std::vector<std::string> path;
  for (const std::string& name : names)
    if (const std::string text = short_name(name); path.empty() || path.back() != text) path.push_back(text);
  if (path.empty()) return "(unknown)";
  return fmt::format("{}", fmt::join(std::span(path).last(std::min(path.size(), most)), " > "));
}

std::string activity_text(const patterns::CauseResult& of, const patterns::Naming& naming) {
  const auto path = [&](const std::optional<std::uint32_t>& node) {
    return node ? short_path(naming.names_of(*node)) : std::string("the begin");
  };
  if (of.activity.is_call) return path(of.activity.before);
  if (const auto function = patterns::main_function(of, naming); !function.empty()) return short_path(function);
  return fmt::format("computation between {} and {}", path(of.activity.before), path(of.activity.after));
}

std::string line_of(const patterns::Headline& of, const patterns::Analysis& analysis, const trace::Trace& trace,
                    const patterns::Naming& naming) {
  constexpr double half = 0.5;
  const double percent = 100 / analysis.total_ns;
  std::string pattern = of.pattern;
  std::ranges::replace(pattern, '_', ' ');
  std::string line = fmt::format("{:.1f}", percent * of.severity.ns);
  if (of.severity.error_ns > 0) line += fmt::format(" +- {:.1f}", percent * of.severity.error_ns);
  line += fmt::format(" % of the time: {} in {}", pattern, short_path(naming.names_of(of.node)));
  if (of.location) line += fmt::format(", mostly on {}", place_of(trace.locations()[*of.location]));
  if (!of.cause) return line;
  const std::string part =
      of.cause_share < half ? fmt::format("caused for {:.0f} % by", 100 * of.cause_share) : std::string("caused by");
  return line + fmt::format("; {} {} on {}", part, activity_text(*of.cause, naming),
                            place_of(trace.locations()[of.cause->activity.location]));
}

}  // namespace

std::vector<std::string> headline_lines(const patterns::Analysis& analysis, const trace::Trace& trace,
                                        const patterns::Naming& naming) {
  std::vector<std::string> lines;
  for (const patterns::Headline& of : analysis.headlines) lines.push_back(line_of(of, analysis, trace, naming));
  return lines;
}

}  // namespace refrain::report

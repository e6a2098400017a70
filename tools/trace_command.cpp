#include "tools/trace_command.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "offline/report/report.hpp"
#include "tools/complaints.hpp"
#include "tools/exit_codes.hpp"
#include "tools/rank_list.hpp"

namespace refrain::tools {
namespace {

using Use = std::function<void(const trace::Trace& trace)>;

void check_ranks_of_archive(const trace::Trace& trace, const std::vector<std::int32_t>& wanted) {
  for (const std::int32_t rank : wanted)
    if (std::ranges::find(trace.ranks(), rank, &trace::RankOfTrace::rank) == trace.ranks().end())
      throw report::UsageError(fmt::format("--rank {}: the archive has no such rank", rank));
}

void tell_left_out(const char* command, const trace::Otf2Archive& archive) {
  std::string kinds;
  for (const auto& [kind, records] : archive.left_out())
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", records, kind);
  if (!kinds.empty()) complain(command, exit_ok, "not shown, since Refrain has no word for them: " + kinds);
}

int with_experiment(const char* command, const std::string& path, const std::vector<std::string>& ranks, const Use& use,
                    const std::optional<trace::AsSampled>& as = std::nullopt) {
  report::Request chosen;
  chosen.ranks = parse_ranks(ranks);
  const auto opened = experiment::Experiment::open(path);
  report::check_ranks(*opened, chosen.ranks);
  const auto trace = trace::Trace::open(
      opened, [&](std::int32_t rank) { return chosen.chosen(rank); }, as);
  if (!trace && opened->damage_log()->count() > 0) {
    tell_damage(command, *opened->damage_log());
    return complain(command, exit_unreadable, path + ": no events can be read");
  }
  if (!trace)
    return complain(command, exit_usage, path + " has no events; REFRAIN_TRACE=all keeps them when it is measured");
  use(*trace);
  return tell_damage(command, *opened->damage_log());
}

int with_archive(const char* command, const std::filesystem::path& anchor, const std::vector<std::string>& ranks,
                 const Use& use) {
  report::Request chosen;
  chosen.ranks = parse_ranks(ranks);
  const auto trace = trace::Trace::open_archive(anchor, [&](std::int32_t rank) { return chosen.chosen(rank); });
  check_ranks_of_archive(*trace, chosen.ranks);
  use(*trace);
  tell_left_out(command, *trace->archive());
  return tell_damage(command, trace->damage());
}

}  // namespace

int with_trace(const char* command, const std::string& experiment, const std::vector<std::string>& ranks,
               const Use& use) {
  return guarded(command, [&] {
    if (is_archive(command, experiment)) return exit_usage;
    return with_experiment(command, experiment, ranks, use);
  });
}

int with_trace_or_archive(const char* command, const std::string& path, const std::vector<std::string>& ranks,
                          const Use& use, const std::optional<trace::AsSampled>& as) {
  return guarded(command, [&] {
    const auto anchor = trace::find_otf2_anchor(path);
    if (anchor && as) throw report::UsageError(path + " is an OTF2 archive; only experiments can be sampled");
    return anchor ? with_archive(command, *anchor, ranks, use) : with_experiment(command, path, ranks, use, as);
  });
}

bool is_archive(const char* command, const std::string& path) {
  if (!trace::find_otf2_anchor(path)) return false;
  complain(command, exit_usage,
           fmt::format("{} is an OTF2 archive; {} needs an experiment, refrain events shows both", path, command));
  return true;
}

std::string wrong_as_amount(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && value >= 0 && std::isfinite(value) ? ""
                                                                                   : "must be a number of 0 or more";
}

}  // namespace refrain::tools

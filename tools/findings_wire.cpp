#include "tools/findings_wire.hpp"

#include <fmt/format.h>
#include <sstream>

#include "offline/findings/record.hpp"

namespace refrain::tools {
namespace {

/// "path seconds error seen known matched error messages of_senders [kind]", where matched is below 0 when
/// there is none.
void take_wait(const std::string& text, report::PathWaits& waits) {
  report::PathWaits::Of of{};
  report::PathWaits::Of::Matched matched{};
  std::istringstream words(text);
  if (!(words >> of.path >> of.seconds >> of.error_s >> of.seen_s >> of.known_s >> matched.seconds >> matched.error_s >>
        matched.messages))
    return;
  words >> matched.is_late_receiver >> of.kind;
  if (matched.seconds >= 0) of.matched = matched;
  waits.paths.push_back(of);
}

/// "rank seconds", of the call path before it.
void take_wait_of_rank(const std::string& text, report::PathWaits& waits) {
  std::int32_t rank = 0;
  double seconds = 0;
  if (!waits.paths.empty() && std::istringstream(text) >> rank >> seconds) waits.paths.back().by_rank[rank] = seconds;
}

}  // namespace

std::string wire_of(const findings::Finding& of) { return "F " + to_line(of) + "\n"; }

std::string wire_of(const report::PathWaits& waits, bool by_rank) {
  std::string text = fmt::format("{} {}\n", waits.is_sampled ? 'S' : 'E', waits.confidence);
  for (const report::PathWaits::Of& of : waits.paths) {
    const auto matched = of.matched.value_or(report::PathWaits::Of::Matched{-1, 0, 0, false});
    text += fmt::format("W {} {} {} {} {} {} {} {} {:d} {}\n", of.path, of.seconds, of.error_s, of.seen_s, of.known_s,
                        matched.seconds, matched.error_s, matched.messages, matched.is_late_receiver, of.kind);
    if (!by_rank) continue;
    for (const auto& [rank, seconds] : of.by_rank) text += fmt::format("R {} {}\n", rank, seconds);
  }
  return text;
}

std::string wire_of(const report::EventTraffic& traffic) {
  std::string text = "T\n";
  for (const auto& of : traffic.partners) text += fmt::format("P {} {} {}\n", of.path, of.fewest, of.most);
  for (const auto& of : traffic.communicators)
    text += fmt::format("C {} {} {} {}\n", of.path, of.communicator, of.seconds, of.calls);
  return text;
}

std::string wire_of_step(Step done) { return done == Step::All ? "D all\n" : "D profile\n"; }

Step last_step(const std::vector<std::string>& lines) {
  Step last = Step::None;
  for (const std::string& line : lines)
    if (line.starts_with("D ")) last = line == "D all" ? Step::All : Step::Profile;
  return last;
}

void take_line(const std::string& line, FirstFindings& findings) {
  const char kind = line.empty() ? ' ' : line[0];
  const std::string rest = line.size() > 2 ? line.substr(2) : "";
  std::istringstream words(rest);
  report::EventTraffic::Partners partners{};
  report::EventTraffic::OnCommunicator time{};
  switch (kind) {
    case 'F':
      if (auto finding = findings::from_line(rest)) findings.all.push_back(std::move(*finding));
      return;
    case 'S':  // of a sample
    case 'E':  // of all events
      findings.waits.emplace().is_sampled = kind == 'S';
      words >> findings.waits->confidence;
      return;
    case 'W':
      if (findings.waits) take_wait(rest, *findings.waits);
      return;
    case 'R':
      if (findings.waits) take_wait_of_rank(rest, *findings.waits);
      return;
    case 'T': findings.traffic.emplace(); return;
    case 'P':
      if (findings.traffic && words >> partners.path >> partners.fewest >> partners.most)
        findings.traffic->partners.push_back(partners);
      return;
    case 'C':
      if (findings.traffic && words >> time.path >> time.communicator >> time.seconds >> time.calls)
        findings.traffic->communicators.push_back(time);
      return;
    default: return;
  }
}

}  // namespace refrain::tools

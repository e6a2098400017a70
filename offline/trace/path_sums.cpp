#include "offline/trace/path_sums.hpp"

namespace refrain::trace {
namespace {

/// A message's bytes are in one record of each side, whether one call begins and completes it or two calls do.
void add_moved(const events::Record& record, PathSum& sum) {
  switch (record.kind) {
    case events::Kind::Send:
    case events::Kind::Receive:
    case events::Kind::Collective:
    case events::Kind::OneSided:
      sum.bytes_sent += record.bytes_sent;
      sum.bytes_received += record.bytes_received;
      return;
    case events::Kind::Read: sum.bytes_read += record.bytes_received; return;
    case events::Kind::Write: sum.bytes_written += record.bytes_sent; return;
    default: return;
  }
}

}  // namespace

std::vector<std::map<std::uint32_t, PathSum>> sums_by_path(const Trace& trace) {
  struct Open {
    std::vector<std::uint32_t> paths;
    std::int64_t since_ns = 0;
  };
  std::vector<std::map<std::uint32_t, PathSum>> sums(trace.locations().size());
  std::vector<Open> open(sums.size());
  auto reader = trace.read();
  while (const Event* event = reader.next()) {
    Open& here = open[event->location];
    auto& to = sums[event->location];
    const auto spend = [&] {
      if (!here.paths.empty()) to[here.paths.back()].ns += event->time_ns - here.since_ns;
      here.since_ns = event->time_ns;
    };
    if (event->type == Type::Enter) {
      spend();
      here.paths.push_back(event->path);
      ++to[event->path].visits;
    } else if (event->type == Type::Leave && !here.paths.empty()) {
      spend();
      here.paths.pop_back();
    } else if (event->type == Type::Communication && !here.paths.empty()) {
      add_moved(event->record, to[here.paths.back()]);
    }
  }
  return sums;
}

}  // namespace refrain::trace

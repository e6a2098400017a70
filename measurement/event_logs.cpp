#include <algorithm>

#include "measurement/event_log.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {
namespace {

/// A buffer is written as one frame at the end of a call, so its size is limited.
constexpr std::size_t min_buffer = std::size_t{8} << 10, enough = std::size_t{1} << 20, most = std::size_t{64} << 20;
std::atomic<std::size_t> memory_taken{0};

}  // namespace

void start_events(const EventSettings& settings) { event_settings = settings; }

void begin_events(Location& l) {
  if (!events_are_kept()) return;
  l.keeps_events = true;
  // Each location gets a part of the memory that is left, so that any number of threads gets some. When events are
  // sampled the part is a half, because the first thread has most to keep.
  const std::size_t taken = memory_taken.load(std::memory_order_relaxed);
  const std::size_t left = event_settings.memory > taken ? event_settings.memory - taken : 0;
  const std::size_t share =
      is_sample_of_events() ? left / 2 : std::min({left / 4, std::max(enough, event_settings.memory / 16), most});
  const std::size_t bytes = std::max(share, min_buffer) / 64 * 64;
  // Touched when a span has outgrown its room. A thread that starts late must not have so little memory that it alone
  // determines the level of all.
  const std::size_t min_for_messages = std::min(std::size_t{64} << 10, event_settings.memory / 16);
  const std::size_t for_messages = is_sample_of_events() ? std::max(bytes / 8, min_for_messages) / 64 * 64 : 0;
  auto* log = platform::make_on_pages<EventLog>();
  void* memory = log ? platform::map_pages(bytes + for_messages) : nullptr;
  if (!memory) {
    platform::unmake_on_pages(log);
    return l.count_loss(Loss::EventsLost);
  }
  memory_taken.fetch_add(bytes + for_messages, std::memory_order_relaxed);
  std::span<std::byte> for_records{static_cast<std::byte*>(memory), bytes};
  // Spans of the first thread end in ordinary context, in its marks and calls; those of others end in handlers, too.
  const events::Packer packer =
      is_sample_of_events() && l.thread == 0 ? events::Packer::at_end_of(for_records) : events::Packer{};
  log->records.create(for_records, l.thread);
  log->kept = log->records.end();
  log->full = is_sample_of_events() ? bytes + 1 : bytes / 4 * 3;
  log->very_full = is_sample_of_events() ? bytes + 1 : bytes / 8 * 7;
  log->span_begin = platform::now();
  if (is_sample_of_events()) {
    log->matched.create({static_cast<std::byte*>(memory) + bytes, for_messages});
    log->spans.create(for_records, log->records, log->span_begin, event_settings.slowest, packer);
    if (event_settings.stretches && l.thread == 0) log->stretches.begin();
  }
  l.events = log;
}

}  // namespace refrain::measurement

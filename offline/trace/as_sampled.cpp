#include "offline/trace/as_sampled.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "events/span_store.hpp"

namespace refrain::trace {

using events::Kind;
using events::Record;

namespace {

/// Decodes the records of a thread. `begin`: gets the time before the first one; `take`: gets each record.
template <class Begin, class Take>
void for_each_record(const experiment::EventFile& file, std::int32_t thread, const Begin& begin, const Take& take) {
  std::vector<std::byte> encoded;
  bool is_begun = false;
  for (const experiment::EventFrame& frame : file.frames()) {
    if (frame.thread != thread) continue;
    if (!std::exchange(is_begun, true)) begin(frame.begin.time);
    file.read(frame, encoded);
    events::Context context = frame.begin;
    Record record;
    for (std::size_t at = 0, size; at < encoded.size(); at += size) {
      size = events::decode(std::span(encoded).subspan(at), context, record);
      if (size == 0) break;
      take(record);
    }
  }
}

/// Numbers the spans of a location.
class Spans {
 public:
  SpanOfLocation next(const Record& span) {
    return {span.region, span.region == 0 ? outside_++ : static_cast<std::uint64_t>(span.value)};
  }

 private:
  std::uint64_t outside_ = 0;
};

}  // namespace

SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, const AsSampled& as) {
  SampleOfLocation sample;
  // Memory that is not used never becomes resident.
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(as.bytes);
  events::Buffer buffer;
  events::SpanStore store;
  Spans spans;
  const auto begin = [&](std::int64_t time) {
    std::span<std::byte> for_records{memory.get(), as.bytes};
    const events::Packer packer = thread == 0 ? events::Packer::at_end_of(for_records) : events::Packer{};
    buffer.create(for_records, thread);
    store.create(for_records, buffer, time, as.slowest, packer);
  };
  for_each_record(file, thread, begin, [&](const Record& record) {
    if (record.kind == Kind::Span) {
      sample.spans.push_back(spans.next(record));
      store.end_span(buffer, record);
    } else if (record.kind != Kind::Jump) {
      (void)buffer.append(record);
    }
  });
  for (const events::SpanStore::Loop& loop : store.loops()) {
    sample.levels.push_back({loop.region, loop.level, loop.sparse});
    for (const events::SpanStore::Slow& slow : loop.slowest()) sample.slowest.push_back({loop.region, slow.number});
  }
  return sample;
}

SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, unsigned level) {
  constexpr unsigned sparse = 2;  // one of four keeps its predecessor: a quarter more is read
  SampleOfLocation sample;
  Spans spans;
  for_each_record(
      file, thread, [](std::int64_t) {},
      [&](const Record& record) {
        if (record.kind != Kind::Span) return;
        sample.spans.push_back(spans.next(record));
        const auto is_it = [&](const SampleOfLocation::Level& of) { return of.region == record.region; };
        if (record.region != 0 && std::ranges::none_of(sample.levels, is_it))
          sample.levels.push_back({record.region, level, sparse});
      });
  return sample;
}

void SampledStream::make_some() {
  constexpr std::size_t enough = 64;
  while (count() < enough) {
    const Event* event = all_->next();
    if (!event) return;
    const bool is_hidden = span_ < hidden_.size() && hidden_[span_];
    if (event->type == Type::SpanEnd) ++span_;
    if (!is_hidden) add() = *event;
  }
}

}  // namespace refrain::trace

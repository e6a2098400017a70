#include "offline/trace/as_sampled.hpp"

#include "events/span_store.hpp"

namespace refrain::trace {

using events::Kind;
using events::Record;

SampleOfLocation sample_of(const experiment::EventFile& file, std::int32_t thread, const AsSampled& as) {
  SampleOfLocation sample;
  // What is not used of it never becomes resident.
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(as.bytes);
  std::vector<std::byte> encoded;
  events::Buffer buffer;
  events::SpanStore store;
  std::uint64_t outside = 0;
  bool is_begun = false;
  for (const experiment::EventFrame& frame : file.frames()) {
    if (frame.thread != thread) continue;
    if (!is_begun) {
      std::span<std::byte> for_records{memory.get(), as.bytes};
      const events::Packer packer = thread == 0 ? events::Packer::at_end_of(for_records) : events::Packer{};
      buffer.create(for_records, thread);
      store.create(for_records, buffer, frame.begin.time, as.slowest, packer);
      is_begun = true;
    }
    file.read(frame, encoded);
    events::Context context = frame.begin;
    Record record;
    for (std::size_t at = 0, size; at < encoded.size(); at += size) {
      size = events::decode(std::span(encoded).subspan(at), context, record);
      if (size == 0) break;
      if (record.kind == Kind::Span) {
        const bool is_outside = record.region == 0;
        sample.spans.push_back({record.region, is_outside ? outside++ : static_cast<std::uint64_t>(record.value)});
        store.end_span(buffer, record);
      } else if (record.kind != Kind::Jump) {
        (void)buffer.append(record);
      }
    }
  }
  for (const events::SpanStore::Loop& loop : store.loops()) {
    sample.levels.push_back({loop.region, loop.level, loop.sparse});
    for (const events::SpanStore::Slow& slow : loop.slowest()) sample.slowest.push_back({loop.region, slow.number});
  }
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

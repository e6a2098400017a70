#include "events/matched_sample.hpp"

#include <algorithm>
#include <memory>

#include "format/kept_iterations.hpp"

namespace refrain::events {

void MatchedSample::create(std::span<std::byte> memory) {
  *this = MatchedSample{};
  void* begin = memory.data();
  std::size_t size = memory.size();
  if (!std::align(alignof(SampledMessage), sizeof(SampledMessage), begin, size)) return;
  messages_ = static_cast<SampledMessage*>(begin);
  capacity_ = size / sizeof(SampledMessage);
}

bool MatchedSample::is_wanted(std::uint64_t ordinal) {
  const std::uint64_t block = ordinal >> level_;
  Block& known = blocks_[block % max_blocks];
  if (known.block != block) known = {block, format::KeptIterations{.level = level_}.in_block(block)};
  return known.chosen == ordinal;
}

void MatchedSample::add(const Record& r, const MessageNumber& number) {
  const bool is_receive = r.kind == Kind::Receive;
  receives_ += is_receive;
  if (number.ordinal == no_ordinal) {
    ++lost_;
    return;
  }
  if (!is_wanted(number.ordinal)) return;
  while (count_ == capacity_) {
    if (!raise()) {
      ++lost_;
      return;
    }
    if (!is_wanted(number.ordinal)) return;
  }
  SampledMessage& message = messages_[count_++];
  message = SampledMessage{};
  message.number = number;
  message.bytes = is_receive ? r.bytes_received : r.bytes_sent;
  message.communicator = r.communicator;
  message.peer = r.peer;
  message.tag = r.tag;
  message.begun_thread = r.begun_thread;
  message.begun_node = r.begun_node;
  message.is_receive = is_receive;
  message.is_completed = r.phase == Phase::Completed;
}

void MatchedSample::end_call(const CallRecord& call) {
  if (!call.is_whole) {  // it is unknown when its messages arrived
    lost_ += count_ - whole_;
    count_ = whole_;
  }
  // The first call may have had messages before the sample began.
  const std::uint32_t receives = begin_time_ == 0 ? 0 : receives_;
  if (begin_time_ == 0) begin_time_ = call.begin;
  receives_ = 0;
  for (; whole_ < count_; ++whole_) {
    SampledMessage& message = messages_[whole_];
    message.begin = call.begin;
    message.end = call.time;
    message.node = call.node;
    if (message.is_receive) message.receives = receives;
  }
}

/// Changes the level, and drops the messages that are not kept there.
void MatchedSample::set_level(unsigned level) {
  level_ = level;
  std::ranges::fill(blocks_, Block{});
  drop_unwanted();
}

/// Raises the level by one. False: it is the highest.
bool MatchedSample::raise() {
  if (level_ == format::highest_level) return false;
  set_level(level_ + 1);
  return true;
}

void MatchedSample::drop_unwanted() {
  const format::KeptIterations kept{.level = level_};
  std::size_t stay = 0, whole = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!kept.has(messages_[i].number.ordinal)) continue;
    messages_[stay++] = messages_[i];
    whole += i < whole_;
  }
  count_ = stay;
  whole_ = whole;
}

void MatchedSample::agree(unsigned level) {
  if (level > level_ && level <= format::highest_level) set_level(level);
}

}  // namespace refrain::events

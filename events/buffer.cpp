#include "events/buffer.hpp"

#include <cstring>

namespace refrain::events {

void Buffer::create(std::span<std::byte> memory, std::int32_t thread) {
  *this = Buffer{};
  data_ = memory.data();
  capacity_ = memory.size();
  first_.thread = context_.thread = thread;
}

void Buffer::write(const Record& record) { take(encode(record, context_, data_ + size_)); }

bool Buffer::append(const Record& record) {
  if (!has_room(room_for(record.kind))) [[unlikely]] {
    drop();
    return false;
  }
  // Records that are passed over by a jump are not missing.
  if (missing_ > 0 && record.kind != Kind::Jump) [[unlikely]] {
    Record gap;
    gap.kind = Kind::Gap;
    gap.time = is_communication(record.kind) ? context_.time : record.time;
    gap.value = missing_;
    missing_ = 0;
    write(gap);
  }
  write(record);
  return true;
}

bool Buffer::append(const CallRecord& call, std::int64_t off_ns) {
  Record record;
  record.kind = Kind::Call;
  record.is_whole = call.is_whole;
  record.region = call.region;
  record.node = call.node;
  record.begin = call.begin;
  record.time = call.time;
  record.value = off_ns;
  return append(record);
}

bool Buffer::append_jump(std::int64_t time) {
  Record jump;
  jump.kind = Kind::Jump;
  jump.time = time;
  jump.request = context_.request;
  jump.node = context_.node;
  return append(jump);
}

void Buffer::rewind(const Position& position) {
  size_ = position.size;
  count_ = position.count;
  context_ = position.context;
  missing_ = position.missing;
  dropped_ = position.dropped;
}

void Buffer::recover(const Position& position) {
  std::size_t at = position.size;
  context_ = position.context;
  count_ = position.count;
  Record record;
  while (at < size_) {
    const std::size_t bytes = decode({data_ + at, size_ - at}, context_, record);
    if (bytes == 0) break;
    at += bytes;
    ++count_;
  }
  size_ = at;
}

void Buffer::drop_all() {
  missing_ += count_;
  dropped_ += count_;
  size_ = count_ = 0;
  context_ = first_;
}

Block Buffer::until(const Position& position) const {
  return {first_, position.context.time, position.count, {data_, position.size}};
}

Buffer::Position Buffer::remove(const Position& position) {
  std::memmove(data_, data_ + position.size, size_ - position.size);
  size_ -= position.size;
  count_ -= position.count;
  removed_ += position.count;
  first_ = position.context;
  return {0, 0, position.missing, position.dropped, first_};
}

}  // namespace refrain::events

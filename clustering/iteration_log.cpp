#include "clustering/iteration_log.hpp"

#include <bit>
#include <cstring>

#include "format/bytes.hpp"

namespace refrain::clustering {

using namespace format::log_format;
using format::longest_varint;
using format::RecentLabels;
using format::rounded_code;
using format::zigzag;

namespace {

template <class T>
void store(std::byte* to, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(to, &value, sizeof value);
}

/// There is room for 10 bytes. How long a value is, is a coin toss: no branch on it but for the extremes.
inline std::byte* put(std::byte* out, std::uint64_t value) {
  if (value < 0x80) {
    *out = static_cast<std::byte>(value);
    return out + 1;
  }
  if (value >> 56) [[unlikely]] {
    for (; value >= 0x80; value >>= 7) *out++ = static_cast<std::byte>(value | 0x80);
    *out = static_cast<std::byte>(value);
    return out + 1;
  }
  const unsigned longer = (63U - static_cast<unsigned>(std::countl_zero(value))) * 37 >> 8;  // bytes behind the first
  value = (value & 0xfffffff) | (value & 0xfffffff0000000) << 4;
  value = (value & 0x3fff00003fff) | (value & 0xfffc0000fffc000) << 2;
  value = (value & 0x7f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
  value |= 0x8080808080808080 & ((std::uint64_t{1} << 8 * longer) - 1);
  store(out, value);
  return out + longer + 1;
}

struct Header {
  std::uint32_t bytes;
  std::uint64_t first;
  std::uint32_t count, columns;
  std::uint16_t kind;
};

void put_header(std::byte* to, const Header& header) {
  store(to, magic);
  store(to + size_at, header.bytes);
  store(to + first_at, header.first);
  store(to + count_at, header.count);
  store(to + columns_at, static_cast<std::uint16_t>(header.columns));
  store(to + kind_at, header.kind);
}

inline bool more_than_three(std::uint64_t bits) {
  for (int i = 0; i < 3; ++i) bits &= bits - 1;
  return bits != 0;
}

}  // namespace

bool IterationLog::create(std::span<const Precision> columns, std::size_t block_bytes) {
  destroy();
  if (columns.empty() || columns.size() > max_overall) return false;
  if (block_bytes < header_bytes + longest_varint * (columns.size() + 3) || block_bytes > 0xffffffff) return false;
  if (!block_.resize(block_bytes)) return false;
  columns_ = static_cast<std::uint32_t>(columns.size());
  kept_ = exact_ = 0;
  for (const Precision precision : {Precision::Exact, Precision::Rounded}) {
    for (std::uint32_t c = 0; c < columns_; ++c)
      if (columns[c] == precision) order_[kept_++] = static_cast<std::uint8_t>(c);
    if (precision == Precision::Exact) exact_ = kept_;
  }
  start_block();
  return true;
}

void IterationLog::destroy() {
  block_.release();
  used_ = columns_ = 0;
  count_ = 0;
}

void IterationLog::start_block() {
  used_ = header_bytes;
  count_ = 0;
  recent_.clear();
  mask_before_ = 0;
  std::memset(before_, 0, sizeof before_);
}

IterationLog::Appended IterationLog::append(std::uint64_t iteration, Label label,
                                            std::span<const std::int64_t> overall) {
  if (count_ && iteration != first_ + count_) return Appended::BlockFull;
  if (overall.size() != columns_ || block_.size() - used_ < longest_varint * (columns_ + 3)) return Appended::BlockFull;
  if (count_ == 0) first_ = iteration;
  std::int64_t values[max_overall];
  std::uint64_t mask = 0;
  for (std::uint32_t k = 0; k < kept_; ++k) {
    const std::uint32_t c = order_[k];
    values[c] = k < exact_ ? overall[c] : rounded_code(overall[c]);
    mask |= std::uint64_t{values[c] != before_[c]} << c;
  }
  std::byte* out = block_.data() + used_;
  const auto number = static_cast<std::uint32_t>(label);
  // A column that happens to stand still once costs a byte, a new mask and the way back cost more.
  const bool new_mask = (mask & ~mask_before_) != 0 || more_than_three(mask_before_ & ~mask);
  std::uint32_t place = recent_.find(number);
  if (place < recent_.used) {
    out = put(out, std::uint64_t{place + 1} << 1 | new_mask);
  } else {
    out = put(out, new_mask);
    out = put(out, number);
    place = recent_.next;
    recent_.insert(number);
  }
  last_place_ = place;
  if (new_mask) out = put(out, mask);
  else mask = mask_before_;
  mask_before_ = mask;
  for (std::uint64_t left = mask; left; left &= left - 1) {
    const int c = std::countr_zero(left);
    out = put(out, zigzag(static_cast<std::uint64_t>(values[c]) - static_cast<std::uint64_t>(before_[c])));
    before_[c] = values[c];
  }
  used_ = static_cast<std::size_t>(out - block_.data());
  ++count_;
  return Appended::Yes;
}

IterationLog::Appended IterationLog::append_again(std::uint64_t iteration, std::size_t column, std::int64_t value) {
  if (count_ == 0 || iteration != first_ + count_ || (mask_before_ >> column & 1) == 0 ||
      block_.size() - used_ < longest_varint * (columns_ + 3))
    return Appended::BlockFull;
  std::byte* out = put(block_.data() + used_, std::uint64_t{last_place_ + 1} << 1);
  for (std::uint64_t left = mask_before_; left; left &= left - 1) {
    const auto c = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t difference = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before_[c]);
    out = put(out, c == column ? zigzag(difference) : 0);
  }
  before_[column] = value;
  used_ = static_cast<std::size_t>(out - block_.data());
  ++count_;
  return Appended::Yes;
}

std::span<const std::byte> IterationLog::closed() {
  if (count_ == 0) return {};
  put_header(block_.data(), {static_cast<std::uint32_t>(used_), first_, count_, columns_, 0});
  return {block_.data(), used_};
}

std::array<std::byte, absence_bytes> IterationLog::absence(std::uint64_t first, std::uint64_t count) const {
  std::array<std::byte, absence_bytes> block;
  put_header(block.data(), {absence_bytes, first, 0, columns_, absence_kind});
  store(block.data() + header_bytes, count);
  return block;
}

}  // namespace refrain::clustering

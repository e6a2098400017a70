#include "clustering/iteration_log_reader.hpp"

#include <bit>
#include <cstring>

namespace refrain::clustering {

using namespace log_format;

namespace {

std::uint64_t unzigzag(std::uint64_t value) { return value >> 1 ^ (value & 1 ? ~std::uint64_t{0} : 0); }

template <class T>
T load(const std::byte* from) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

std::int64_t rounded_value(std::int32_t code) {
  if (code == 0) return 0;
  const std::uint32_t positive =
      (code < 0 ? 0U - static_cast<std::uint32_t>(code) : static_cast<std::uint32_t>(code)) - 1;
  const unsigned exponent = positive >> fraction_bits;
  const std::uint64_t fraction = (std::uint64_t{1} << fraction_bits) | (positive & ((1U << fraction_bits) - 1));
  std::uint64_t magnitude = 0;
  if (exponent > 62)  // the largest values round up to what does not fit
    magnitude = static_cast<std::uint64_t>(INT64_MAX);
  else if (exponent >= fraction_bits) magnitude = fraction << (exponent - fraction_bits);
  else magnitude = fraction >> (fraction_bits - exponent);
  return code < 0 ? static_cast<std::int64_t>(0 - magnitude) : static_cast<std::int64_t>(magnitude);
}

bool IterationLogReader::open(std::span<const std::byte> block, std::span<const OverallColumn> columns) {
  *this = IterationLogReader{};
  if (block.size() < header_bytes || columns.size() > max_overall || load<std::uint32_t>(block.data()) != magic)
    return false;
  const auto bytes = load<std::uint32_t>(block.data() + 4);
  if (bytes < header_bytes || bytes > block.size()) return false;
  if (load<std::uint16_t>(block.data() + 20) != columns.size()) return false;
  block_ = block.first(bytes);
  first_ = load<std::uint64_t>(block.data() + 8);
  count_ = load<std::uint32_t>(block.data() + 16);
  columns_ = static_cast<std::uint32_t>(columns.size());
  for (std::uint32_t c = 0; c < columns_; ++c) precision_[c] = columns[c].precision;
  at_ = header_bytes;
  return count_ <= bytes - header_bytes;  // a record has a byte at least
}

bool IterationLogReader::varint(std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 64 && at_ < block_.size(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(block_[at_++]);
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool IterationLogReader::next(Label& label, std::int64_t (&overall)[max_overall]) {
  if (read_ == count_ || damaged_) return false;
  damaged_ = true;  // until this record is complete
  std::uint64_t start = 0, number = 0;
  if (!varint(start)) return false;
  const std::uint64_t place = start >> 1;
  if (place == 0) {
    if (!varint(number) || number > 0xffffffff) return false;
    recent_.insert(static_cast<std::uint32_t>(number));
  } else {
    if (place > recent_.used) return false;
    number = recent_.label[place - 1];
  }
  if (((start & 1) && !varint(mask_)) || (mask_ >> columns_) != 0) return false;
  for (std::uint32_t c = 0; c < columns_; ++c) {
    if (mask_ >> c & 1) {
      std::uint64_t difference = 0;
      if (!varint(difference)) return false;
      before_[c] = static_cast<std::int64_t>(static_cast<std::uint64_t>(before_[c]) + unzigzag(difference));
    }
    if (precision_[c] == Precision::Rounded) {
      if (before_[c] > 65536 || before_[c] < -65536) return false;
      overall[c] = rounded_value(static_cast<std::int32_t>(before_[c]));
    } else {
      overall[c] = precision_[c] == Precision::Exact ? before_[c] : 0;
    }
  }
  for (std::uint32_t c = columns_; c < max_overall; ++c) overall[c] = 0;
  label = Label{static_cast<std::uint32_t>(number)};
  ++read_;
  damaged_ = false;
  return true;
}

}  // namespace refrain::clustering

#include "offline/experiment/iteration_log_reader.hpp"

namespace refrain::experiment {

using namespace format::log_format;
using format::Label;
using format::load_little_endian;
using format::max_overall;
using format::Precision;
using format::rounded_value;
using format::unzigzag;

bool IterationLogReader::open(std::span<const std::byte> block, std::span<const Precision> columns) {
  *this = IterationLogReader{};
  if (block.size() < header_bytes || columns.size() > max_overall ||
      load_little_endian<std::uint32_t>(block.data()) != magic)
    return false;
  const auto bytes = load_little_endian<std::uint32_t>(block.data() + size_at);
  if (bytes < header_bytes || bytes > block.size()) return false;
  if (load_little_endian<std::uint16_t>(block.data() + columns_at) != columns.size()) return false;
  block_ = block.first(bytes);
  first_ = load_little_endian<std::uint64_t>(block.data() + first_at);
  count_ = load_little_endian<std::uint32_t>(block.data() + count_at);
  columns_ = static_cast<std::uint32_t>(columns.size());
  for (std::uint32_t c = 0; c < columns_; ++c) precision_[c] = columns[c];
  at_ = header_bytes;
  if (count_ == 0 && bytes >= absence_bytes &&
      load_little_endian<std::uint16_t>(block.data() + kind_at) == absence_kind)
    absent_ = load_little_endian<std::uint64_t>(block.data() + header_bytes);
  return count_ <= bytes - header_bytes;  // a record has at least one byte
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
      before_[c] = static_cast<std::int64_t>(static_cast<std::uint64_t>(before_[c]) +
                                             static_cast<std::uint64_t>(unzigzag(difference)));
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

}  // namespace refrain::experiment

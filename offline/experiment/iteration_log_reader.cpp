#include "offline/experiment/iteration_log_reader.hpp"

#include "format/kept_iterations.hpp"

namespace refrain::experiment {

using namespace format::log_format;
using format::Label;
using format::load_little_endian;
using format::max_overall;
using format::Precision;
using format::rounded_value;
using format::Run;
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
  covered_ = load_little_endian<std::uint32_t>(block.data() + count_at);
  columns_ = static_cast<std::uint32_t>(columns.size());
  for (std::uint32_t c = 0; c < columns_; ++c) precision_[c] = columns[c];
  at_ = header_bytes;
  if (covered_ > 0) return covered_ <= bytes - header_bytes;  // a record has at least one byte
  const unsigned kind = load_little_endian<std::uint16_t>(block.data() + kind_at);
  level_ = kind >> level_shift;
  items_ = (kind & ((1U << level_shift) - 1)) == items_kind;
  if (bytes < items_at || (!items_ && kind != absence_kind)) return true;
  if (level_ > format::highest_level) return false;
  covered_ = load_little_endian<std::uint64_t>(block.data() + covered_at);
  at_ = items_at;
  if (!items_) whole_ = Run::Absent;
  return true;
}

bool IterationLogReader::take_label(std::uint64_t start, Label& label) {
  const std::uint64_t place = start >> 1;
  std::uint64_t number = 0;
  if (place == 0) {
    if (!varint(number) || number > 0xffffffff) return false;
    recent_.insert(static_cast<std::uint32_t>(number));
  } else {
    if (place > recent_.used) return false;
    number = recent_.label[place - 1];
  }
  label = Label{static_cast<std::uint32_t>(number)};
  return true;
}

bool IterationLogReader::take_values(unsigned which, bool new_mask, std::int64_t (&overall)[max_overall]) {
  std::uint64_t& mask = mask_[which];
  std::int64_t(&before)[max_overall] = before_[which];
  if ((new_mask && !varint(mask)) || (mask >> columns_) != 0) return false;
  for (std::uint32_t c = 0; c < columns_; ++c) {
    if (mask >> c & 1) {
      std::uint64_t difference = 0;
      if (!varint(difference)) return false;
      before[c] = format::wrapping_sum(before[c], unzigzag(difference));
    }
    if (precision_[c] == Precision::Rounded) {
      if (before[c] > 65536 || before[c] < -65536) return false;
      overall[c] = rounded_value(static_cast<std::int32_t>(before[c]));
    } else {
      overall[c] = precision_[c] == Precision::Exact ? before[c] : 0;
    }
  }
  for (std::uint32_t c = columns_; c < max_overall; ++c) overall[c] = 0;
  return true;
}

bool IterationLogReader::next(LoggedItem& item) {
  if (read_ >= covered_ || damaged_) return false;
  item.run = whole_;
  item.count = whole_ ? covered_ : std::uint64_t{1} << level_;
  if (!whole_) {
    damaged_ = true;  // until this item is complete
    std::uint64_t start = 0;
    if (items_) {
      if (!varint(start)) return false;
      if (start != 0) {
        const std::uint64_t run = start & ((1U << run_shift) - 1);
        item.count = start >> run_shift;
        if (run == 0 || item.count == 0) return false;
        item.run = static_cast<Run>(run);
      }
    }
    if (!item.run) {
      if (!varint(start) || !take_label(start, item.label) || !take_values(0, start & 1, item.row)) return false;
      if (level_ > 0 && (!varint(start) || start > 1 || !take_values(1, start & 1, item.others))) return false;
    }
    damaged_ = false;
  }
  read_ += item.count;
  return true;
}

}  // namespace refrain::experiment

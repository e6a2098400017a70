#include "clustering/iteration_log.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "clustering/vectors.hpp"
#include "format/bytes.hpp"
#include "format/kept_iterations.hpp"

namespace refrain::clustering {

using namespace format::log_format;
using format::longest_varint;
using format::RecentLabels;
using format::rounded_code;
using format::zigzag;

namespace {

static_assert(std::endian::native == std::endian::little);

/// Writes a varint; there is room for 10 bytes. The length of a value is unpredictable, so only the extremes are
/// branches.
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

inline bool more_than_three(std::uint64_t bits) {
  for (int i = 0; i < 3; ++i) bits &= bits - 1;
  return bits != 0;
}

}  // namespace

bool IterationLog::create(std::span<const Precision> columns, std::size_t block_bytes, std::uint64_t whole) {
  if (columns.empty() || columns.size() > max_overall || !std::has_single_bit(whole)) return false;
  // A run, then both records of a group.
  longest_ = longest_varint * (2 * (columns.size() + 3) + 1);
  if (block_bytes < items_at + longest_ || block_bytes > 0xffffffff || !block_.resize(block_bytes)) return false;
  columns_ = static_cast<std::uint32_t>(columns.size());
  whole_ = whole;
  for (const Precision precision : {Precision::Exact, Precision::Rounded}) {
    for (std::uint32_t c = 0; c < columns_; ++c)
      if (columns[c] == precision) order_[kept_++] = static_cast<std::uint8_t>(c);
    if (precision == Precision::Exact) exact_ = kept_;
  }
  start_block();
  return true;
}

void IterationLog::start_block() {
  const std::uint64_t first = next();
  s_ = {};
  s_.first = first;
  s_.used = header_bytes;
  grouped_ = 0;
}

/// The level of a group that begins at `iteration`, which must be a multiple of the group's size.
unsigned IterationLog::level_at(std::uint64_t iteration) const {
  if (iteration == 0) return std::min(coarser_, format::highest_level);
  const unsigned aligned = static_cast<unsigned>(std::countr_zero(iteration));
  return std::min({format::log_level_at(iteration, whole_) + coarser_, aligned, format::highest_level});
}

/// Prepares to write an item or a record at `iteration`, while no group is in progress. False: it does not go into this
/// block.
bool IterationLog::begin(std::uint64_t iteration, unsigned level, bool items) {
  if (is_empty()) {
    had_items_ = had_items_ || items;  // going back to the other kind of block would take more room
    s_.items = had_items_;
    s_.used = s_.items ? items_at : header_bytes;
    s_.first = iteration;
    s_.level = level;
    return true;
  }
  return iteration == next() && level == s_.level && (s_.items || !items) && block_.size() - s_.used >= longest_;
}

void IterationLog::put_number(std::uint64_t number) {
  s_.used = static_cast<std::size_t>(put(block_.data() + s_.used, number) - block_.data());
}

void IterationLog::put_run() {
  if (s_.run == 0) return;
  put_number(s_.run << run_shift | static_cast<std::uint64_t>(s_.run_of));
  s_.covered += s_.run;
  s_.run = 0;
}

/// Writes a record. `which`: 0: of an iteration; 1: of the other iterations of its group, without a label.
void IterationLog::put_record(unsigned which, Label label, std::span<const std::int64_t> overall) {
  std::int64_t(&before)[max_overall] = s_.before[which];
  std::int64_t values[max_overall];
  std::uint64_t mask = 0;
  for (std::uint32_t k = 0; k < kept_; ++k) {
    const std::uint32_t c = order_[k];
    values[c] = k < exact_ ? overall[c] : rounded_code(overall[c]);
    mask |= std::uint64_t{values[c] != before[c]} << c;
  }
  std::byte* out = block_.data() + s_.used;
  // A column that is unchanged once costs one byte; a new mask now and another one afterwards cost more.
  std::uint64_t& mask_before = s_.mask_before[which];
  const bool new_mask = (mask & ~mask_before) != 0 || more_than_three(mask_before & ~mask);
  if (which == 0) {
    const auto number = static_cast<std::uint32_t>(label);
    const std::uint32_t slot = s_.recent.find(number);
    if (slot < s_.recent.used) {
      out = put(out, std::uint64_t{slot + 1} << 1 | new_mask);
    } else {
      out = put(out, new_mask);
      out = put(out, number);
      s_.recent.insert(number);
    }
  } else {
    out = put(out, new_mask);
  }
  if (new_mask) out = put(out, mask);
  else mask = mask_before;
  mask_before = mask;
  for (std::uint64_t left = mask; left; left &= left - 1) {
    const int c = std::countr_zero(left);
    out = put(out, zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(values[c]) -
                                                    static_cast<std::uint64_t>(before[c]))));
    before[c] = values[c];
  }
  s_.used = static_cast<std::size_t>(out - block_.data());
}

IterationLog::Appended IterationLog::append(std::uint64_t iteration, Label label,
                                            std::span<const std::int64_t> overall) {
  if (overall.size() != columns_) return Appended::BlockFull;
  if (grouped_ > 0) {
    add_to_group(iteration, label, overall);
    return Appended::Yes;
  }
  const unsigned level = level_at(iteration);
  if (!begin(iteration, level, level > 0)) return Appended::BlockFull;
  put_run();
  if (level > 0) {
    begin_group(level);
    add_to_group(iteration, label, overall);
    return Appended::Yes;
  }
  if (s_.items) put_number(0);
  put_record(0, label, overall);
  keeps_last_ = true;
  ++s_.covered;
  ++s_.count;
  return Appended::Yes;
}

void IterationLog::begin_group(unsigned level) {
  if (last_level_ == 0) thinned_from_ = next();
  last_level_ = level;
  any_in_group_ = has_kept_ = false;
  group_label_ = no_label;
  std::memset(kept_row_, 0, sizeof kept_row_);
  std::memset(others_, 0, sizeof others_);
}

void IterationLog::add_to_group(std::uint64_t iteration, Label label, std::span<const std::int64_t> overall) {
  any_in_group_ = true;
  keeps_last_ = format::KeptIterations{s_.level}.has(iteration);
  if (keeps_last_ || !has_kept_) group_label_ = label;
  if (keeps_last_) {
    has_kept_ = true;
    std::copy(overall.begin(), overall.end(), kept_row_);
  } else {
    for (std::uint32_t c = 0; c < columns_; ++c) others_[c] = format::wrapping_sum(others_[c], overall[c]);
  }
  if (++grouped_ >> s_.level) put_group();
}

/// Writes the group in progress, complete or not.
void IterationLog::put_group() {
  const std::uint64_t count = grouped_;
  grouped_ = 0;
  if (!any_in_group_) {
    if (s_.run > 0 && s_.run_of != format::Run::Absent) put_run();
    s_.run_of = format::Run::Absent;
    s_.run += count;
    return;
  }
  put_run();
  put_number(0);
  put_record(0, group_label_, {kept_row_, columns_});
  put_record(1, no_label, {others_, columns_});
  s_.covered += count;
  ++s_.count;
}

IterationLog::Appended IterationLog::append_run(std::uint64_t iteration, std::uint64_t count, format::Run what) {
  if (grouped_ > 0) {
    const std::uint64_t part = std::min(count, (std::uint64_t{1} << s_.level) - grouped_);
    grouped_ += part;
    iteration += part;
    count -= part;
    if (grouped_ >> s_.level) put_group();
  }
  if (count == 0) return Appended::Yes;
  // The iteration after the run belongs to a group that may begin within the run.
  const std::uint64_t end = iteration + count;
  unsigned level = std::min(format::log_level_at(end, whole_) + coarser_, format::highest_level);
  while (level > 0 && (end >> level << level) < iteration) --level;
  const std::uint64_t begin_of_group = end >> level << level;
  if (begin_of_group > iteration) {
    if (!begin(iteration, is_empty() ? level : s_.level, true)) return Appended::BlockFull;
    if (s_.run > 0 && s_.run_of != what) put_run();
    s_.run_of = what;
    s_.run += begin_of_group - iteration;
  }
  if (begin_of_group == end) return Appended::Yes;
  if (!begin(begin_of_group, level, true)) return Appended::BlockFull;
  put_run();
  begin_group(level);
  grouped_ = end - begin_of_group;
  return Appended::Yes;
}

std::span<const std::byte> IterationLog::closed() {
  const State now = s_;
  const std::uint64_t grouped = grouped_;
  if (grouped_ > 0) put_group();
  put_run();
  const State written = s_;
  s_ = now;
  grouped_ = grouped;
  if (written.covered == 0) return {};
  const auto kind = static_cast<std::uint16_t>(written.items ? items_kind | written.level << level_shift : 0);
  std::byte* const to = block_.data();
  store(to, magic);
  store(to + size_at, static_cast<std::uint32_t>(written.used));
  store(to + first_at, written.first);
  store(to + count_at, written.items ? 0 : written.count);
  store(to + columns_at, static_cast<std::uint16_t>(columns_));
  store(to + kind_at, kind);
  if (written.items) store(to + covered_at, written.covered);
  return {to, written.used};
}

}  // namespace refrain::clustering

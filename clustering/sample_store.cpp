#include "clustering/sample_store.hpp"

#include <algorithm>
#include <bit>

#include "format/bytes.hpp"
#include "format/sample_codes.hpp"

namespace refrain::clustering {

using namespace format::sample_codes;
using format::longest_varint;
using format::put_varint;
using format::take_varint;
using format::zigzag;

namespace {

constexpr std::uint64_t largest_part = 8;  ///< a record takes at most one in this many parts of the store

class BitWriter {
 public:
  explicit BitWriter(platform::Bytes& out) : out_(out) {}
  void put(std::uint64_t bits, unsigned count) {
    for (; count > 32; count -= 32, bits >>= 32) put(bits & 0xffffffff, 32);
    held_ |= (bits & ((std::uint64_t{1} << count) - 1)) << used_;
    for (used_ += count; used_ >= 8; used_ -= 8, held_ >>= 8) append(held_);
  }
  void gamma(std::uint64_t value) {  // value >= 1
    const auto bits = static_cast<unsigned>(63 - std::countl_zero(value));
    put(0, bits);
    put(1, 1);
    put(value, bits);
  }
  void rice(std::uint64_t value, unsigned parameter) {
    if (value >> parameter >= longest_quotient) {
      put((1U << longest_quotient) - 1, longest_quotient);
      put(value, 64);
      return;
    }
    const auto quotient = static_cast<unsigned>(value >> parameter);
    put((std::uint64_t{1} << quotient) - 1, quotient + 1);
    put(value, parameter);
  }
  /// Writes the parameter that gives the shortest codes, then all numbers.
  void sequence(std::span<const std::uint64_t> numbers, unsigned bits_of_parameter) {
    unsigned best = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (unsigned k = 0; k < 1U << bits_of_parameter; ++k) {
      std::uint64_t bits = 0;
      for (const std::uint64_t n : numbers) bits += n >> k >= longest_quotient ? 84 : (n >> k) + 1 + k;
      if (bits > least) break;
      least = bits;
      best = k;
    }
    put(best, bits_of_parameter);
    for (const std::uint64_t n : numbers) rice(n, best);
  }
  /// False: there was no memory for some of it.
  bool finish() {
    if (used_) append(held_);
    return complete_;
  }

 private:
  void append(std::uint64_t byte) { complete_ = out_.push_back(static_cast<std::byte>(byte & 0xff)) && complete_; }

  platform::Bytes& out_;
  std::uint64_t held_ = 0;
  unsigned used_ = 0;
  bool complete_ = true;
};

}  // namespace

bool SampleStore::create(std::span<const Shape> shapes, std::size_t bytes) {
  if (shapes.size() > max_shapes || bytes < 64) return false;
  for (const Shape& shape : shapes)
    if (shape.columns.size() > max_columns) return false;
  data_ = static_cast<std::byte*>(platform::map_pages(bytes));
  if (!data_) return false;
  capacity_ = bytes;
  shapes_ = shapes.size();
  for (std::size_t s = 0; s < shapes_; ++s) {
    sampled_[s] = !shapes[s].exact;
    visits_[s] = shapes[s].visits;
    shape_columns_[s] = static_cast<std::uint8_t>(shapes[s].columns.size());
    first_column_[s] = static_cast<std::uint8_t>(columns_);
    if (sampled_[s]) columns_ += 1U + shape_columns_[s];
  }
  return true;
}

SampleStore::~SampleStore() {
  if (data_) platform::unmap_pages(data_, capacity_);
}

bool SampleStore::encode(std::span<const TouchedPath> paths) {
  record_.clear();
  BitWriter out(record_);
  if (!sorted_.reserve(paths.size()) || !numbers_.resize(paths.size())) return false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (!sampled_[s]) continue;
    sorted_.clear();
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (paths[i].shape == s) (void)sorted_.push_back(static_cast<std::uint64_t>(paths[i].path) << 32 | i);
    std::sort(sorted_.begin(), sorted_.end());
    out.gamma(sorted_.size() + 1);
    if (sorted_.empty()) continue;
    const std::span<std::uint64_t> numbers{numbers_.data(), sorted_.size()};
    const std::uint64_t first = sorted_[0] >> 32;
    const unsigned start = first_column_[s];
    if (!has_reference_[start]) {
      has_reference_[start] = true;
      references_[start] = static_cast<std::int32_t>(static_cast<std::uint32_t>(first));
    }
    out.gamma(zigzag(static_cast<std::int64_t>(first) - static_cast<std::uint32_t>(references_[start])) + 1);
    std::uint64_t expected = first + 1;
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      const std::uint64_t path = sorted_[i] >> 32;
      numbers[i] = path - expected;  // a repeated path makes the number huge, and the record unreadable, but not wrong
      expected = path + 1;
    }
    if (sorted_.size() > 1) out.sequence(numbers.subspan(1), id_parameter_bits);
    const auto values = [&](std::size_t i) { return paths[sorted_[i] & 0xffffffff].values; };
    const std::uint8_t visits = visits_[s];
    if (visits != no_column) {
      for (std::size_t i = 0; i < sorted_.size(); ++i) numbers[i] = static_cast<std::uint64_t>(values(i)[visits]) - 1;
      out.sequence(numbers, parameter_bits);
    }
    for (unsigned c = 0; c < shape_columns_[s]; ++c) {
      if (c == visits) continue;
      const unsigned column = start + 1 + c;
      for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const std::int64_t each =
            code_of(values(i)[c]) - std::int64_t{visits != no_column ? code_of(values(i)[visits]) : 0};
        if (!has_reference_[column]) {
          has_reference_[column] = true;
          references_[column] = static_cast<std::int32_t>(each);
        }
        numbers[i] = zigzag(each - references_[column]);
      }
      out.sequence(numbers, parameter_bits);
    }
  }
  return out.finish();
}

/// Drops one of every two records.
void SampleStore::thin() {
  std::size_t from = 0, to = 0;
  const std::span<const std::byte> all = data();
  std::uint64_t index = 0;  // number of the record's block of iterations
  run_ = 0;
  const auto stays = [&](std::uint64_t block) { return (block & 1) == kept_.bit(kept_.level, block >> 1); };
  while (from < used_) {
    const std::size_t begin = from;
    std::uint64_t head = 0;
    (void)take_varint(all, from, head);
    if (head & 1) {
      std::uint64_t after = index + head / 2, kept = 0;
      const std::uint64_t next = after;
      if (index & 1 && index < after) kept += stays(index++);
      if (after & 1 && index < after) kept += stays(--after);
      kept += (after - index) / 2;
      index = next;
      if (kept == 0) continue;
      if (run_ == 0) run_at_ = to;
      run_ += kept;
      to = run_at_ + put_varint(data_ + run_at_, 2 * run_ + 1);  // shorter than the runs that it replaces
      continue;
    }
    from += head / 2;
    if (!stays(index++)) continue;
    std::memmove(data_ + to, data_ + begin, from - begin);
    to += from - begin;
    run_ = 0;
  }
  used_ = to;
  ++kept_.level;
}

/// Makes room for a record by thinning. False: the iteration is no longer kept.
bool SampleStore::make_room(std::size_t bytes, std::uint64_t ordinal) {
  while (used_ + bytes > capacity_) {
    if (kept_.level == format::highest_level) return false;
    thin();
    find_next(ordinal);
    if (next_ != ordinal) return false;
    find_next(ordinal + 1);
  }
  return true;
}

/// Sets next_ to the first kept iteration from `ordinal` on.
void SampleStore::find_next(std::uint64_t ordinal) {
  const std::uint64_t block = ordinal >> kept_.level;
  next_ = kept_.in_block(block);
  if (next_ < ordinal) next_ = kept_.in_block(block + 1);
}

void SampleStore::add_to_run(std::uint64_t records) {
  if (run_ == 0) run_at_ = used_;
  run_ += records;
  used_ = run_at_ + put_varint(data_ + run_at_, 2 * run_ + 1);
}

void SampleStore::append_empty(std::uint64_t iterations) {
  const std::uint64_t begin = count_, end = begin + iterations;
  count_ = end;
  if (!data_) return;
  while (next_ < end && used_ + longest_varint > capacity_) {
    if (kept_.level == format::highest_level) return find_next(end);
    thin();
    find_next(begin);
  }
  if (next_ >= end) return;
  // One record for each block from that of next_ on; for the last block only if its kept iteration is before the end.
  const std::uint64_t first_block = next_ >> kept_.level, last_block = end >> kept_.level;
  const std::uint64_t records = last_block - first_block + (kept_.in_block(last_block) < end ? 1 : 0);
  find_next(end);
  add_to_run(records);
}

void SampleStore::append(std::span<const TouchedPath> paths) {
  const std::uint64_t ordinal = count_++;
  if (ordinal != next_ || !data_) return;
  find_next(ordinal + 1);
  if (std::none_of(paths.begin(), paths.end(), [&](const TouchedPath& path) { return sampled_[path.shape]; })) {
    if (make_room(longest_varint, ordinal)) add_to_run(1);
    return;
  }
  if (!encode(paths) || record_.size() > capacity_ / largest_part) record_.clear();
  if (!make_room(longest_varint + record_.size(), ordinal)) return;
  run_ = 0;
  used_ += put_varint(data_ + used_, 2 * record_.size());
  if (record_.size()) std::memcpy(data_ + used_, record_.data(), record_.size());
  used_ += record_.size();
}

}  // namespace refrain::clustering

#include "offline/experiment/sample_reader.hpp"

#include <algorithm>

#include "format/bytes.hpp"

namespace refrain::experiment {

using namespace format::sample_codes;
using format::KeptIterations;
using format::largest_sample_record;
using format::max_columns;
using format::max_shapes;
using format::no_column;
using format::take_varint;
using format::unzigzag;

namespace {

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> in) : in_(in) {}
  std::uint64_t take(unsigned count) {
    std::uint64_t out = 0;
    for (unsigned i = 0; i < count; ++i, ++at_) {
      if (at_ / 8 >= in_.size()) {
        ended_ = true;
        return 0;
      }
      out |= (static_cast<std::uint64_t>(in_[at_ / 8]) >> (at_ % 8) & 1) << i;
    }
    return out;
  }
  std::uint64_t gamma() {
    unsigned bits = 0;
    while (!ended_ && bits < 64 && take(1) == 0) ++bits;
    if (ended_ || bits >= 64) {
      ended_ = true;
      return 1;
    }
    return take(bits) | std::uint64_t{1} << bits;
  }
  std::uint64_t rice(unsigned parameter) {
    std::uint64_t quotient = 0;
    while (!ended_ && quotient < longest_quotient && take(1)) ++quotient;
    if (quotient == longest_quotient) return take(64);
    return quotient << parameter | take(parameter);
  }
  std::uint64_t bits_left() const { return in_.size() * 8 - at_; }
  bool ended() const { return ended_; }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace

bool SampleReader::open(std::span<const std::byte> data, std::span<const StoredShape> shapes,
                        std::span<const std::int32_t> references, const KeptIterations& which, std::uint64_t count) {
  if (shapes.size() > max_shapes || which.level > format::highest_level) return false;
  data_ = data;
  at_ = 0;
  ordinal_ = block_ = 0;
  which_ = which;
  count_ = count;
  kept_ = damaged_ = false;
  run_ = 0;
  shapes_ = shapes.size();
  std::size_t columns = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (shapes[s].columns > max_columns) return false;
    sampled_[s] = !shapes[s].exact;
    visits_[s] = shapes[s].visits;
    shape_columns_[s] = static_cast<std::uint8_t>(shapes[s].columns);
    first_column_[s] = static_cast<std::uint8_t>(columns);
    if (sampled_[s]) columns += 1U + shape_columns_[s];
  }
  if (columns != references.size()) return false;
  std::copy(references.begin(), references.end(), references_);
  return true;
}

bool SampleReader::next() {
  paths_.clear();
  if (damaged_ || (run_ == 0 && at_ == data_.size())) return false;
  damaged_ = true;  // until this record is complete
  if (block_ > count_ >> which_.level) return false;
  const std::uint64_t ordinal = which_.in_block(block_);
  if (ordinal >= count_) return false;
  if (run_ == 0) {
    std::uint64_t head = 0;
    if (!take_varint(data_, at_, head)) return false;
    if (head & 1) {
      run_ = head / 2;
      if (run_ == 0) return false;
    } else {
      const std::uint64_t bytes = head / 2;
      if (bytes > data_.size() - at_ || bytes > largest_sample_record) return false;
      kept_ = bytes != 0;
      if (kept_ && !decode(data_.subspan(at_, bytes))) return false;
      at_ += bytes;
    }
  }
  if (run_ > 0) {
    --run_;
    kept_ = true;
  }
  ordinal_ = ordinal;
  ++block_;
  damaged_ = false;
  return true;
}

bool SampleReader::decode(std::span<const std::byte> record) {
  BitReader in(record);
  values_.clear();
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (!sampled_[s]) continue;
    const std::uint64_t count = in.gamma() - 1;
    const unsigned columns = shape_columns_[s];
    if (in.ended() || count > in.bits_left() / (columns + 1)) return false;  // a number has at least one bit
    if (count == 0) continue;
    const std::size_t first = paths_.size(), first_value = values_.size();
    paths_.resize(first + count);
    values_.resize(first_value + count * columns);
    unsigned parameter = 0;
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t path = 0;
      if (i == 0) {
        path = static_cast<std::uint64_t>(unzigzag(in.gamma() - 1)) +
               static_cast<std::uint32_t>(references_[first_column_[s]]);
        if (count > 1) parameter = static_cast<unsigned>(in.take(id_parameter_bits));
      } else {
        path = expected + in.rice(parameter);
      }
      if (path > 0xffffffff) return false;
      paths_[first + i] = {static_cast<std::uint32_t>(path), static_cast<std::uint8_t>(s), nullptr};
      expected = path + 1;
    }
    const auto value = [&](std::size_t i, unsigned c) -> std::int64_t& {
      return values_[first_value + i * columns + c];
    };
    const std::uint8_t visits = visits_[s];
    if (visits != no_column) {
      if (visits >= columns) return false;
      parameter = static_cast<unsigned>(in.take(parameter_bits));
      for (std::size_t i = 0; i < count; ++i)
        if ((value(i, visits) = static_cast<std::int64_t>(in.rice(parameter) + 1)) < 0) return false;
    }
    for (unsigned c = 0; c < columns; ++c) {
      if (c == visits) continue;
      parameter = static_cast<unsigned>(in.take(parameter_bits));
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t difference = unzigzag(in.rice(parameter));
        if (difference > INT32_MAX || difference < INT32_MIN) return false;
        value(i, c) = value_of(difference + references_[first_column_[s] + 1 + c] +
                               (visits != no_column ? code_of(value(i, visits)) : 0));
      }
    }
    if (in.ended()) return false;
  }
  std::size_t at = 0;
  for (StoredPath& path : paths_) {
    path.values = values_.data() + at;
    at += shape_columns_[path.shape];
  }
  return true;
}

}  // namespace refrain::experiment

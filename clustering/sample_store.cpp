#include "clustering/sample_store.hpp"

#include <algorithm>
#include <bit>

namespace refrain::clustering {

namespace {

constexpr int fraction_bits = 4;
constexpr unsigned longest_quotient = 20;  ///< so many ones in a row: the number follows as it is, in 64 bits
constexpr unsigned id_parameter_bits = 5, parameter_bits = 3;
constexpr std::uint64_t largest_part = 8;  ///< a record takes at most one in so many of the store's bytes

std::uint64_t zigzag(std::int64_t v) {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
std::int64_t unzigzag(std::uint64_t v) { return static_cast<std::int64_t>(v >> 1 ^ (0 - (v & 1))); }

/// Floating point with 4 bits of fraction; 0 is 0. Order is kept.
std::int32_t code_of(std::int64_t value) {
  if (value == 0) return 0;
  const std::uint64_t magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int exponent = 63 - std::countl_zero(magnitude);
  const int drop = exponent - fraction_bits;
  const std::uint64_t rounded = drop > 0 ? (magnitude + (std::uint64_t{1} << (drop - 1))) >> drop : magnitude << -drop;
  // A fraction that is rounded up to one more runs over into the exponent.
  const auto code = static_cast<std::int32_t>((exponent << fraction_bits) +
                                              static_cast<std::int32_t>(rounded - (1U << fraction_bits)) + 1);
  return value < 0 ? -code : code;
}

std::int64_t value_of(std::int64_t code) {
  if (code == 0) return 0;
  const std::int64_t positive = (code < 0 ? -code : code) - 1;
  const std::int64_t exponent = positive >> fraction_bits;
  const auto fraction = static_cast<std::uint64_t>((1 << fraction_bits) | (positive & ((1 << fraction_bits) - 1)));
  std::uint64_t magnitude = static_cast<std::uint64_t>(INT64_MAX);  // the largest values round up to what does not fit
  if (exponent <= 62)
    magnitude =
        exponent >= fraction_bits ? fraction << (exponent - fraction_bits) : fraction >> (fraction_bits - exponent);
  return code < 0 ? static_cast<std::int64_t>(0 - magnitude) : static_cast<std::int64_t>(magnitude);
}

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
  /// All numbers with the parameter that makes them shortest, which comes first.
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

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

std::size_t put_varint(std::byte* out, std::uint64_t value) {
  std::size_t n = 0;
  for (; value >= 0x80; value >>= 7) out[n++] = static_cast<std::byte>(value | 0x80);
  out[n++] = static_cast<std::byte>(value);
  return n;
}

/// Goes past the varint; false: there is none.
bool take_varint(std::span<const std::byte> in, std::size_t& at, std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 64 && at < in.size(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(in[at++]);
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace

bool SampleStore::create(std::span<const Shape> shapes, std::size_t bytes) {
  destroy();
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

void SampleStore::destroy() {
  if (data_) platform::unmap_pages(data_, capacity_);
  data_ = nullptr;
  capacity_ = used_ = 0;
  stride_ = 1;
  count_ = 0;
  shapes_ = columns_ = 0;
  for (std::int32_t& reference : references_) reference = 0;
  for (bool& has : has_reference_) has = false;
  record_.release();
  sorted_.release();
  numbers_.release();
}

bool SampleStore::encode(std::span<const TouchedPath> paths) {
  record_.clear();
  BitWriter out(record_);
  if (!sorted_.reserve(paths.size()) || !numbers_.resize(paths.size())) return false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (!sampled_[s]) continue;
    sorted_.clear();
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (paths[i].shape == s) (void)sorted_.push_back({static_cast<std::uint64_t>(paths[i].path) << 32 | i});
    std::sort(sorted_.begin(), sorted_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    out.gamma(sorted_.size() + 1);
    if (sorted_.empty()) continue;
    const std::span<std::uint64_t> numbers{numbers_.data(), sorted_.size()};
    const std::uint64_t first = sorted_[0].key >> 32;
    const unsigned start = first_column_[s];
    if (!has_reference_[start]) {
      has_reference_[start] = true;
      references_[start] = static_cast<std::int32_t>(static_cast<std::uint32_t>(first));
    }
    out.gamma(zigzag(static_cast<std::int64_t>(first) - static_cast<std::uint32_t>(references_[start])) + 1);
    std::uint64_t expected = first + 1;
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      const std::uint64_t path = sorted_[i].key >> 32;
      numbers[i] = path - expected;  // a path that comes twice makes it huge, and the record unreadable, not wrong
      expected = path + 1;
    }
    if (sorted_.size() > 1) out.sequence(numbers.subspan(1), id_parameter_bits);
    const auto values = [&](std::size_t i) { return paths[sorted_[i].key & 0xffffffff].values; };
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

/// Every second record goes, the first one stays.
void SampleStore::thin() {
  std::size_t from = 0, to = 0;
  const std::span<const std::byte> all = data();
  for (bool keep = true; from < used_; keep = !keep) {
    const std::size_t begin = from;
    std::uint64_t bytes = 0;
    (void)take_varint(all, from, bytes);
    from += bytes;
    if (!keep) continue;
    std::memmove(data_ + to, data_ + begin, from - begin);
    to += from - begin;
  }
  used_ = to;
  stride_ *= 2;
}

void SampleStore::append(std::span<const TouchedPath> paths) {
  const std::uint64_t ordinal = count_++;
  if ((ordinal & (stride_ - 1)) || !data_) return;
  if (!encode(paths) || record_.size() > capacity_ / largest_part) record_.clear();
  const std::size_t needed = varint_bytes(record_.size()) + record_.size();
  while (used_ + needed > capacity_) {
    thin();
    if (ordinal & (stride_ - 1)) return;
  }
  used_ += put_varint(data_ + used_, record_.size());
  if (record_.size()) std::memcpy(data_ + used_, record_.data(), record_.size());
  used_ += record_.size();
}

bool SampleReader::open(std::span<const std::byte> data, std::span<const Shape> shapes,
                        std::span<const std::int32_t> references, std::uint64_t stride) {
  if (shapes.size() > max_shapes || stride == 0) return false;
  data_ = data;
  at_ = 0;
  ordinal_ = next_ordinal_ = 0;
  stride_ = stride;
  kept_ = damaged_ = false;
  shapes_ = shapes.size();
  std::size_t columns = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (shapes[s].columns.size() > max_columns) return false;
    sampled_[s] = !shapes[s].exact;
    visits_[s] = shapes[s].visits;
    shape_columns_[s] = static_cast<std::uint8_t>(shapes[s].columns.size());
    first_column_[s] = static_cast<std::uint8_t>(columns);
    if (sampled_[s]) columns += 1U + shape_columns_[s];
  }
  if (columns != references.size()) return false;
  std::copy(references.begin(), references.end(), references_);
  return true;
}

bool SampleReader::next() {
  paths_.clear();
  if (damaged_ || at_ == data_.size()) return false;
  damaged_ = true;  // until this record is complete
  std::uint64_t bytes = 0;
  if (!take_varint(data_, at_, bytes) || bytes > data_.size() - at_) return false;
  kept_ = bytes != 0;
  if (kept_ && !decode(data_.subspan(at_, bytes))) return false;
  at_ += bytes;
  ordinal_ = next_ordinal_;
  next_ordinal_ += stride_;
  damaged_ = false;
  return true;
}

bool SampleReader::decode(std::span<const std::byte> record) {
  BitReader in(record);
  values_.clear();
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (!sampled_[s]) continue;
    const std::uint64_t count = in.gamma() - 1;
    if (in.ended() || count > in.bits_left()) return false;  // a path has a bit at least
    if (count == 0) continue;
    const std::size_t first = paths_.size(), first_value = values_.size();
    const unsigned columns = shape_columns_[s];
    if (!paths_.resize(first + count) || !values_.resize(first_value + count * columns)) return false;
    unsigned parameter = 0;
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t path = 0;
      if (i == 0) {
        path = static_cast<std::uint64_t>(unzigzag(in.gamma() - 1) +
                                          static_cast<std::uint32_t>(references_[first_column_[s]]));
        if (count > 1) parameter = static_cast<unsigned>(in.take(id_parameter_bits));
      } else {
        path = expected + in.rice(parameter);
      }
      if (path > 0xffffffff) return false;
      paths_[first + i] = {PathId{static_cast<std::uint32_t>(path)}, static_cast<std::uint8_t>(s), nullptr};
      expected = path + 1;
    }
    const auto value = [&](std::size_t i, unsigned c) -> std::int64_t& {
      return values_[first_value + i * columns + c];
    };
    const std::uint8_t visits = visits_[s];
    if (visits != no_column) {
      if (visits >= columns) return false;
      parameter = static_cast<unsigned>(in.take(parameter_bits));
      for (std::size_t i = 0; i < count; ++i) value(i, visits) = static_cast<std::int64_t>(in.rice(parameter) + 1);
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
  for (TouchedPath& path : std::span{paths_.data(), paths_.size()}) {
    path.values = values_.data() + at;
    at += shape_columns_[path.shape];
  }
  return true;
}

}  // namespace refrain::clustering

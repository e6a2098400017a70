#include "events/codec.hpp"

#include <algorithm>
#include <bit>

#include "events/message_numbers.hpp"
#include "format/bytes.hpp"
#include "platform/hot.hpp"

namespace refrain::events {

using format::wrapping_difference, format::wrapping_sum;

namespace {

// The head byte: the kind in the low bits, flags of the kind above.
constexpr unsigned kind_bits = 4;
constexpr unsigned first_flag = 1u << kind_bits;
constexpr unsigned second_flag = first_flag << 1, third_flag = first_flag << 2, fourth_flag = first_flag << 3;

// Kinds without room in the head have that of Jump and a flag, then a byte with the rest of the kind in its low bits
// and flags of the kind above.
constexpr unsigned is_extended_kind = first_flag, first_extended_kind = 1u << kind_bits;

constexpr std::uint64_t thread_mask = (std::uint64_t{1} << bits_of_thread) - 1;

class Writer {
 public:
  explicit Writer(std::byte* out) : begin_(out), at_(out) {}
  void head(Kind kind, unsigned flags) { *at_++ = static_cast<std::byte>(static_cast<unsigned>(kind) | flags); }
  void extended_head(Kind kind, unsigned flags, unsigned more) {
    head(Kind::Jump, flags | is_extended_kind);
    *at_++ = static_cast<std::byte>((static_cast<unsigned>(kind) - first_extended_kind) | more << kind_bits);
  }
  void number(std::uint64_t value) {
    if (value < 0x80) [[likely]]
      *at_++ = static_cast<std::byte>(value);
    else at_ += format::put_varint(at_, value);
  }
  void difference(std::int64_t value) { number(format::zigzag(value)); }
  /// Writes a number that mostly takes one or two bytes.
  void short_number(std::uint64_t value) {
    if (value >> 14 != 0) [[unlikely]] {
      at_ += format::put_varint(at_, value);
      return;
    }
    const bool takes_two = value >= 0x80;
    format::store_little_endian(at_,
                                static_cast<std::uint16_t>((value & 0x7f) | (value << 1 & 0x7f00) | takes_two << 7));
    at_ += 1 + takes_two;
  }
  void fixed(std::uint64_t value) {
    format::store_little_endian(at_, value);
    at_ += sizeof value;
  }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* at_;
};

/// The flag for the direction of bytes that a message does not have. It says that the message's number follows.
unsigned number_flag(Kind kind) { return kind == Kind::Send ? fourth_flag : third_flag; }

/// A collective operation has its number in front if the reader must be told. It is never cancelled, so the phase
/// Cancelled says so.
bool begins_with_number(const Record& r) {
  return r.kind == Kind::Collective && has_number(r.kind, r.phase) && r.form != NumberForm::Next;
}

unsigned flags_of(const Record& r) {
  if (is_message(r.kind)) {
    const bool has_bytes = r.kind == Kind::Send ? r.bytes_sent != 0 : r.bytes_received != 0;
    return static_cast<unsigned>(r.phase) * first_flag |
           (has_bytes ? number_flag(r.kind == Kind::Send ? Kind::Receive : Kind::Send) : 0) |
           (has_number(r.kind, r.phase) && r.form != NumberForm::Next ? number_flag(r.kind) : 0);
  }
  if (is_communication(r.kind)) {
    const Phase phase = begins_with_number(r) ? Phase::Cancelled : r.phase;
    return static_cast<unsigned>(phase) * first_flag | (r.bytes_sent ? third_flag : 0) |
           (r.bytes_received ? fourth_flag : 0);
  }
  switch (r.kind) {
    case Kind::Mark: return (r.begins ? first_flag : 0) | (r.is_loop ? second_flag : 0) | (r.is_whole ? third_flag : 0);
    case Kind::Span: return r.is_within ? first_flag : 0;
    default: return 0;
  }
}

// A number of a message: its form in the low bits, the ordinal above.
enum NumberCode : unsigned { NoNumber = 0, OfOneTag = 1, WithTags = 2, NearNext = 3 };
constexpr unsigned number_bits = 2;

std::uint64_t number_of(const Record& r) {
  switch (r.form) {
    case NumberForm::Near: return r.ordinal << number_bits | NearNext;
    case NumberForm::OneTag: return r.ordinal << number_bits | OfOneTag;
    case NumberForm::Full: return r.ordinal << number_bits | WithTags;
    default: return NoNumber;
  }
}

void write_number(const Record& r, Writer& out) {
  if (r.form == NumberForm::Next) return;
  out.number(number_of(r));
  if (r.form == NumberForm::Full) out.fixed(r.tags_before);
}

/// The number of a collective operation, with the rest of the phase in the lowest bit.
void write_first_number(const Record& r, Writer& out) {
  out.number(number_of(r) << 1 | (r.phase == Phase::Begun ? 1 : 0));
  if (r.form == NumberForm::Full) out.fixed(r.tags_before);
}

void write_communication(const Record& r, Context& c, Writer& out) {
  if (begins_with_number(r)) write_first_number(r, out);
  out.difference(r.peer);
  if (is_message(r.kind)) out.difference(r.tag);
  out.difference(r.communicator);
  if (r.phase != Phase::Whole) {
    const std::uint64_t count = r.request >> bits_of_thread;
    out.difference(static_cast<std::int64_t>(count - c.request));
    out.difference(static_cast<std::int64_t>(r.request & thread_mask) - c.thread);
    c.request = count;
    if (r.phase != Phase::Begun) {
      out.difference(wrapping_difference(r.begun_thread, c.thread));
      out.number(r.begun_node);
    }
  }
  if (r.bytes_sent && r.kind != Kind::Receive) out.difference(r.bytes_sent);
  if (r.bytes_received && r.kind != Kind::Send) out.difference(r.bytes_received);
  if (is_message(r.kind) && has_number(r.kind, r.phase)) write_number(r, out);
}

void write_metric(const Record& r, Context& c, Writer& out) {
  out.extended_head(Kind::Metric, (r.is_within ? second_flag : 0) | (r.is_whole ? third_flag : 0), r.region);
  out.difference(wrapping_difference(r.time, c.time));
  out.difference(r.value);
  c.time = r.time;
}

// Flags of a synchronization: the high bits of the second byte.
constexpr unsigned has_peer = 1, is_exclusive = 2, has_ordinal = 4;

void write_synchronization(const Record& r, Writer& out) {
  out.extended_head(Kind::Synchronization, 0,
                    (r.peer != no_peer ? has_peer : 0) | (r.tag == exclusive_lock ? is_exclusive : 0) |
                        (r.ordinal != no_ordinal ? has_ordinal : 0));
  out.difference(r.communicator);
  if (r.peer != no_peer) out.difference(r.peer);
  if (r.ordinal != no_ordinal) out.number(r.ordinal);
}

/// Reads numbers without checking bounds: there must be `max_read` bytes, which no record exceeds, however malformed
/// it is.
class Reader {
 public:
  /// A head, at most ten numbers, and the sum of hashes.
  static constexpr std::size_t max_read = 1 + 10 * format::longest_varint + sizeof(std::uint64_t);

  explicit Reader(const std::byte* in) : begin_(in), at_(in) {}
  std::uint64_t number() {
    if (*at_ < std::byte{0x80}) [[likely]]
      return static_cast<std::uint64_t>(*at_++);
    return any_number();
  }
  /// Reads a number that mostly takes several bytes, without a branch for each, because their count changes from one
  /// number to the next.
  std::uint64_t large_number() {
    constexpr std::uint32_t last_bits = 0x80808080;
    const auto bytes = format::load_little_endian<std::uint32_t>(at_);
    const std::uint32_t last = ~bytes & last_bits;
    if (last == 0) [[unlikely]]
      return any_number();
    at_ += static_cast<unsigned>(std::countr_zero(last) + 1) / 8;
    std::uint32_t value = bytes & (last ^ (last - 1)) & ~last_bits;
    value = (value & 0x007f007f) | (value & 0x7f007f00) >> 1;
    return (value & 0x00003fff) | (value & 0x3fff0000) >> 2;
  }
  std::uint64_t fixed() {
    at_ += sizeof(std::uint64_t);
    return format::load_little_endian<std::uint64_t>(at_ - sizeof(std::uint64_t));
  }
  unsigned head() { return static_cast<unsigned>(*at_++); }
  void refuse() { good_ = false; }
  bool good() const { return good_; }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  struct Number {
    std::uint64_t value;
    std::size_t size;  ///< 0: malformed
  };
  /// Static, so that the members can stay in registers.
  [[gnu::noinline]] static Number take_number(const std::byte* in) {
    Number number{0, 0};
    if (!format::take_varint({in, format::longest_varint}, number.size, number.value)) number.size = 0;
    return number;
  }
  std::uint64_t any_number() {
    const Number number = take_number(at_);
    at_ += number.size;
    good_ &= number.size != 0;
    return number.value;
  }
  const std::byte* begin_;
  const std::byte* at_;
  bool good_ = true;
};

[[gnu::always_inline]] inline std::int64_t read_difference(Reader& in) { return format::unzigzag(in.number()); }
[[gnu::always_inline]] inline std::int64_t read_large_difference(Reader& in) {
  return format::unzigzag(in.large_number());
}
/// Reads a number of 32 bits; a larger one is malformed.
[[gnu::always_inline]] inline std::int32_t read_narrow(Reader& in) {
  const std::int64_t value = read_difference(in);
  if (value != static_cast<std::int32_t>(value)) in.refuse();
  return static_cast<std::int32_t>(value);
}

[[gnu::always_inline]] inline void read_number(std::uint64_t number, Record& r, Reader& in) {
  constexpr NumberForm forms[] = {NumberForm::None, NumberForm::OneTag, NumberForm::Full, NumberForm::Near};
  r.form = forms[number & ((1u << number_bits) - 1)];
  r.ordinal = number >> number_bits;
  if (r.form == NumberForm::None && r.ordinal != 0) in.refuse();
  if (r.form == NumberForm::Full) r.tags_before = in.fixed();
}

/// Kind and phase are not read back from the record: a load of two bytes that were just stored one by one waits for
/// both stores.
[[gnu::always_inline]] inline void read_communication(Kind kind, unsigned head, Record& r, Context& c, Reader& in) {
  Phase phase = static_cast<Phase>(head / first_flag & 3);
  if (kind == Kind::Collective && phase == Phase::Cancelled) {
    const std::uint64_t number = in.number();
    phase = number & 1 ? Phase::Begun : Phase::Whole;
    read_number(number >> 1, r, in);
  }
  r.phase = phase;
  r.peer = read_narrow(in);
  if (is_message(kind)) r.tag = read_narrow(in);
  r.communicator = read_narrow(in);
  if (phase != Phase::Whole) {
    c.request += static_cast<std::uint64_t>(read_difference(in));
    const auto thread = static_cast<std::uint64_t>(wrapping_sum(read_difference(in), c.thread));
    r.request = c.request << bits_of_thread | (thread & thread_mask);
    if (phase != Phase::Begun) {
      r.begun_thread = static_cast<std::int32_t>(wrapping_sum(read_difference(in), c.thread));
      r.begun_node = static_cast<std::uint32_t>(in.number());
    }
  }
  if (head & third_flag && kind != Kind::Receive) r.bytes_sent = read_large_difference(in);
  if (head & fourth_flag && kind != Kind::Send) r.bytes_received = read_large_difference(in);
  if (is_message(kind) && head & number_flag(kind)) {
    if (has_number(kind, phase)) read_number(in.number(), r, in);
    else in.refuse();
  }
}

void read_metric(unsigned head, unsigned more, Record& r, Context& c, Reader& in) {
  r.is_within = head & second_flag;
  r.is_whole = head & third_flag;
  r.region = static_cast<std::uint16_t>(more);
  r.time = c.time = wrapping_sum(c.time, read_large_difference(in));
  r.value = read_large_difference(in);
}

void read_synchronization(unsigned head, unsigned more, Record& r, const Context& c, Reader& in) {
  constexpr unsigned no_flags = second_flag | third_flag | fourth_flag;
  if (head & no_flags || more > (has_peer | is_exclusive | has_ordinal)) in.refuse();
  r.time = c.time;
  r.tag = more & is_exclusive ? exclusive_lock : any_tag;
  r.communicator = read_narrow(in);
  r.peer = more & has_peer ? read_narrow(in) : no_peer;
  r.ordinal = more & has_ordinal ? in.number() : no_ordinal;
}

/// Like decode().
[[gnu::always_inline]] inline std::size_t decode_from(Reader in, Context& c, Record& r) {
  const unsigned head = in.head();
  r = Record{};
  const Kind kind = static_cast<Kind>(head & (first_flag - 1));
  r.kind = kind;
  if (kind == Kind::Jump && head & is_extended_kind) {
    const unsigned second = in.head();
    const Kind extended_kind = static_cast<Kind>(first_extended_kind + (second & (first_flag - 1)));
    r.kind = extended_kind;
    if (extended_kind == Kind::Metric) read_metric(head, second >> kind_bits, r, c, in);
    else if (extended_kind == Kind::Synchronization) read_synchronization(head, second >> kind_bits, r, c, in);
    else return 0;
    return in.good() ? in.size() : 0;
  }
  if (is_communication(kind)) {
    r.time = c.time;
    read_communication(kind, head, r, c, in);
    return in.good() ? in.size() : 0;
  }
  if (kind == Kind::Jump) {
    r.time = read_difference(in);
    r.request = in.number();
    r.node = static_cast<std::uint32_t>(in.number());
    c = {r.time, r.request, r.node, c.thread};
    return in.good() ? in.size() : 0;
  }
  r.time = c.time = wrapping_sum(c.time, read_large_difference(in));
  const auto read_node = [&] {
    r.node = c.node = static_cast<std::uint32_t>(wrapping_sum(c.node, read_difference(in)));
  };
  const auto read_region = [&] {
    const std::uint64_t region = in.number();
    if (region > 0xffff) in.refuse();
    r.region = static_cast<std::uint16_t>(region);
  };
  switch (kind) {
    case Kind::Call:
      r.is_whole = head & first_flag;
      r.is_io = head & second_flag;
      r.is_within = head & third_flag;
      r.begin = wrapping_difference(r.time, read_large_difference(in));
      read_node();
      read_region();
      if (head & fourth_flag) r.value = read_large_difference(in);
      break;
    case Kind::Sample:
      read_node();
      r.value = read_difference(in);
      break;
    case Kind::Mark:
      r.begins = head & first_flag;
      r.is_loop = head & second_flag;
      r.is_whole = head & third_flag;
      read_node();
      read_region();
      break;
    case Kind::Span:
      r.is_within = head & first_flag;
      r.begin = wrapping_difference(r.time, read_large_difference(in));
      read_region();
      r.value = read_difference(in);
      if (r.region == stretches) {
        r.node = static_cast<std::uint32_t>(in.number());
        r.begun_node = static_cast<std::uint32_t>(in.number());
        r.request = in.number();
      }
      break;
    case Kind::Gap: r.value = read_difference(in); break;
    case Kind::Flush: r.begin = wrapping_difference(r.time, read_large_difference(in)); break;
    default: break;
  }
  return in.good() ? in.size() : 0;
}

/// Decodes from fewer bytes than `max_read`. A read beyond their end means that there is no complete record.
[[gnu::noinline]] std::size_t decode_last(std::span<const std::byte> bytes, Context& c, Record& r) {
  std::byte padded[Reader::max_read] = {};
  std::ranges::copy(bytes, padded);
  const std::size_t size = decode_from(Reader(padded), c, r);
  return size <= bytes.size() ? size : 0;
}

[[gnu::always_inline]] inline std::size_t encode_call(const CallRecord& call, unsigned other_flags, Context& c,
                                                      std::byte* bytes) {
  Writer out(bytes);
  out.head(Kind::Call, (call.is_whole ? first_flag : 0) | other_flags);
  out.short_number(format::zigzag(wrapping_difference(call.time, c.time)));
  out.short_number(format::zigzag(wrapping_difference(call.time, call.begin)));
  out.short_number(format::zigzag(wrapping_difference(call.node, c.node)));
  out.short_number(call.region);
  c.time = call.time;
  c.node = call.node;
  return out.size();
}

}  // namespace

REFRAIN_HOT_CODE std::size_t encode(const CallRecord& call, Context& c, std::byte* bytes) {
  return encode_call(call, 0, c, bytes);
}

std::size_t encode(const Record& r, Context& c, std::byte* bytes) {
  if (r.kind == Kind::Call) {
    const unsigned flags =
        (r.is_io ? second_flag : 0) | (r.is_within ? third_flag : 0) | (r.value != 0 ? fourth_flag : 0);
    std::size_t size = encode_call({r.is_whole, r.region, r.node, r.begin, r.time}, flags, c, bytes);
    if (r.value != 0) size += format::put_varint(bytes + size, format::zigzag(r.value));
    return size;
  }
  Writer out(bytes);
  if (r.kind == Kind::Metric) {
    write_metric(r, c, out);
    return out.size();
  }
  if (r.kind == Kind::Synchronization) {
    write_synchronization(r, out);
    return out.size();
  }
  out.head(r.kind, flags_of(r));
  if (is_communication(r.kind)) {
    write_communication(r, c, out);
    return out.size();
  }
  if (r.kind == Kind::Jump) {
    out.difference(r.time);
    out.number(r.request);
    out.number(r.node);
    c = {r.time, r.request, r.node, c.thread};
    return out.size();
  }
  out.difference(wrapping_difference(r.time, c.time));
  c.time = r.time;
  switch (r.kind) {
    case Kind::Sample:
      out.difference(wrapping_difference(r.node, c.node));
      out.difference(r.value);
      c.node = r.node;
      break;
    case Kind::Mark:
      out.difference(wrapping_difference(r.node, c.node));
      out.number(r.region);
      c.node = r.node;
      break;
    case Kind::Span:
      out.difference(wrapping_difference(r.time, r.begin));
      out.number(r.region);
      out.difference(r.value);
      if (r.region == stretches) {
        out.number(r.node);
        out.number(r.begun_node);
        out.number(r.request);
      }
      break;
    case Kind::Gap: out.difference(r.value); break;
    case Kind::Flush: out.difference(wrapping_difference(r.time, r.begin)); break;
    default: break;
  }
  return out.size();
}

std::size_t decode(std::span<const std::byte> bytes, Context& c, Record& r) {
  if (bytes.size() >= Reader::max_read) [[likely]]
    return decode_from(Reader(bytes.data()), c, r);
  return decode_last(bytes, c, r);
}

}  // namespace refrain::events

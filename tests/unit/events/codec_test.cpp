// Records come back as they were written, whatever they contain; bytes that are not records are refused.

#include "events/codec.hpp"

#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "events/message_numbers.hpp"

namespace refrain::events {
namespace {

/// Random records: every field of the kind, with extreme values among them.
class RandomRecords {
 public:
  explicit RandomRecords(unsigned seed) : random_(seed) {}

  Record next() {
    Record r;
    r.kind = static_cast<Kind>(random_() % kinds);
    if (r.kind == Kind::Synchronization) {
      r.time = time_;
      r.communicator = number<std::int32_t>();
      r.peer = random_() % 2 == 0 ? no_peer : number<std::int32_t>();
      r.tag = random_() % 2 == 0 ? any_tag : exclusive_lock;
      r.ordinal = random_() % 2 == 0 ? no_ordinal : number<std::uint64_t>();
      return r;
    }
    if (is_communication(r.kind)) {
      r.time = time_;
      r.phase = static_cast<Phase>(random_() % (r.kind == Kind::Collective ? 3 : 4));  // these are never cancelled
      r.peer = number<std::int32_t>();
      if (is_message(r.kind)) r.tag = number<std::int32_t>();
      r.communicator = number<std::int32_t>();
      if (r.phase != Phase::Whole) r.request = number<std::uint64_t>();
      if (r.phase >= Phase::Completed) {
        r.begun_thread = number<std::int32_t>();
        r.begun_node = number<std::uint32_t>();
      }
      if (r.kind != Kind::Receive) r.bytes_sent = number<std::int64_t>();
      if (r.kind != Kind::Send) r.bytes_received = number<std::int64_t>();
      if (has_number(r.kind, r.phase)) {
        r.form = static_cast<NumberForm>(random_() % 5);
        if (r.form >= NumberForm::Near) r.ordinal = number<std::uint64_t>() >> 3;
        if (r.form == NumberForm::Full) r.tags_before = number<std::uint64_t>();
      }
      return r;
    }
    r.time = time_ = number<std::int64_t>();
    if (r.kind == Kind::Jump) {
      r.request = number<std::uint64_t>();
      r.node = number<std::uint32_t>();
      return r;
    }
    const auto bit = [&] { return random_() % 2 == 0; };
    switch (r.kind) {
      case Kind::Call:
        r.begin = number<std::int64_t>();
        r.is_whole = bit();
        r.is_io = bit();
        r.is_within = bit();
        r.node = number<std::uint32_t>();
        r.region = number<std::uint16_t>();
        r.value = bit() ? 0 : number<std::int64_t>();
        break;
      case Kind::Sample:
        r.node = number<std::uint32_t>();
        r.value = number<std::int64_t>();
        break;
      case Kind::Mark:
        r.begins = bit();
        r.is_loop = bit();
        r.is_whole = bit();
        r.node = number<std::uint32_t>();
        r.region = number<std::uint16_t>();
        break;
      case Kind::Span:
        r.is_within = bit();
        r.begin = number<std::int64_t>();
        r.region = bit() ? stretches : number<std::uint16_t>();
        r.value = number<std::int64_t>();
        if (r.region == stretches) {
          r.node = number<std::uint32_t>();
          r.begun_node = number<std::uint32_t>();
          r.request = number<std::uint64_t>();
        }
        break;
      case Kind::Metric:
        r.is_within = bit();
        r.is_whole = bit();
        r.region = static_cast<std::uint16_t>(number<std::uint16_t>() % max_metrics);
        r.value = number<std::int64_t>();
        break;
      case Kind::Gap: r.value = number<std::int64_t>(); break;
      case Kind::Flush: r.begin = number<std::int64_t>(); break;
      default: break;
    }
    return r;
  }

 private:
  template <class T>
  T number() {
    switch (random_() % 4) {
      case 0: return static_cast<T>(random_() % 8);
      case 1: return std::numeric_limits<T>::max();
      case 2: return std::numeric_limits<T>::min();
      default: return static_cast<T>(random_());
    }
  }
  std::mt19937_64 random_;
  std::int64_t time_ = 0;
};

void expect_same(const Record& a, const Record& b) {
  ASSERT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.is_whole, b.is_whole);
  EXPECT_EQ(a.is_io, b.is_io);
  EXPECT_EQ(a.is_within, b.is_within);
  EXPECT_EQ(a.begins, b.begins);
  EXPECT_EQ(a.is_loop, b.is_loop);
  EXPECT_EQ(a.region, b.region);
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.peer, b.peer);
  EXPECT_EQ(a.tag, b.tag);
  EXPECT_EQ(a.communicator, b.communicator);
  EXPECT_EQ(a.begun_thread, b.begun_thread);
  EXPECT_EQ(a.begun_node, b.begun_node);
  EXPECT_EQ(a.request, b.request);
  EXPECT_EQ(a.bytes_sent, b.bytes_sent);
  EXPECT_EQ(a.bytes_received, b.bytes_received);
  EXPECT_EQ(a.form, b.form);
  EXPECT_EQ(a.ordinal, b.ordinal);
  EXPECT_EQ(a.tags_before, b.tags_before);
}

TEST(Codec, records_come_back_as_they_were) {
  for (const std::int32_t thread : {0, 7, 0x7fffff}) {
    RandomRecords random(static_cast<unsigned>(thread) + 1);
    Context written{.thread = thread}, read = written;
    for (int i = 0; i < 100'000; ++i) {
      const Record record = random.next();
      std::array<std::byte, longest_record> bytes;
      const std::size_t size = encode(record, written, bytes.data());
      ASSERT_LE(size, longest_record);
      Record back;
      ASSERT_EQ(size, decode(std::span(bytes).first(size), read, back)) << i;
      expect_same(record, back);
      ASSERT_EQ(written, read);
      if (testing::Test::HasFailure()) FAIL() << "record " << i;
    }
  }
}

TEST(Codec, what_is_cut_is_refused) {
  RandomRecords random(3);
  for (int i = 0; i < 1000; ++i) {
    const Record record = random.next();
    std::array<std::byte, longest_record> bytes;
    Context context;
    const std::size_t size = encode(record, context, bytes.data());
    for (std::size_t less = 0; less < size; ++less) {
      Context read;
      Record back;
      EXPECT_EQ(0u, decode(std::span(bytes).first(less), read, back));
    }
  }
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

/// The bytes are those that versions 1 and 2 have written.
TEST(Codec, records_without_metrics_have_the_bytes_that_they_always_had) {
  std::string text;
  Context context{.thread = 3};
  for (unsigned kind = 0; kind < 16; ++kind) {
    Record r;
    r.kind = static_cast<Kind>(kind);
    r.time = 1000 * (kind + 1);
    r.begin = r.time - 70;
    r.is_whole = r.is_io = r.is_within = r.begins = true;
    r.node = 5 + kind;
    r.region = static_cast<std::uint16_t>(300 + kind);
    r.value = r.kind == Kind::Call ? 0 : -9 - static_cast<std::int64_t>(kind);
    r.peer = 1;
    r.tag = 7;
    r.communicator = 2;
    r.bytes_sent = 4096;
    r.bytes_received = 17;
    if (is_communication(r.kind)) r.phase = static_cast<Phase>(kind % 3);
    if (r.kind == Kind::Synchronization) r.tag = exclusive_lock, r.ordinal = 300;
    r.request = std::uint64_t{kind} << bits_of_thread | 3;
    r.begun_node = 11;
    std::array<std::byte, longest_record> bytes;
    text += hexadecimal(std::span(bytes).first(encode(r, context, bytes.data()))) + " ";
  }
  EXPECT_EQ(
      "70d00f8c010aac02 51020e0402008040 a2020e040200050b22 c30204804022 d402040400804022 e502040200050b804022 "
      "c60204804022 d7020"
      "40400804022 e802040200050b804022 09d08c011223 5ad00f02b602 1bd00f8c01b70227 0cd00f29 0dd00f8c01 0ed00f "
      "0f80fa018380807814 ",
      text);
}

TEST(Codec, of_a_call_the_time_off_the_cpu_takes_room_only_where_there_is_some) {
  Record call;
  call.kind = Kind::Call;
  call.is_whole = true;
  call.node = 12;
  call.region = 100;
  call.begin = 5000;
  call.time = 9000;
  std::array<std::byte, longest_record> bytes;
  Context writer, slim_writer, reader;
  const std::size_t without = encode(call, writer, bytes.data());
  EXPECT_EQ(without, encode(CallRecord{true, 100, 12, 5000, 9000}, slim_writer, bytes.data()));
  EXPECT_EQ(0u, std::to_integer<unsigned>(bytes[0]) >> 7) << "the head is that of versions before";
  writer = {};
  call.value = 1500;
  ASSERT_EQ(without + 2, encode(call, writer, bytes.data()));
  EXPECT_EQ(0x90u, std::to_integer<unsigned>(bytes[0]));
  Record read;
  ASSERT_EQ(without + 2, decode(bytes, reader, read));
  expect_same(call, read);
  EXPECT_EQ(writer, reader);
  EXPECT_EQ(0u, decode(std::span(bytes).first(without + 1), slim_writer = {}, read)) << "it is cut off";
}

/// Numbers of calls mostly take one or two bytes.
TEST(Codec, numbers_of_calls_come_back_at_each_border) {
  Context written, read;
  for (const std::uint32_t number :
       {0U, 1U, 0x3fU, 0x40U, 0x7fU, 0x80U, 0x81U, 0x1fffU, 0x2000U, 0x3fffU, 0x4000U, 0x4001U, 0xffffU}) {
    const std::int64_t begin = written.time + number;
    const CallRecord call{true, static_cast<std::uint16_t>(number), written.node + number, begin, begin + number};
    std::array<std::byte, longest_record> bytes{};
    const std::size_t size = encode(call, written, bytes.data());
    Record back;
    ASSERT_EQ(size, decode(std::span(bytes).first(size), read, back)) << number;
    EXPECT_EQ(call.region, back.region) << number;
    EXPECT_EQ(call.node, back.node) << number;
    EXPECT_EQ(call.begin, back.begin) << number;
    EXPECT_EQ(call.time, back.time) << number;
    ASSERT_EQ(written, read) << number;
  }
}

TEST(Codec, a_kind_behind_the_last_one_is_refused) {
  Context context;
  Record record;
  const std::array known{std::byte{0x1f}, std::byte{0x20}, std::byte{4}, std::byte{6}};
  ASSERT_EQ(known.size(), decode(known, context, record));
  EXPECT_EQ(Kind::Metric, record.kind);
  EXPECT_EQ(2, record.region);
  EXPECT_EQ(2, record.time);
  EXPECT_EQ(3, record.value);
  for (unsigned later = 2; later < 16; ++later) {
    const std::array unknown{std::byte{0x1f}, std::byte(later), std::byte{4}, std::byte{6}};
    EXPECT_EQ(0u, decode(unknown, context, record));
  }
}

TEST(Codec, any_bytes_are_read_or_refused) {
  std::mt19937 random(5);
  std::vector<std::byte> bytes(1 << 20);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  std::size_t records = 0, refused = 0;
  Context context;
  for (std::size_t at = 0; at < bytes.size();) {
    Record record;
    const std::size_t size = decode(std::span(bytes).subspan(at), context, record);
    ASSERT_LE(size, bytes.size() - at);
    (size > 0 ? records : refused) += 1;
    at += size > 0 ? size : 1;
  }
  EXPECT_GT(records, 1000u);
  EXPECT_GT(refused, 1000u);
}

TEST(Codec, calls_of_one_kind_take_few_bytes) {
  Context context;
  std::size_t bytes = 0;
  std::array<std::byte, longest_record> out;
  for (std::int64_t i = 0; i < 1000; ++i) {
    Record call;
    call.kind = Kind::Call;
    call.is_whole = true;
    call.node = 12;
    call.region = 100;
    call.begin = 1'000'000'000'000 + i * 20'000;
    call.time = call.begin + 900;
    bytes += encode(call, context, out.data());
  }
  EXPECT_LT(bytes, 9 * 1000u);
}

}  // namespace
}  // namespace refrain::events

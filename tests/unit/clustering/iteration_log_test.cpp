#include "clustering/iteration_log.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "offline/experiment/iteration_log_reader.hpp"

namespace refrain::clustering {
namespace {

using experiment::IterationLogReader;
using format::rounded_code;
using format::rounded_error;
using format::rounded_value;

using Row = std::vector<std::int64_t>;

std::vector<Precision> mixed_columns() {
  return {Precision::Exact, Precision::Rounded, Precision::Exact, Precision::NotKept};
}

std::int64_t any_value(std::mt19937_64& random) {
  const int bits = static_cast<int>(random() % 64);
  const auto value = static_cast<std::int64_t>(random() >> 1 >> (62 - (bits ? bits - 1 : 0)));
  return random() % 8 == 0 ? -value : value;
}

struct Written {
  std::vector<std::vector<std::byte>> blocks;
  std::vector<Row> rows;
  std::vector<Label> labels;
};

Written write_log(const std::vector<Precision>& columns, std::size_t iterations, std::size_t block_bytes,
                  unsigned seed) {
  std::mt19937_64 random(seed);
  Written out;
  IterationLog log;
  EXPECT_TRUE(log.create(columns, block_bytes));
  const auto close = [&] {
    const auto block = log.closed();
    out.blocks.emplace_back(block.begin(), block.end());
    log.start_block();
  };
  Row row(columns.size());
  for (std::size_t i = 0; i < iterations; ++i) {
    for (auto& value : row)
      if (random() % 3) value = any_value(random);
    const Label label{static_cast<std::uint32_t>(random() >> (random() % 2 ? 32 : 58))};
    if (log.append(1000 + i, label, row) == IterationLog::Appended::BlockFull) {
      close();
      EXPECT_EQ(log.append(1000 + i, label, row), IterationLog::Appended::Yes);
    }
    out.rows.push_back(row);
    out.labels.push_back(label);
  }
  close();
  return out;
}

TEST(IterationLog, what_is_read_is_what_was_written_to_the_stated_precision) {
  const auto columns = mixed_columns();
  const Written written = write_log(columns, 5000, 4096, 1);
  EXPECT_GT(written.blocks.size(), 5U);
  std::size_t at = 0;
  for (const auto& block : written.blocks) {
    EXPECT_LE(block.size(), 4096U);
    IterationLogReader reader;
    ASSERT_TRUE(reader.open(block, columns));
    EXPECT_EQ(reader.first(), 1000 + at);
    Label label{};
    std::int64_t row[max_overall];
    std::uint32_t count = 0;
    while (reader.next(label, row)) {
      ASSERT_LT(at, written.rows.size());
      EXPECT_EQ(label, written.labels[at]);
      EXPECT_EQ(row[0], written.rows[at][0]);
      EXPECT_EQ(row[2], written.rows[at][2]);
      EXPECT_EQ(row[3], 0);
      const auto truth = static_cast<double>(written.rows[at][1]);
      EXPECT_LE(std::fabs(static_cast<double>(row[1]) - truth), rounded_error * std::fabs(truth)) << truth;
      ++at;
      ++count;
    }
    EXPECT_FALSE(reader.damaged());
    EXPECT_EQ(count, reader.count());
  }
  EXPECT_EQ(at, written.rows.size());
}

TEST(IterationLog, a_gap_in_the_iterations_ends_the_block) {
  const std::vector<Precision> columns{Precision::Exact};
  IterationLog log;
  ASSERT_TRUE(log.create(columns));
  const Row row{1};
  EXPECT_EQ(log.append(7, Label{0}, row), IterationLog::Appended::Yes);
  EXPECT_EQ(log.append(8, Label{0}, row), IterationLog::Appended::Yes);
  EXPECT_EQ(log.append(10, Label{0}, row), IterationLog::Appended::BlockFull);
  log.start_block();
  EXPECT_TRUE(log.closed().empty());
  EXPECT_EQ(log.append(10, Label{0}, row), IterationLog::Appended::Yes);
}

TEST(IterationLog, iterations_without_a_thread_take_one_block_that_earlier_readers_find_empty) {
  IterationLog log;
  ASSERT_TRUE(log.create(mixed_columns()));
  const auto block = log.absence(12, 1'000'000'000'000);
  // As docs/file-format.md has it.
  constexpr std::array<unsigned char, 32> bytes{'R', 'I', 'T', 'L', 32, 0, 0, 0, 12, 0,    0,    0,    0,    0, 0, 0,
                                                0,   0,   0,   0,   4,  0, 1, 0, 0,  0x10, 0xa5, 0xd4, 0xe8, 0, 0, 0};
  EXPECT_EQ(std::memcmp(block.data(), bytes.data(), sizeof bytes), 0);
  IterationLogReader reader;
  ASSERT_TRUE(reader.open(block, mixed_columns()));
  EXPECT_EQ(reader.first(), 12U);
  EXPECT_EQ(reader.absent(), 1'000'000'000'000U);
  EXPECT_EQ(reader.count(), 0U);
  Label label{};
  std::int64_t row[max_overall];
  EXPECT_FALSE(reader.next(label, row));
  EXPECT_FALSE(reader.damaged());
  ASSERT_EQ(log.append(0, Label{0}, Row(4, 1)), IterationLog::Appended::Yes);
  ASSERT_TRUE(reader.open(log.closed(), mixed_columns()));
  EXPECT_EQ(reader.absent(), 0U);
}

TEST(IterationLog, unchanged_columns_cost_nothing) {
  const std::vector<Precision> columns(15);
  IterationLog log;
  ASSERT_TRUE(log.create(columns));
  const Row row(15, 123456789);
  ASSERT_EQ(log.append(0, Label{3}, row), IterationLog::Appended::Yes);
  const std::size_t first = log.bytes();
  for (int i = 1; i <= 100; ++i) ASSERT_EQ(log.append(i, Label{3}, row), IterationLog::Appended::Yes);
  EXPECT_LE(log.bytes() - first, 102U);  // a byte each, after a record that says so
}

TEST(IterationLog, rounding_is_within_its_bound_ordered_and_exact_for_small_integers) {
  for (std::int64_t v = -2048; v <= 2048; ++v) EXPECT_EQ(rounded_value(rounded_code(v)), v);
  std::mt19937_64 random(2);
  std::int64_t low = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::int64_t value = any_value(random);
    const auto truth = static_cast<double>(value);
    ASSERT_LE(std::fabs(static_cast<double>(rounded_value(rounded_code(value))) - truth),
              rounded_error * std::fabs(truth));
    const auto [a, b] = std::minmax(value, low);
    ASSERT_LE(rounded_code(a), rounded_code(b));
    low = value;
  }
  for (const std::int64_t v : {INT64_MAX, INT64_MIN + 1, INT64_MIN})
    EXPECT_NEAR(static_cast<double>(rounded_value(rounded_code(v))) / static_cast<double>(v), 1, rounded_error);
}

TEST(IterationLog, damaged_blocks_are_refused_and_never_read_outside) {
  const auto columns = mixed_columns();
  const Written written = write_log(columns, 300, 2048, 3);
  std::mt19937_64 random(4);
  const auto read_all = [&](std::span<const std::byte> block) {
    IterationLogReader reader;
    if (!reader.open(block, columns)) return std::uint32_t{0};
    Label label{};
    std::int64_t row[max_overall];
    std::uint32_t count = 0;
    while (reader.next(label, row)) ++count;
    EXPECT_TRUE(reader.damaged() || count == reader.count());
    return count;
  };
  const auto& block = written.blocks[0];
  const std::uint32_t whole = read_all(block);
  EXPECT_GT(whole, 20U);
  for (std::size_t length = 0; length < block.size(); ++length) {
    const std::vector<std::byte> cut(block.begin(),
                                     block.begin() + static_cast<std::ptrdiff_t>(length));  // its own heap block
    EXPECT_EQ(read_all(cut), 0U);
  }
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bad = block;
    for (int flips = 0; flips < 4; ++flips) bad[random() % bad.size()] ^= static_cast<std::byte>(1U << random() % 8);
    EXPECT_LE(read_all(bad), bad.size());
  }
  // The length in the header says less than the records need.
  std::vector<std::byte> shorter = block;
  shorter[4] = static_cast<std::byte>(static_cast<unsigned>(shorter[4]) / 2);
  shorter[5] = std::byte{2};
  EXPECT_LT(read_all(shorter), whole);
}

}  // namespace
}  // namespace refrain::clustering

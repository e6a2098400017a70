#include "clustering/iteration_log.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/experiment/iteration_log_reader.hpp"

namespace refrain::clustering {
namespace {

using experiment::IterationLogReader;
using experiment::LoggedItem;
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
    LoggedItem item;
    std::uint64_t count = 0;
    while (reader.next(item)) {
      ASSERT_LT(at, written.rows.size());
      EXPECT_FALSE(item.run);
      EXPECT_EQ(item.count, 1U);
      EXPECT_EQ(item.label, written.labels[at]);
      EXPECT_EQ(item.row[0], written.rows[at][0]);
      EXPECT_EQ(item.row[2], written.rows[at][2]);
      EXPECT_EQ(item.row[3], 0);
      const auto truth = static_cast<double>(written.rows[at][1]);
      EXPECT_LE(std::fabs(static_cast<double>(item.row[1]) - truth), rounded_error * std::fabs(truth)) << truth;
      ++at;
      ++count;
    }
    EXPECT_FALSE(reader.damaged());
    EXPECT_EQ(count, reader.covered());
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

/// What a log has, item by item, over all of its blocks.
std::vector<LoggedItem> items_of(const std::vector<std::vector<std::byte>>& blocks,
                                 const std::vector<Precision>& columns) {
  std::vector<LoggedItem> items;
  std::uint64_t next = 0;
  for (const auto& block : blocks) {
    IterationLogReader reader;
    EXPECT_TRUE(reader.open(block, columns));
    EXPECT_EQ(reader.first(), next);
    next += reader.covered();
    for (LoggedItem item; reader.next(item);) items.push_back(item);
    EXPECT_FALSE(reader.damaged());
  }
  return items;
}

/// A log whose blocks are put aside when they are full.
struct Log {
  explicit Log(std::vector<Precision> with, std::uint64_t whole = IterationLog::all) : columns(std::move(with)) {
    EXPECT_TRUE(log.create(columns, 4096, whole));
  }
  void close() {
    const auto block = log.closed();
    if (!block.empty()) blocks.emplace_back(block.begin(), block.end());
    log.start_block();
  }
  void add(std::uint32_t label, const Row& row) {
    if (log.append(log.next(), Label{label}, row) == IterationLog::Appended::Yes) return;
    close();
    ASSERT_EQ(log.append(log.next(), Label{label}, row), IterationLog::Appended::Yes);
  }
  void pass(std::uint64_t count, format::Run what) {
    const std::uint64_t end = log.next() + count;
    for (int tries = 0; log.next() < end; ++tries) {
      ASSERT_LT(tries, 10) << "no progress";
      if (log.append_run(log.next(), end - log.next(), what) == IterationLog::Appended::BlockFull) close();
    }
  }
  /// With the block in progress, which goes on.
  std::vector<std::vector<std::byte>> all() {
    auto with_last = blocks;
    if (const auto block = log.closed(); !block.empty()) with_last.emplace_back(block.begin(), block.end());
    return with_last;
  }
  std::vector<LoggedItem> items() { return items_of(all(), columns); }

  std::vector<Precision> columns;
  IterationLog log;
  std::vector<std::vector<std::byte>> blocks;
};

TEST(IterationLog, runs_lie_between_records_and_take_the_same_room_whatever_their_length) {
  Log log(mixed_columns());
  log.pass(3, format::Run::Passed);
  log.pass(2, format::Run::Passed);
  log.pass(1, format::Run::PassedInCall);
  log.add(7, {1, 2, 3, 4});
  log.pass(1'000'000'000'000, format::Run::Absent);
  log.add(7, {2, 2, 3, 4});
  const auto items = log.items();
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[0].run, format::Run::Passed);
  EXPECT_EQ(items[0].count, 5U);
  EXPECT_EQ(items[1].run, format::Run::PassedInCall);
  EXPECT_EQ(items[1].count, 1U);
  EXPECT_FALSE(items[2].run);
  EXPECT_EQ(items[2].label, Label{7});
  EXPECT_EQ(items[2].row[0], 1);
  EXPECT_EQ(items[3].run, format::Run::Absent);
  EXPECT_EQ(items[3].count, 1'000'000'000'000U);
  EXPECT_EQ(items[4].row[0], 2);
  EXPECT_EQ(log.log.next(), 1'000'000'000'008U);
  EXPECT_LT(log.log.bytes(), 80U);
}

TEST(IterationLog, looking_at_the_block_in_progress_changes_nothing) {
  Log watched(mixed_columns(), 16), other(mixed_columns(), 16);
  for (std::int64_t i = 0; i < 500; ++i) {
    for (Log* log : {&watched, &other}) {
      if (i % 7 == 3 && log->log.keeps_each(log->log.next())) log->pass(1, format::Run::Passed);
      else log->add(static_cast<std::uint32_t>(i % 5), {i, i * i, 3, 4});
    }
    (void)watched.log.closed();
  }
  EXPECT_EQ(watched.all(), other.all());
}

TEST(IterationLog, blocks_of_items_are_empty_to_earlier_readers) {
  Log log(mixed_columns());
  log.pass(12, format::Run::Absent);
  const auto block = log.all().at(0);
  // As docs/file-format.md has it: a count of 0, kind 2, and how many iterations it covers.
  constexpr std::array<unsigned char, 33> bytes{'R', 'I', 'T', 'L', 33, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                0,   0,   0,   4,   0,  2, 0, 12, 0, 0, 0, 0, 0, 0, 0, 51};
  ASSERT_EQ(block.size(), bytes.size());
  EXPECT_EQ(std::memcmp(block.data(), bytes.data(), sizeof bytes), 0);
}

TEST(IterationLog, blocks_of_absence_of_earlier_versions_are_read) {
  constexpr std::array<unsigned char, 32> bytes{'R', 'I', 'T', 'L', 32, 0, 0, 0, 12, 0,    0,    0,    0,    0, 0, 0,
                                                0,   0,   0,   0,   4,  0, 1, 0, 0,  0x10, 0xa5, 0xd4, 0xe8, 0, 0, 0};
  IterationLogReader reader;
  ASSERT_TRUE(reader.open(std::as_bytes(std::span(bytes)), mixed_columns()));
  EXPECT_EQ(reader.first(), 12U);
  EXPECT_EQ(reader.covered(), 1'000'000'000'000U);
  LoggedItem item;
  ASSERT_TRUE(reader.next(item));
  EXPECT_EQ(item.run, format::Run::Absent);
  EXPECT_EQ(item.count, 1'000'000'000'000U);
  EXPECT_FALSE(reader.next(item));
  EXPECT_FALSE(reader.damaged());
}

TEST(IterationLog, a_long_loop_keeps_one_iteration_of_each_group_and_all_sums) {
  constexpr std::uint64_t whole = 64, iterations = 5000;
  Log log({Precision::Exact, Precision::Exact}, whole);
  std::mt19937_64 random(7);
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    rows.push_back({static_cast<std::int64_t>(random() % 100'000) - 50'000, static_cast<std::int64_t>(i)});
    log.add(static_cast<std::uint32_t>(i % 5), rows.back());
  }
  std::uint64_t at = 0;
  std::size_t records = 0;
  for (const auto& block : log.all()) {
    IterationLogReader reader;
    ASSERT_TRUE(reader.open(block, log.columns));
    ASSERT_EQ(reader.first(), at);
    for (LoggedItem item; reader.next(item); ++records) {
      ASSERT_EQ(reader.level(), format::log_level_at(at, whole)) << at;
      const std::uint64_t end = std::min(at + item.count, iterations);
      const std::uint64_t kept = format::KeptIterations{reader.level()}.in_block(at >> reader.level());
      Row sums(2, 0);
      for (std::uint64_t i = at; i < end; ++i)
        for (std::size_t c = 0; c < 2; ++c) sums[c] += i == kept ? 0 : rows[i][c];
      for (std::size_t c = 0; c < 2; ++c) {
        ASSERT_EQ(item.row[c], kept < end ? rows[kept][c] : 0) << at;
        if (reader.level() > 0) ASSERT_EQ(item.others[c], sums[c]) << at;
      }
      ASSERT_EQ(item.label, Label{static_cast<std::uint32_t>(std::min(kept, end - 1) % 5)});
      at = end;
    }
    ASSERT_FALSE(reader.damaged());
  }
  EXPECT_EQ(at, iterations);
  EXPECT_EQ(log.log.thinned_from(), whole);
  EXPECT_EQ(log.log.level(), format::log_level_at(iterations - 1, whole));
  EXPECT_LT(records, 64U + 7 * 32 + 2) << "32 more with each doubling";
}

TEST(IterationLog, ranks_keep_the_same_iterations_whatever_they_were_absent_for) {
  constexpr std::uint64_t whole = 64, late = 300, iterations = 3000;
  const std::vector<Precision> one_column(1);
  Log present(one_column, whole), absent(one_column, whole);
  absent.pass(late, format::Run::Absent);
  for (std::uint64_t i = 0; i < iterations; ++i) {
    present.add(1, {static_cast<std::int64_t>(i)});
    if (i >= late) absent.add(1, {static_cast<std::int64_t>(i)});
  }
  const auto kept_of = [](Log& log) {
    std::vector<std::int64_t> kept;
    for (const LoggedItem& item : log.items())
      if (!item.run && item.row[0] >= 320) kept.push_back(item.row[0]);
    return kept;
  };
  EXPECT_EQ(kept_of(present), kept_of(absent));
  EXPECT_EQ(present.log.next(), absent.log.next());
}

TEST(IterationLog, a_log_that_is_thinned_further_goes_up_at_the_next_group_that_fits) {
  Log log(std::vector<Precision>(1), 64);
  for (std::int64_t i = 0; i < 21; ++i) log.add(1, {i});
  log.log.thin_further(3);
  for (std::int64_t i = 21; i < 48; ++i) log.add(1, {i});
  std::vector<std::uint64_t> counts;
  for (const LoggedItem& item : log.items()) counts.push_back(item.count);
  ASSERT_EQ(counts.size(), 21U + 1 + 1 + 3);
  EXPECT_EQ(counts[21], 1U);  // 21
  EXPECT_EQ(counts[22], 2U);  // 22, 23
  for (std::size_t i = 23; i < counts.size(); ++i) EXPECT_EQ(counts[i], 8U);
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
    if (!reader.open(block, columns)) return std::uint64_t{0};
    LoggedItem item;
    std::uint64_t count = 0;
    while (reader.next(item)) ++count;
    EXPECT_TRUE(reader.damaged() || count == reader.covered());
    return count;
  };
  const auto& block = written.blocks[0];
  const std::uint64_t whole = read_all(block);
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

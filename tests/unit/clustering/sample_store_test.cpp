#include "clustering/sample_store.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "offline/experiment/sample_reader.hpp"
#include "tests/unit/clustering/as_stored.hpp"
#include "tests/unit/clustering/sequences.hpp"

namespace refrain::clustering {
namespace {

using experiment::SampleReader;
using test::as_stored;

/// The test shapes with the number of samples as the column that counts visits.
const std::vector<Shape> counting_shapes{{true, 0, test::exact_columns}, {false, 0, test::sampled_columns}};

using Samples = std::map<std::uint32_t, std::vector<std::int64_t>>;

Samples samples_of(const test::Iteration& it) {
  Samples out;
  for (const auto& p : it.paths)
    if (p.shape == 1) out[p.id] = p.values;
  return out;
}

Samples samples_of(const SampleReader& reader) {
  Samples out;
  for (const experiment::StoredPath& p : reader.paths())
    out[p.path] = {p.values, p.values + test::sampled_columns.size()};
  return out;
}

std::uint64_t kept_of(const SampleStore& store) {
  std::uint64_t n = 0;
  for (std::uint64_t i = 0; i < store.count(); ++i) n += store.kept().has(i);
  return n;
}

void expect_near(const Samples& got, const Samples& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [path, values] : expected) {
    ASSERT_TRUE(got.contains(path));
    EXPECT_EQ(got.at(path)[0], values[0]) << "samples are exact";
    EXPECT_NEAR(static_cast<double>(got.at(path)[1]), static_cast<double>(values[1]),
                std::fabs(static_cast<double>(values[1])) * sample_value_error);
  }
}

TEST(SampleStore, keeps_the_samples_of_every_iteration_while_there_is_room) {
  const auto all = test::random_iterations(3, 2000, 4);
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 1 << 20));
  std::size_t samples = 0;  // call paths with samples
  for (const auto& it : all) {
    store.append(it.touched());
    samples += samples_of(it).size();
  }
  EXPECT_EQ(store.kept().stride(), 1U);
  SampleReader reader;
  ASSERT_TRUE(reader.open(store.data(), as_stored(counting_shapes), store.references(), store.kept(), store.count()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(reader.next());
    EXPECT_TRUE(reader.kept());
    EXPECT_EQ(reader.ordinal(), i);
    expect_near(samples_of(reader), samples_of(all[i]));
  }
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.damaged());
  EXPECT_LT(store.data().size(), 3 * samples + 4 * all.size());
}

/// However many they are, and whatever is dropped meanwhile.
TEST(SampleStore, iterations_without_samples_may_come_all_at_once) {
  const auto all = test::random_iterations(3, 3000, 4);
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{4000}, std::size_t{200}}) {
    SampleStore one_by_one, at_once;
    ASSERT_TRUE(one_by_one.create(counting_shapes, bytes));
    ASSERT_TRUE(at_once.create(counting_shapes, bytes));
    std::vector<Samples> truth;
    std::uint64_t random = 1;
    for (const auto& it : all) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const std::uint64_t empty = random >> 60 ? 0 : random >> 40 & 0x3ff;
      for (std::uint64_t i = 0; i < empty; ++i) one_by_one.append({});
      at_once.append_empty(empty);
      one_by_one.append(it.touched());
      at_once.append(it.touched());
      truth.resize(truth.size() + empty);
      truth.push_back(samples_of(it));
      ASSERT_EQ(at_once.count(), truth.size());
    }
    if (bytes == 1 << 20) EXPECT_TRUE(std::ranges::equal(one_by_one.data(), at_once.data()));
    SampleReader reader;
    ASSERT_TRUE(
        reader.open(at_once.data(), as_stored(counting_shapes), at_once.references(), at_once.kept(), at_once.count()));
    std::uint64_t read = 0;
    for (; reader.next(); ++read) {
      EXPECT_TRUE(at_once.kept().has(reader.ordinal()));
      if (reader.kept()) expect_near(samples_of(reader), truth[reader.ordinal()]);
    }
    EXPECT_FALSE(reader.damaged());
    EXPECT_EQ(read, kept_of(at_once));
  }
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 4000));
  store.append_empty(1'000'000'000'000);
  EXPECT_LT(store.data().size(), 20U);
}

TEST(KeptIterations, are_one_in_each_aligned_block_and_those_of_a_level_are_kept_below_it_too) {
  for (const std::uint64_t seed : {format::kept_iterations_seed, std::uint64_t{0}, std::uint64_t{17}})
    for (unsigned level = 0; level < 12; ++level) {
      const KeptIterations kept{level, seed}, below{level > 0 ? level - 1 : 0, seed};
      for (std::uint64_t block = 0; block < 50; ++block) {
        const std::uint64_t n = kept.in_block(block);
        EXPECT_EQ(n >> level, block);
        EXPECT_TRUE(below.has(n));
        std::uint64_t count = 0;
        for (std::uint64_t i = block << level; i < (block + 1) << level; ++i) count += kept.has(i);
        EXPECT_EQ(count, 1U);
        EXPECT_TRUE(kept.has(n));
      }
    }
}

/// What every 2^level-th iteration gets wrong by a factor of 2^level. The numbers are fixed by the seed.
TEST(KeptIterations, estimate_what_a_program_does_every_so_many_steps) {
  constexpr std::uint64_t iterations = 1 << 16;
  for (const std::uint64_t period : {2, 3, 4, 10, 16, 64})
    for (unsigned level = 1; level <= 5; ++level) {
      std::uint64_t hits = 0;
      for (std::uint64_t block = 0; block < iterations >> level; ++block)
        hits += KeptIterations{level}.in_block(block) % period == 0;
      const double n = static_cast<double>(iterations >> level), p = 1.0 / static_cast<double>(period);
      EXPECT_NEAR(static_cast<double>(hits), n * p, 4 * std::sqrt(n * p * (1 - p))) << period << " at " << level;
    }
}

TEST(KeptIterations, some_iterations_precede_one_that_is_kept) {
  for (unsigned level = 1; level < 8; ++level)
    for (unsigned sparse = 0; sparse < 4; ++sparse) {
      const KeptIterations kept{level};
      std::uint64_t chosen = 0, preceding = 0;
      for (std::uint64_t n = 0; n < 40'000; ++n) {
        chosen += kept.has(n + 1);
        if (!kept.precedes(n, sparse)) continue;
        ++preceding;
        EXPECT_TRUE(kept.has(n + 1));
        EXPECT_TRUE(sparse == 0 || kept.precedes(n, sparse - 1));
        EXPECT_TRUE(KeptIterations{level - 1}.precedes(n, sparse));
      }
      // The numbers are fixed by the seed.
      const auto all = static_cast<double>(chosen);
      EXPECT_NEAR(static_cast<double>(preceding), all / (1 << sparse), 4 * std::sqrt(all)) << level << ' ' << sparse;
      if (sparse == 0) EXPECT_EQ(preceding, chosen);
    }
}

TEST(KeptIterations, of_older_files_are_the_first_of_each_block) {
  const KeptIterations every_fourth{2, 0, false};
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(every_fourth.has(i), i % 4 == 0);
  EXPECT_EQ(every_fourth.in_block(7), 28U);
}

TEST(SampleStore, without_room_one_of_two_iterations_goes_and_the_rest_stays_readable) {
  const auto all = test::random_iterations(5, 5000, 4);
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 4096));
  for (const auto& it : all) {
    store.append(it.touched());
    EXPECT_LE(store.data().size(), 4096U);
  }
  EXPECT_EQ(store.count(), all.size());
  EXPECT_GE(store.kept().stride(), 4U);
  EXPECT_GT(store.data().size(), 1500U) << "room is used";
  SampleReader reader;
  ASSERT_TRUE(reader.open(store.data(), as_stored(counting_shapes), store.references(), store.kept(), store.count()));
  std::size_t records = 0;
  while (reader.next()) {
    EXPECT_EQ(reader.ordinal(), store.kept().in_block(records++));
    expect_near(samples_of(reader), samples_of(all[reader.ordinal()]));
  }
  EXPECT_FALSE(reader.damaged());
  EXPECT_EQ(records, kept_of(store));
}

/// Most iterations of a run are shorter than the time between samples.
TEST(SampleStore, iterations_without_samples_cost_next_to_nothing) {
  const test::Iteration empty;
  test::Iteration sampled;
  sampled.paths.push_back({7, 1, {1, 10000000}});
  const auto has_sample = [](std::uint64_t i) { return i % 97 == 5; };
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 1 << 16));
  constexpr std::uint64_t iterations = 100'000;
  for (std::uint64_t i = 0; i < iterations; ++i) store.append((has_sample(i) ? sampled : empty).touched());
  EXPECT_EQ(store.kept().stride(), 1U);
  EXPECT_LT(store.data().size(), iterations / 97 * 6);
  const std::uint64_t many = 50 * iterations;
  for (std::uint64_t i = iterations; i < many; ++i) store.append((has_sample(i) ? sampled : empty).touched());
  EXPECT_GT(store.kept().stride(), 1U);
  SampleReader reader;
  ASSERT_TRUE(reader.open(store.data(), as_stored(counting_shapes), store.references(), store.kept(), store.count()));
  std::uint64_t records = 0;
  while (reader.next()) {
    ASSERT_EQ(reader.ordinal(), store.kept().in_block(records++));
    ASSERT_TRUE(reader.kept());
    ASSERT_EQ(reader.paths().size(), has_sample(reader.ordinal()) ? 1U : 0U) << reader.ordinal();
  }
  EXPECT_FALSE(reader.damaged());
  EXPECT_EQ(records, kept_of(store));
}

TEST(SampleStore, an_iteration_with_too_many_samples_is_marked_as_not_kept) {
  std::vector<test::Iteration> all(3);
  for (std::uint32_t p = 0; p < 3000; ++p) all[1].paths.push_back({p * 17, 1, {1, 10000000}});
  all[2].paths.push_back({5, 1, {1, 10000000}});
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 8192));
  for (const auto& it : all) store.append(it.touched());
  SampleReader reader;
  ASSERT_TRUE(reader.open(store.data(), as_stored(counting_shapes), store.references(), store.kept(), store.count()));
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.kept()) << "no sample is known as well";
  EXPECT_TRUE(reader.paths().empty());
  ASSERT_TRUE(reader.next());
  EXPECT_FALSE(reader.kept());
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.kept());
  EXPECT_EQ(reader.paths().size(), 1U);
}

TEST(SampleStore, values_of_every_size_and_sign_come_back) {
  test::Iteration it;
  std::uint32_t id = 0;
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{31}, std::int64_t{1000},
                               INT64_MAX, INT64_MIN + 1, std::int64_t{-5}, std::int64_t{1} << 40})
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{17}, std::int64_t{1} << 50})
      it.paths.push_back({id += 1 + id * 2 % 1000003, 1, {n, v}});
  it.paths.push_back({0xffffffff, 1, {1, 10000000}});
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 1 << 16));
  store.append(it.touched());
  SampleReader reader;
  ASSERT_TRUE(reader.open(store.data(), as_stored(counting_shapes), store.references(), store.kept(), store.count()));
  ASSERT_TRUE(reader.next());
  expect_near(samples_of(reader), samples_of(it));
}

TEST(SampleStore, damaged_data_ends_the_reading_and_nothing_else) {
  const auto all = test::random_iterations(9, 60, 4);
  SampleStore store;
  ASSERT_TRUE(store.create(counting_shapes, 1 << 16));
  for (const auto& it : all) store.append(it.touched());
  std::mt19937_64 random(1);
  for (unsigned round = 0; round < 2000; ++round) {
    std::vector<std::byte> bytes(store.data().begin(), store.data().end());
    bytes.resize(round % 2 ? random() % (bytes.size() + 1) : bytes.size());
    for (std::uint64_t n = random() % 8; n > 0 && !bytes.empty(); --n)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    SampleReader reader;
    ASSERT_TRUE(reader.open(bytes, as_stored(counting_shapes), store.references(), store.kept(), store.count()));
    std::size_t records = 0;
    while (reader.next()) ++records;
    EXPECT_LE(records, all.size());
  }
}

}  // namespace
}  // namespace refrain::clustering

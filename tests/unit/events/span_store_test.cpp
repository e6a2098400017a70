// A store of spans keeps those that the hash chooses, complete and readable by themselves, in the memory that it is
// given.

#include "events/span_store.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace refrain::events {
namespace {

constexpr std::uint16_t loop = 300, other_loop = 301;

struct Span {
  std::uint16_t region;
  std::int64_t number;
  std::vector<std::int64_t> times;  ///< times of its samples
  bool has_gap = false;
  bool operator==(const Span&) const = default;
};

class SpanStoreTest : public testing::Test {
 protected:
  void create(std::size_t bytes, unsigned slowest = 0) {
    memory_.assign(bytes / 8, 0);
    std::span<std::byte> memory = std::as_writable_bytes(std::span(memory_));
    const Packer packer = Packer::at_end_of(memory);
    buffer_.create(memory, 0);
    store_.create(memory, buffer_, 0, slowest, packer);
  }
  void sample(std::int64_t time) {
    Record r;
    r.kind = Kind::Sample;
    r.time = time_ = time;
    r.node = static_cast<std::uint32_t>(time % 97);
    (void)buffer_.append(r);
  }
  void end_span(std::uint16_t region, std::int64_t number) {
    Record r;
    r.kind = Kind::Span;
    r.region = region;
    r.value = number;
    r.time = ++time_;
    r.begin = begin_;
    begin_ = time_;
    store_.end_span(buffer_, r);
  }
  void span(std::uint16_t region, std::int64_t number, int samples) {
    for (int i = 0; i < samples; ++i) sample(time_ + 5);
    end_span(region, number);
  }
  /// Everything that was not written yet, as a reader sees it.
  std::vector<Span> read(std::size_t bytes_of_a_block = 4096) {
    std::vector<Span> spans;
    std::vector<std::byte> room(std::max(bytes_of_a_block, SpanStore::min_room));
    while (store_.has_more()) {
      const Block block = store_.next_block(buffer_, room);
      Context context = block.begin;
      std::uint32_t count = 0;
      bool in_span = false;
      Span now{};
      for (std::size_t at = 0; at < block.records.size(); ++count) {
        Record record;
        const std::size_t size = decode(block.records.subspan(at), context, record);
        EXPECT_GT(size, 0u);
        if (size == 0) return spans;
        at += size;
        EXPECT_TRUE(in_span || record.kind == Kind::Jump);
        in_span = true;
        if (record.kind == Kind::Jump) now = {};
        if (record.kind == Kind::Sample) {
          EXPECT_EQ(record.time % 97, record.node);
          now.times.push_back(record.time);
        }
        if (record.kind == Kind::Gap) now.has_gap = true;
        if (record.kind != Kind::Span) continue;
        now.region = record.region;
        now.number = record.value;
        spans.push_back(now);
        in_span = false;
      }
      EXPECT_EQ(block.count, count);
    }
    return spans;
  }
  unsigned level_of(std::uint16_t region) const {
    for (const SpanStore::Loop& of : store_.loops())
      if (of.region == region) return of.level;
    return 0;
  }
  /// Whether the hash keeps an iteration of `loop`, for itself or because the next one is kept.
  bool is_kept(std::int64_t iteration) const {
    const auto of = std::ranges::find(store_.loops(), loop, &SpanStore::Loop::region);
    const format::KeptIterations kept{.level = of->level};
    const auto number = static_cast<std::uint64_t>(iteration);
    return kept.has(number) || kept.precedes(number, of->sparse);
  }

  std::vector<std::uint64_t> memory_;
  Buffer buffer_;
  SpanStore store_;
  std::int64_t time_ = 0, begin_ = 0;
};

TEST_F(SpanStoreTest, time_outside_is_empty_with_what_every_span_begins_with) {
  create(1 << 16);
  for (int i = 0; i < 100; ++i) {
    sample(time_ + 1);
    store_.note_begin(buffer_);
    EXPECT_TRUE(store_.is_empty(buffer_));
    if (i % 4 == 0) sample(time_ + 1);
    EXPECT_EQ(i % 4 != 0, store_.is_empty(buffer_));
    end_span(0, 0);
  }
  EXPECT_EQ(25u, read().size());
  sample(time_ + 1);
  store_.note_begin(buffer_);
  end_span(loop, 0);
  EXPECT_EQ(1u, store_.iterations()) << "an iteration is kept, whatever is in it";
}

TEST_F(SpanStoreTest, all_are_kept_while_there_is_room) {
  create(1 << 16);
  span(0, 0, 3);
  for (int i = 0; i < 100; ++i) span(loop, i, i % 5);
  const auto spans = read();
  ASSERT_EQ(101u, spans.size());
  EXPECT_EQ(0u, level_of(loop));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(i, spans[static_cast<std::size_t>(i) + 1].number);
    EXPECT_EQ(static_cast<std::size_t>(i % 5), spans[static_cast<std::size_t>(i) + 1].times.size());
  }
  EXPECT_EQ(100u, store_.iterations());
}

TEST_F(SpanStoreTest, what_the_hash_says_is_kept_whole_of_a_long_run) {
  std::mt19937 random(1);
  for (const std::size_t bytes : {8192u, 32768u, 262144u}) {
    create(bytes);
    time_ = begin_ = 0;
    std::vector<Span> truth;
    span(0, 0, 10);
    for (int i = 0; i < 30000; ++i) {
      Span now{loop, i, {}};
      const int samples = static_cast<int>(random() % 20);
      for (int s = 0; s < samples; ++s) {
        sample(time_ + 1 + random() % 1000);
        now.times.push_back(time_);
      }
      end_span(loop, i);
      truth.push_back(now);
      ASSERT_LE(buffer_.size(), bytes);
    }
    const unsigned level = level_of(loop);
    EXPECT_GT(level, 0u);
    std::erase_if(truth, [&](const Span& of) { return !is_kept(of.number); });
    auto spans = read();
    ASSERT_FALSE(spans.empty());
    EXPECT_EQ(0, spans[0].region) << "the first span always stays";
    EXPECT_EQ(10u, spans[0].times.size());
    spans.erase(spans.begin());
    EXPECT_EQ(truth, spans);
    const format::KeptIterations chosen{.level = level};
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(
                  truth, [&](const Span& of) { return chosen.has(static_cast<std::uint64_t>(of.number)); })),
              store_.iterations());
    // A raise leaves between three eighths and three quarters of the memory in use.
    EXPECT_GT(buffer_.size() + spans.size() * 32, bytes / 4);
  }
}

TEST_F(SpanStoreTest, a_span_larger_than_its_share_ends_with_a_gap_and_raises_nothing) {
  create(1 << 15);
  span(0, 0, 1);
  span(loop, 0, 100000);
  span(loop, 1, 10);
  const auto spans = read();
  ASSERT_EQ(3u, spans.size());
  EXPECT_TRUE(spans[1].has_gap);
  EXPECT_GT(spans[1].times.size(), 1000u);
  EXPECT_FALSE(spans[2].has_gap);
  EXPECT_EQ(10u, spans[2].times.size());
  EXPECT_EQ(0u, level_of(loop));
}

TEST_F(SpanStoreTest, a_first_span_larger_than_its_share_leaves_room_for_iterations) {
  create(1 << 15);
  span(0, 0, 100000);
  for (int i = 0; i < 50; ++i) span(loop, i, 10);
  const auto spans = read();
  ASSERT_EQ(51u, spans.size());
  EXPECT_TRUE(spans[0].has_gap);
}

TEST_F(SpanStoreTest, a_short_loop_is_kept_beside_a_long_one) {
  create(1 << 16);
  for (int i = 0; i < 20; ++i) span(other_loop, i, 10);
  for (int i = 0; i < 20000; ++i) span(loop, i, 10);
  EXPECT_EQ(0u, level_of(other_loop));
  EXPECT_GT(level_of(loop), 3u);
  EXPECT_EQ(20u, std::ranges::count(read(), other_loop, &Span::region));
}

TEST_F(SpanStoreTest, the_first_stretch_stays_at_any_level) {
  create(16 << 10);
  for (int i = 0; i < 20000; ++i) span(stretches, i, 5);
  const format::KeptIterations chosen{.level = level_of(stretches)};
  ASSERT_FALSE(chosen.has(0));
  const auto spans = read();
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(0, spans[0].number);
  EXPECT_EQ(5u, spans[0].times.size());
}

TEST_F(SpanStoreTest, time_between_iterations_is_thinned_too) {
  create(1 << 15);
  span(0, 0, 5);
  for (int i = 0; i < 5000; ++i) {
    span(loop, i, 2);
    span(0, 0, i % 2 ? 30 : 0);
  }
  const auto spans = read();
  EXPECT_GT(std::ranges::count(spans, loop, &Span::region), 100);
  EXPECT_EQ(5u, spans[0].times.size());
  for (const Span& of : spans) EXPECT_TRUE(of.region == loop || !of.times.empty()) << "nothing happened there";
}

TEST_F(SpanStoreTest, before_some_iterations_the_one_before_is_kept_in_a_sixteenth_of_the_memory) {
  create(1 << 17);
  span(0, 0, 3);
  for (int i = 0; i < 30000; ++i) span(loop, i, 4);
  const format::KeptIterations chosen{.level = level_of(loop)};
  std::set<std::int64_t> numbers;
  for (const Span& of : read())
    if (of.region == loop) numbers.insert(of.number);
  std::size_t sample = 0, before = 0;
  for (const std::int64_t n : numbers) {
    const bool is_chosen = chosen.has(static_cast<std::uint64_t>(n));
    ++(is_chosen ? sample : before);
    EXPECT_TRUE(is_chosen || numbers.contains(n + 1)) << n;
  }
  EXPECT_GT(before, sample / 20);
  EXPECT_LT(before, sample / 3);
  EXPECT_LE(store_.loops()[1].preceding_bytes, std::size_t{1} << 13);
}

TEST_F(SpanStoreTest, spans_are_compressed_before_the_level_rises) {
  constexpr int iterations = 40000, samples = 100;
  create(1 << 23);
  std::size_t in_memory = 0;
  for (int i = 0; i < iterations; ++i) {
    span(loop, i, samples);
    in_memory = std::max(in_memory, buffer_.size());
    ASSERT_LE(buffer_.size(), std::size_t{3} << 21) << i;
  }
  // Spans of 430 bytes each. Without compression the level would be 2.
  EXPECT_EQ(1u, level_of(loop));
  const std::vector<Span> spans = read();
  std::size_t expected = 0;
  for (std::int64_t i = 0; i < iterations; ++i) expected += is_kept(i);
  EXPECT_EQ(expected, spans.size());
  for (const Span& of : spans) {
    EXPECT_TRUE(is_kept(of.number));
    ASSERT_EQ(static_cast<std::size_t>(samples), of.times.size());
    // A span takes 5 for each sample and 1 for its end.
    EXPECT_EQ(of.number * (5 * samples + 1) + 5, of.times[0]);
    EXPECT_EQ(of.times[0] + 5 * (samples - 1), of.times.back());
  }
  store_.agree(buffer_, loop, level_of(loop) + 3, 0, {});
  store_.write_anew();
  const std::vector<Span> fewer = read();
  EXPECT_LT(fewer.size(), spans.size() / 4);
  for (const Span& of : fewer) EXPECT_TRUE(is_kept(of.number));
}

TEST_F(SpanStoreTest, ranks_that_agree_keep_the_same) {
  create(1 << 15);
  for (int i = 0; i < 3000; ++i) span(loop, i, 4);
  const unsigned level = level_of(loop);
  store_.agree(buffer_, loop, level + 2, 0, {});
  store_.agree(buffer_, loop, level, 0, {});
  EXPECT_EQ(level + 2, level_of(loop));
  sample(time_ + 5);
  store_.finish(buffer_);
  auto spans = read();
  for (const Span& of : spans) EXPECT_TRUE(is_kept(of.number));
  std::size_t expected = 0;
  for (std::int64_t i = 0; i < 3000; ++i) expected += is_kept(i);
  EXPECT_EQ(expected, spans.size()) << "the last one has no end";
}

TEST_F(SpanStoreTest, the_slowest_are_kept_beside_the_sample) {
  create(1 << 16, 16);
  std::mt19937 random(3);
  std::vector<std::pair<std::int64_t, std::int64_t>> durations;
  span(0, 0, 3);
  for (int i = 0; i < 20000; ++i) {
    for (int s = 0; s < 4; ++s) sample(time_ + 5);
    time_ += static_cast<std::int64_t>(random() % 1'000'000);
    const std::int64_t begin = begin_;
    end_span(loop, i);
    durations.emplace_back(time_ - begin, i);
  }
  std::ranges::sort(durations, std::greater<>{});
  const unsigned level = level_of(loop);
  EXPECT_GT(level, 0u);
  std::vector<std::int64_t> expected, kept;
  for (int i = 0; i < 16; ++i) expected.push_back(durations[static_cast<std::size_t>(i)].second);
  std::ranges::sort(expected);
  std::vector<std::uint64_t> slow_numbers;
  for (const SpanStore::Slow& slow : store_.loops()[1].slowest()) slow_numbers.push_back(slow.number);
  store_.agree(buffer_, loop, level, 0, slow_numbers);  // iterations that are no longer among them are gone
  std::erase_if(expected, [&](std::int64_t n) { return is_kept(n); });
  for (const Span& of : read())
    if (of.region == loop && !is_kept(of.number)) kept.push_back(of.number);
  EXPECT_EQ(expected, kept);
  store_.agree(buffer_, loop, level, 0, std::span(slow_numbers).first(1));
  EXPECT_EQ(1u, store_.loops()[1].slowest().size());
}

TEST_F(SpanStoreTest, slow_iterations_that_are_large_leave_room_for_the_sample) {
  create(1 << 16, 16);
  for (int i = 0; i < 3000; ++i) span(loop, i, i % 100 == 7 ? 1500 : 3);
  std::size_t small = 0;
  for (const Span& of : read()) small += of.times.size() == 3;
  EXPECT_GT(small, 100u);
  EXPECT_LT(store_.loops()[1].slowest().size(), 16u);
}

TEST_F(SpanStoreTest, what_was_written_is_not_written_again_unless_it_is_outdated) {
  create(1 << 15);
  for (int i = 0; i < 100; ++i) span(loop, i, 4);
  EXPECT_EQ(100u, read().size());
  EXPECT_EQ(0u, read().size());
  for (int i = 100; i < 120; ++i) span(loop, i, 4);
  const auto more = read();
  ASSERT_EQ(20u, more.size());
  EXPECT_EQ(100, more[0].number);
  EXPECT_FALSE(store_.is_outdated());
  for (int i = 120; i < 3000; ++i) span(loop, i, 4);
  EXPECT_TRUE(store_.is_outdated());
  const auto later = read();
  for (const Span& of : later) EXPECT_GE(of.number, 120);
  store_.write_anew();
  const format::KeptIterations chosen{.level = level_of(loop)};
  std::uint64_t iterations = 0;
  for (const Span& of : read()) iterations += chosen.has(static_cast<std::uint64_t>(of.number));
  EXPECT_EQ(store_.iterations(), iterations);
}

}  // namespace
}  // namespace refrain::events

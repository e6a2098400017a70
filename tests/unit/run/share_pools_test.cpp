// Pools of iterations as a value: what was packed and read again divides every iteration as before, to the last bit.
#include "offline/run/share_pools.hpp"

#include <bit>
#include <gtest/gtest.h>

#include "tests/unit/run/planted_shares.hpp"

namespace refrain::run {
namespace {

using test::Behaviour;

std::string packed(const SharePools& pools) {
  experiment::Packer packer;
  packer(pools);
  return packer.bytes();
}
/// False: the bytes are not those of pools.
bool unpack(std::string_view bytes, SharePools& pools) {
  experiment::Unpacker unpacker(std::as_bytes(std::span(bytes)));
  unpacker(pools);
  return unpacker.is_good();
}

TEST(SharePools, divide_the_same_when_they_were_packed) {
  for (const Behaviour behaviour : {Behaviour::Steady, Behaviour::Drift, Behaviour::Peaks})
    for (const unsigned level : {0U, 2U}) {
      const auto loop = test::plant(behaviour, 1000, 6, 11);
      const SharePools found = test::estimate(loop, level);
      ASSERT_TRUE(found.is_sound(5));
      SharePools read;
      ASSERT_TRUE(unpack(packed(found), read));
      ASSERT_TRUE(read.is_sound(5));
      EXPECT_EQ(packed(read), packed(found));
      for (std::size_t i = 0; i < loop.iterations.size(); ++i) {
        const auto of = test::facts_of(loop, i, level);
        const SharePools::Pool &before = *found.pool_of(of), &now = *read.pool_of(of);
        ASSERT_EQ(before.number, now.number);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(before.on_cpu(of)), std::bit_cast<std::uint64_t>(now.on_cpu(of)));
        ASSERT_EQ(before.shares.size(), now.shares.size());
        for (std::size_t s = 0; s < now.shares.size(); ++s) {
          ASSERT_EQ(before.shares[s].share, now.shares[s].share);
          ASSERT_EQ(before.error_of(before.shares[s].share, before.shares[s].spread),
                    now.error_of(now.shares[s].share, now.shares[s].spread));
        }
      }
    }
}

TEST(SharePools, that_were_cut_are_not_taken) {
  const std::string bytes = packed(test::estimate(test::plant(Behaviour::Phases, 400, 6, 3), 0));
  SharePools read;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(unpack(std::string_view(bytes).substr(0, size), read)) << size;
}

TEST(SharePools, with_numbers_of_what_is_not_there_are_not_sound) {
  const SharePools good = test::estimate(test::plant(Behaviour::Phases, 1000, 6, 3), 0);
  ASSERT_GT(good.groups[0].splits.nodes.size(), 1U);
  EXPECT_TRUE(good.is_sound(5));
  EXPECT_FALSE(good.is_sound(4)) << "a call path";
  const auto is_sound_with = [&](const auto& change) {
    SharePools bad = good;
    change(bad);
    return bad.is_sound(5);
  };
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.clusters[0].group = of.groups.size(); }));
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.groups[0].pool_of_rest = of.pools.size(); }));
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.groups[0].pool_of_place.begin()->second = of.pools.size(); }));
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.pools[0].number = 1; }));
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.groups[0].splits.nodes.clear(); }));
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.groups[0].splits.nodes[0].variable = ShareVariables::count; }));
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.groups[0].splits.nodes[0].children = {1, 0}; })) << "a circle";
  EXPECT_FALSE(is_sound_with([](SharePools& of) { of.groups[0].splits.nodes[0].children = {1, 1 << 20}; }));
}

}  // namespace
}  // namespace refrain::run

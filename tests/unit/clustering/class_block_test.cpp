#include "clustering/class_block.hpp"

#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace refrain::clustering {
namespace {

/// Two shapes of three and two columns; column 2 of the first follows two overall metrics.
BlockForm form() {
  BlockForm f{};
  f.shapes = 2;
  f.columns[0] = 3;
  f.columns[1] = 2;
  f.flat_begin[1] = 3;
  f.flat_begin[2] = 5;
  f.shape_of[3] = f.shape_of[4] = 1;
  f.twice = 4;
  f.sketch_dims = 8;
  return f;
}

/// A block with `count` key paths of the first shape.
ClassBlock wanted(std::uint32_t count) {
  ClassBlock block{};
  for (std::size_t s = 1; s <= max_shapes; ++s) block.first[s] = count;
  block.rooms.clusters = 1;
  return block;
}

TEST(ClassBlock, is_zero_at_first_and_its_parts_do_not_overlap) {
  ClassBlocks blocks;
  blocks.set_form(form());
  ClassBlock block = wanted(3);
  block.rooms = {0b101, 2, 4, 2};
  ASSERT_TRUE(blocks.make(block, 0));
  EXPECT_EQ(block.bytes, blocks.bytes_in_use());
  EXPECT_EQ(block.row_values(), 3U * 2 + 4);
  // All that there is, written once: what overlaps would be written twice.
  std::map<std::byte*, int> written;
  const auto write = [&](auto* from, std::size_t count) {
    for (std::size_t i = 0; i < count * sizeof *from; ++i) {
      auto* at = reinterpret_cast<std::byte*>(from) + i;
      EXPECT_EQ(*at, std::byte{0});
      EXPECT_EQ(++written[at], 1);
    }
  };
  const ClassStatistics statistics = blocks.statistics(block);
  write(statistics.overall_scatter, 5);
  write(statistics.second_scatter, 5);
  write(statistics.cross_scatter, 5);
  write(statistics.slope_sketch, 8);
  write(statistics.second_sketch, 8);
  write(statistics.direction, 8 + 5);
  write(statistics.scale, 5);
  write(blocks.paths(block, 0), 3);
  write(blocks.by_path(block, 0), 3);
  write(blocks.base(block, 0), 9);
  EXPECT_EQ(blocks.products(block, 0).second, nullptr);
  write(blocks.products(block, 0).first, 3);
  write(blocks.products(block, 2).first, 3);
  write(blocks.products(block, 2).second, 3);
  write(blocks.list(block), 2);
  write(blocks.row(block, 0), block.row_values());
  write(blocks.row(block, 1), block.row_values());
  EXPECT_EQ(blocks.place_in_row(block, 0), 0U);
  EXPECT_EQ(blocks.place_in_row(block, 2), 3U);
  for (const auto& [at, times] : written) {
    EXPECT_GE(at, reinterpret_cast<std::byte*>(statistics.overall_scatter));
    EXPECT_LT(at, reinterpret_cast<std::byte*>(blocks.row(block, 2)));
  }
}

TEST(ClassBlock, keeps_what_it_holds_when_it_grows_and_shrinks) {
  ClassBlocks blocks;
  blocks.set_form(form());
  ClassBlock block = wanted(2);
  block.rooms = {0b100, 1, 2, 1};
  ASSERT_TRUE(blocks.make(block, 0));
  blocks.paths(block, 0)[1] = 77;
  blocks.base(block, 0)[5] = 55;
  blocks.statistics(block).scale[4] = 1.5F;
  blocks.products(block, 2).second[1] = 2.5F;
  EXPECT_EQ(blocks.find(block, 9, 1), ClassBlocks::none);
  EXPECT_EQ(blocks.insert(block, 9, 1), 0U);
  blocks.row(block, 0)[1] = -1;
  blocks.row(block, 0)[block.key_columns + 1] = -2;

  ASSERT_TRUE(blocks.change(block, {0b111, 40, 90, 3}, 1));
  EXPECT_EQ(blocks.paths(block, 0)[1], 77U);
  EXPECT_EQ(blocks.base(block, 0)[5], 55);
  EXPECT_EQ(blocks.statistics(block).scale[4], 1.5F);
  EXPECT_EQ(blocks.products(block, 0).first[0], 0.0F);
  EXPECT_EQ(blocks.products(block, 2).second[1], 2.5F);
  EXPECT_EQ(blocks.row(block, 0)[blocks.place_in_row(block, 2) + 1], -1);
  EXPECT_EQ(blocks.row(block, 0)[blocks.place_in_row(block, 1)], 0);
  EXPECT_EQ(blocks.row(block, 0)[block.key_columns + 1], -2);
  EXPECT_EQ(blocks.find(block, 9, 1), 0U);

  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> places{{{9, 1}, 0}};
  for (std::uint32_t i = 0; i < 30; ++i) {
    const std::uint32_t path = i / 2 * 1000;  // two shapes may have the same path
    places[{path, i % 2}] = blocks.insert(block, path, i % 2);
  }
  for (const auto& [path, place] : places) EXPECT_EQ(blocks.find(block, path.first, path.second), place);
  EXPECT_EQ(blocks.find(block, 1, 0), ClassBlocks::none);
  EXPECT_EQ(block.sampled, 2U + 15 * 3 + 15 * 2);

  ASSERT_TRUE(blocks.change(block, {0b111, 31, 80, 1}, 1));
  for (const auto& [path, place] : places) EXPECT_EQ(blocks.find(block, path.first, path.second), place);
  EXPECT_EQ(blocks.row(block, 0)[block.key_columns + 1], -2);
  EXPECT_EQ(block.bytes, blocks.bytes_in_use());
}

TEST(ClassBlock, holes_close_up) {
  ClassBlocks blocks;
  blocks.set_form(form());
  std::vector<ClassBlock> all(50);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i] = wanted(i + 1);
    ASSERT_TRUE(blocks.make(all[i], i));
    blocks.paths(all[i], 0)[i] = i;
  }
  for (std::uint32_t round = 1; round < 40; ++round)
    for (ClassBlock& block : all) {
      ASSERT_TRUE(blocks.change(block, {0, 4 * round, 8 * round, 1}, 1));
      if (!blocks.has_many_holes()) continue;
      blocks.close_up([&](std::uint32_t owner, std::size_t at) { all[owner].at = at; });
      EXPECT_FALSE(blocks.has_many_holes());
    }
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(blocks.paths(all[i], 0)[i], i);
    bytes += all[i].bytes;
  }
  EXPECT_EQ(blocks.bytes_in_use(), bytes);
  EXPECT_LE(blocks.bytes_mapped(), bytes + bytes / 4 + 65536 + 4096);
  for (const ClassBlock& block : all) blocks.free(block);
  EXPECT_EQ(blocks.bytes_in_use(), 0U);
}

}  // namespace
}  // namespace refrain::clustering

#include "clustering/class_block.hpp"

#include <algorithm>

#include "format/hashing.hpp"

namespace refrain::clustering {

void ClassBlocks::release() {
  memory_.release();
  in_use_ = 0;
}

void ClassBlocks::lay_out(ClassBlock& b) const {
  std::size_t base_values = 0, products = 0, key_columns = 0;
  for (std::size_t s = 0; s < form_.shapes; ++s) base_values += std::size_t{b.count(s)} * form_.columns[s];
  for (std::uint64_t left = b.rooms.varies; left; left &= left - 1) {
    const auto flat = static_cast<unsigned>(std::countr_zero(left));
    const std::uint32_t count = b.count(form_.shape_of[flat]);
    key_columns += count;
    products += count * (1 + (form_.twice >> flat & 1));
  }
  b.base = paths_at() + std::size_t{b.key_paths()} * 2 * sizeof(std::uint32_t);
  b.products = b.base + base_values * sizeof(std::int64_t);
  b.index = b.products + (products + 1) / 2 * 2 * sizeof(float);
  b.list = b.index + (sizeof(std::uint64_t) << index_bits(b));
  b.rows = b.list + b.rooms.listed * sizeof(Listed);
  b.key_columns = static_cast<std::uint32_t>(key_columns);
  b.bytes = b.rows + b.rooms.clusters * b.row_values() * sizeof(std::int64_t);
}

std::size_t ClassBlocks::bytes_of(const ClassBlock& wanted) const {
  ClassBlock block = wanted;
  lay_out(block);
  return block.bytes;
}

/// A block of zeros at the end.
bool ClassBlocks::append(ClassBlock& block, std::uint32_t owner) {
  lay_out(block);
  block.at = memory_.size();
  if (!memory_.resize(block.at + block.bytes)) return false;
  *part<Header>(block, 0) = {block.bytes, owner};
  in_use_ += block.bytes;
  return true;
}

bool ClassBlocks::make(ClassBlock& block, std::uint32_t owner) {
  block.listed = block.sampled = 0;
  return append(block, owner);
}

bool ClassBlocks::change(ClassBlock& block, const Rooms& rooms, std::uint32_t clusters) {
  const ClassBlock old = block;
  ClassBlock next = block;
  next.rooms = rooms;
  if (!append(next, part<Header>(old, 0)->owner)) return false;
  // Up to the products all lies as it did.
  std::memcpy(part<std::byte>(next, sizeof(Header)), part<std::byte>(old, sizeof(Header)),
              old.products - sizeof(Header));
  for (std::uint64_t left = old.rooms.varies; left; left &= left - 1) {
    const auto flat = static_cast<unsigned>(std::countr_zero(left));
    const std::size_t count = old.count(form_.shape_of[flat]);
    const Products from = products(old, flat), to = products(next, flat);
    std::memcpy(to.first, from.first, count * sizeof(float));
    if (from.second) std::memcpy(to.second, from.second, count * sizeof(float));
    const std::uint32_t from_place = place_in_row(old, flat), to_place = place_in_row(next, flat);
    for (std::uint32_t r = 0; r < clusters; ++r)
      std::memcpy(row(next, r) + to_place, row(old, r) + from_place, count * sizeof(std::int64_t));
  }
  std::memcpy(list(next), list(old), old.listed * sizeof(Listed));
  for (std::uint32_t i = 0; i < old.listed; ++i) enter(next, i);
  for (std::uint32_t r = 0; r < clusters; ++r)
    std::memcpy(row(next, r) + next.key_columns, row(old, r) + old.key_columns, old.sampled * sizeof(std::int64_t));
  free(old);
  block = next;
  return true;
}

void ClassBlocks::free(const ClassBlock& block) {
  in_use_ -= block.bytes;
  part<Header>(block, 0)->owner = none;
  if (block.at + block.bytes == memory_.size()) (void)memory_.resize(block.at);
}

ClassStatistics ClassBlocks::statistics(const ClassBlock& block) const {
  ClassStatistics out{};
  out.overall_scatter = part<double>(block, sizeof(Header));
  out.second_scatter = out.overall_scatter + flat_count();
  out.cross_scatter = out.second_scatter + flat_count();
  out.slope_sketch = reinterpret_cast<float*>(out.cross_scatter + flat_count());
  out.second_sketch = out.slope_sketch + form_.sketch_dims;
  out.direction = out.second_sketch + form_.sketch_dims;
  out.scale = out.direction + form_.sketch_dims + flat_count();
  return out;
}

std::int64_t* ClassBlocks::base(const ClassBlock& block, std::size_t shape) const {
  std::int64_t* values = part<std::int64_t>(block, block.base);
  for (std::size_t s = 0; s < shape; ++s) values += std::size_t{block.count(s)} * form_.columns[s];
  return values;
}

Products ClassBlocks::products(const ClassBlock& block, unsigned flat) const {
  float* at = part<float>(block, block.products);
  for (std::uint64_t left = block.rooms.varies & ((std::uint64_t{1} << flat) - 1); left; left &= left - 1) {
    const auto before = static_cast<unsigned>(std::countr_zero(left));
    at += block.count(form_.shape_of[before]) * (1 + (form_.twice >> before & 1));
  }
  return {at, form_.twice >> flat & 1 ? at + block.count(form_.shape_of[flat]) : nullptr};
}

std::uint32_t ClassBlocks::place_in_row(const ClassBlock& block, unsigned flat) const {
  std::uint32_t place = 0;
  for (std::uint64_t left = block.rooms.varies & ((std::uint64_t{1} << flat) - 1); left; left &= left - 1)
    place += block.count(form_.shape_of[std::countr_zero(left)]);
  return place;
}

std::uint32_t ClassBlocks::find(const ClassBlock& block, std::uint32_t path, std::size_t shape) const {
  const auto* index = part<std::uint64_t>(block, block.index);
  const unsigned bits = index_bits(block);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::uint64_t at = format::spread(path) >> (64 - bits);; at = (at + 1) & mask) {
    if (index[at] == 0) return none;
    if (index[at] >> 32 != path) continue;
    const Listed& found = list(block)[static_cast<std::uint32_t>(index[at]) - 1];
    if (found.shape == shape) return found.place;
  }
}

/// Makes a path of the list known to find(). The index is open addressing: path << 32 | position + 1; 0: free.
void ClassBlocks::enter(const ClassBlock& block, std::uint32_t position) {
  auto* index = part<std::uint64_t>(block, block.index);
  const std::uint32_t path = list(block)[position].path;
  const unsigned bits = index_bits(block);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t at = format::spread(path) >> (64 - bits);
  while (index[at]) at = (at + 1) & mask;
  index[at] = std::uint64_t{path} << 32 | (position + 1);
}

std::uint32_t ClassBlocks::insert(ClassBlock& block, std::uint32_t path, std::size_t shape) {
  const std::uint32_t place = block.sampled;
  list(block)[block.listed] = {path, place & 0xfffffff, static_cast<std::uint32_t>(shape) & 0xf};
  enter(block, block.listed++);
  block.sampled += form_.columns[shape];
  return place;
}

}  // namespace refrain::clustering

#pragma once
/// The modules, regions and call paths of one process, or of a subtree of the job's ranks, each of them once. Runtime
/// half.
///
/// A module is identified by its build-id, or by its path if it has none; a region by its name; a call path by (parent,
/// kind, module, offset), (parent, Region or Marked, region), or (parent, Special, number). Path 0 is the root.
/// Not thread-safe. Errors: `none` or false if the kernel gives no memory.

#include <cstdint>
#include <span>
#include <string_view>

#include "measurement/metrics.hpp"
#include "platform/hash_index.hpp"
#include "platform/pages.hpp"
#include "record/encoder.hpp"

namespace refrain::record {

using measurement::NodeKind;
using platform::GrowableArray;
using platform::HashIndex;

struct PathDefinition {
  std::uint64_t offset;  ///< offset in the module, address without one, region number, or SpecialPath
  std::uint32_t parent;
  std::int32_t module;  ///< -1: none
  NodeKind kind;
};

class DefinitionSet {
 public:
  static constexpr std::uint32_t none = HashIndex::none;

  /// Makes the root. Call it before anything else.
  [[nodiscard]] bool create();

  /// Returns the number of a definition, and makes the definition if it is new. If a module is known by several paths,
  /// the first of them in byte order is kept, so that the order of arrival does not matter.
  std::uint32_t module(std::string_view path, std::span<const std::uint8_t> build_id);
  std::uint32_t region(std::string_view name);
  std::uint32_t path(const PathDefinition& definition);

  std::uint32_t paths() const { return static_cast<std::uint32_t>(paths_.size()); }

  /// Encode the three sections of the file. A message between ranks is the three in this order.
  void encode_regions(Encoder& out) const;
  void encode_modules(Encoder& out) const;
  void encode_paths(Encoder& out) const;

  /// Adds every definition of an encoded set. `mapping[i]` becomes the number here of the set's path i. False: no
  /// memory, or the bytes are not an encoded set.
  [[nodiscard]] bool absorb(format::ByteCursor& encoded, GrowableArray<std::uint32_t>& mapping);

  /// Copies the definitions into `out` in an order that depends on nothing but themselves: modules by path and
  /// build-id, regions by name, paths level by level, sorted below each parent. `mapping[i]` becomes the number in
  /// `out` of path i here. `out` has no index, so it can only be encoded.
  [[nodiscard]] bool sort_into(DefinitionSet& out, GrowableArray<std::uint32_t>& mapping) const;

 private:
  struct Text {
    std::uint32_t offset;
    std::uint32_t size;
  };
  struct Module {
    Text path;
    std::uint8_t build_id[20];
    std::uint8_t build_id_size;
  };
  bool keep_text(std::string_view text, Text& out);
  /// Appends an item that is not there yet. Returns its number.
  template <class Item>
  static std::uint32_t add(const Item& item, std::uint64_t hash, GrowableArray<Item>& items, HashIndex& index) {
    const auto number = static_cast<std::uint32_t>(items.size());
    if (number == none || !index.reserve(1) || !items.push_back(item)) return none;
    index.insert(hash, number);
    return number;
  }
  std::string_view view(Text text) const {
    return {reinterpret_cast<const char*>(text_.data()) + text.offset, text.size};
  }
  std::string_view build_id(const Module& m) const {
    return {reinterpret_cast<const char*>(m.build_id), m.build_id_size};
  }

  GrowableArray<Module> modules_;
  GrowableArray<Text> regions_;
  GrowableArray<PathDefinition> paths_;
  platform::Bytes text_;
  HashIndex module_index_, region_index_, path_index_;
};

}  // namespace refrain::record

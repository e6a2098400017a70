#include "record/definition_set.hpp"

#include <algorithm>

#include "format/checksum.hpp"
#include "format/profile_file.hpp"

namespace refrain::record {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15u;
  return (x ^ x >> 32) * 0xd6e8feb86659fd93u;
}

std::uint64_t hash_of(const PathDefinition& d) {
  const std::uint64_t parent_and_module = std::uint64_t{d.parent} << 32 | static_cast<std::uint32_t>(d.module);
  const std::uint64_t x = mix(mix(parent_and_module, d.offset), static_cast<std::uint64_t>(d.kind));
  return x ^ x >> 29;
}

bool same(const PathDefinition& a, const PathDefinition& b) {
  return a.offset == b.offset && a.parent == b.parent && a.module == b.module && a.kind == b.kind;
}

}  // namespace

bool DefinitionSet::create() { return paths_.push_back({0, 0, -1, NodeKind::Root}); }

bool DefinitionSet::keep_text(std::string_view text, Text& out) {
  out = {static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(text.size())};
  return text_.append(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

std::uint32_t DefinitionSet::module(std::string_view path, std::span<const std::uint8_t> id) {
  Module wanted{};
  wanted.build_id_size = static_cast<std::uint8_t>(std::min(id.size(), sizeof wanted.build_id));
  std::copy_n(id.begin(), wanted.build_id_size, wanted.build_id);
  const bool by_id = wanted.build_id_size != 0;
  const std::string_view identity = by_id ? build_id(wanted) : path;
  const std::uint64_t hash = format::checksum(identity.data(), identity.size());
  const std::uint32_t known = module_index_.find(hash, [&](std::uint32_t i) {
    const Module& m = modules_[i];
    return by_id == (m.build_id_size != 0) && identity == (by_id ? build_id(m) : view(m.path));
  });
  if (known != none) {
    if (path < view(modules_[known].path) && !keep_text(path, modules_[known].path)) return none;
    return known;
  }
  return keep_text(path, wanted.path) ? add(wanted, hash, modules_, module_index_) : none;
}

std::uint32_t DefinitionSet::region(std::string_view name) {
  const std::uint64_t hash = format::checksum(name.data(), name.size());
  const std::uint32_t known = region_index_.find(hash, [&](std::uint32_t i) { return view(regions_[i]) == name; });
  if (known != none) return known;
  Text text;
  return keep_text(name, text) ? add(text, hash, regions_, region_index_) : none;
}

std::uint32_t DefinitionSet::path(const PathDefinition& definition) {
  const std::uint64_t hash = hash_of(definition);
  const std::uint32_t known = path_index_.find(hash, [&](std::uint32_t i) { return same(paths_[i], definition); });
  return known != none ? known : add(definition, hash, paths_, path_index_);
}

void DefinitionSet::encode_regions(Encoder& out) const {
  out.varint(regions_.size());
  for (Text name : regions_) out.text(view(name));
}

void DefinitionSet::encode_modules(Encoder& out) const {
  out.varint(modules_.size());
  for (const Module& m : modules_) {
    out.text(view(m.path));
    out.text(build_id(m));
  }
}

void DefinitionSet::encode_paths(Encoder& out) const {
  out.varint(paths_.size() - 1);  // the root is implied
  for (std::uint32_t i = 1; i < paths_.size(); ++i) {
    const PathDefinition& p = paths_[i];
    out.varint(i - p.parent);
    out.fixed(static_cast<std::uint8_t>(p.kind));
    if (format::is_address(p.kind)) out.varint(static_cast<std::uint64_t>(p.module + 1));
    out.varint(p.offset);
  }
}

bool DefinitionSet::absorb(format::ByteCursor& encoded, GrowableArray<std::uint32_t>& mapping) {
  GrowableArray<std::uint32_t> regions, modules;
  const std::size_t region_count = encoded.count(1);
  if (!regions.resize(region_count)) return false;
  for (auto& number : regions)
    if ((number = region(encoded.text())) == none) return false;

  const std::size_t module_count = encoded.count(2);
  if (!modules.resize(module_count)) return false;
  for (auto& number : modules) {
    const std::string_view path = encoded.text();
    const std::string_view id = encoded.text();
    number = module(path, {reinterpret_cast<const std::uint8_t*>(id.data()), id.size()});
    if (number == none) return false;
  }

  const std::size_t path_count = encoded.count(3);
  if (!mapping.resize(path_count + 1)) return false;
  mapping[0] = 0;
  for (std::size_t i = 1; i <= path_count; ++i) {
    const std::uint64_t up = encoded.varint();
    PathDefinition p{0, 0, -1, static_cast<NodeKind>(encoded.fixed<std::uint8_t>())};
    if (up == 0 || up > i) return false;
    p.parent = mapping[i - up];
    if (format::is_address(p.kind)) {
      const std::uint64_t m = encoded.varint();
      if (m > modules.size()) return false;
      if (m != 0) p.module = static_cast<std::int32_t>(modules[m - 1]);
    }
    p.offset = encoded.varint();
    if (format::is_named(p.kind)) {
      if (p.offset >= regions.size()) return false;
      p.offset = regions[p.offset];
    }
    if (encoded.failed() || (mapping[i] = path(p)) == none) return false;
  }
  return !encoded.failed();
}

bool DefinitionSet::sort_into(DefinitionSet& out, GrowableArray<std::uint32_t>& mapping) const {
  using Numbers = GrowableArray<std::uint32_t>;
  const auto number_all = [](Numbers& order, std::size_t count) {
    if (!order.resize(count)) return false;
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    return true;
  };
  Numbers order, new_module, new_region, depth;

  if (!number_all(order, modules_.size()) || !new_module.resize(modules_.size())) return false;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int c = view(modules_[a].path).compare(view(modules_[b].path));
    return c != 0 ? c < 0 : build_id(modules_[a]) < build_id(modules_[b]);
  });
  for (std::uint32_t i : order) {
    Module m = modules_[i];
    new_module[i] = static_cast<std::uint32_t>(out.modules_.size());
    if (!out.keep_text(view(modules_[i].path), m.path) || !out.modules_.push_back(m)) return false;
  }

  order.clear();
  if (!number_all(order, regions_.size()) || !new_region.resize(regions_.size())) return false;
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return view(regions_[a]) < view(regions_[b]); });
  for (std::uint32_t i : order) {
    Text text;
    new_region[i] = static_cast<std::uint32_t>(out.regions_.size());
    if (!out.keep_text(view(regions_[i]), text) || !out.regions_.push_back(text)) return false;
  }

  // Level by level: when a level is sorted, the new numbers of all parents are known.
  order.clear();
  if (!number_all(order, paths_.size()) || !depth.resize(paths_.size()) || !mapping.resize(paths_.size())) return false;
  for (std::size_t i = 1; i < paths_.size(); ++i) depth[i] = depth[paths_[i].parent] + 1;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return depth[a] < depth[b]; });
  const auto renumbered = [&](std::uint32_t i) {
    PathDefinition p = paths_[i];
    p.parent = mapping[p.parent];
    if (p.module >= 0) p.module = static_cast<std::int32_t>(new_module[static_cast<std::uint32_t>(p.module)]);
    if (format::is_named(p.kind)) p.offset = new_region[p.offset];
    return p;
  };
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && depth[order[last]] == depth[order[first]]) ++last;
    std::sort(order.begin() + first, order.begin() + last, [&](std::uint32_t i, std::uint32_t j) {
      const PathDefinition a = renumbered(i), b = renumbered(j);
      if (a.parent != b.parent) return a.parent < b.parent;
      if (a.kind != b.kind) return a.kind < b.kind;
      if (a.module != b.module) return a.module < b.module;
      return a.offset < b.offset;
    });
    for (std::size_t at = first; at < last; ++at)
      if (!out.paths_.push_back(renumbered(order[at]))) return false;
    for (std::size_t at = first; at < last; ++at) mapping[order[at]] = static_cast<std::uint32_t>(at);
    first = last;
  }
  return true;
}

}  // namespace refrain::record

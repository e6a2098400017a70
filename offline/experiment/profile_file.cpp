#include "offline/experiment/profile_file.hpp"

#include <algorithm>
#include <cstring>

#include "format/checksum.hpp"
#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/rank_reader.hpp"

namespace refrain::experiment {
namespace {

using format::Section;

struct Header {
  bool complete;
  std::uint32_t ranks, entries;
  std::uint64_t rank_table, definitions, definitions_size;
};

Header read_header(const InputFile& file) {
  const auto beginning = file.read(0, std::min<std::uint64_t>(file.size(), format::header_size), "header");
  if (beginning.size() < sizeof format::magic ||
      std::memcmp(beginning.data(), format::magic, sizeof format::magic) != 0)
    file.fail(0, file.size() == 0 ? "the file is empty" : "not a Refrain profile");
  if (beginning.size() < format::header_size) file.fail(file.size(), "the file ends in its header");
  format::ByteCursor in(beginning);
  in.raw(sizeof format::magic);
  if (in.fixed<std::uint32_t>() != format::endianness_mark) file.fail(8, "wrong byte order mark");
  const auto major = in.fixed<std::uint16_t>();
  const auto minor = in.fixed<std::uint16_t>();
  if (major > format::major_version)
    throw NewerFormatError(file.place(12, "written by a newer Refrain (format " + std::to_string(major) + "." +
                                              std::to_string(minor) + "; this one reads " +
                                              std::to_string(format::major_version) + ".x)"));
  if (major == 0) file.fail(12, "format version 0 does not exist");
  const auto size = in.fixed<std::uint32_t>();
  if (size < format::header_size) file.fail(16, "impossible header size");
  Header header{};
  const auto flags = in.fixed<std::uint32_t>();
  header.complete = (flags & format::flag_complete) != 0;
  header.ranks = in.fixed<std::uint32_t>();
  header.entries = in.fixed<std::uint32_t>();
  header.rank_table = in.fixed<std::uint64_t>();
  header.definitions = in.fixed<std::uint64_t>();
  header.definitions_size = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != format::checksum(beginning.data(), format::header_size - format::checksum_size))
    file.fail(0, "the header has a wrong checksum");
  if (header.ranks == 0 || header.ranks > format::max_ranks || header.entries > header.ranks)
    file.fail(24, "impossible number of ranks");
  return header;
}

std::optional<std::size_t> own_total(std::string_view name) {
  for (std::size_t i = 0; i < format::total_count; ++i)
    if (name == format::row_of(format::total_columns[i].metric).total_name) return i;
  return std::nullopt;
}

int own_column(std::string_view name, NodeKind kind) {
  for (std::size_t i = 0; i < format::metric_count; ++i) {
    const auto& row = format::metric_table[i];
    if (row.name && name == row.name && row.kind == kind)
      return static_cast<int>(format::column_of(static_cast<format::MetricId>(i)));
  }
  return -1;
}

void read_metrics(SectionReader in, Schema& schema) {
  for (std::size_t n = in.count(4); n > 0; --n) {
    const std::string name = clean_text(in.text()), unit = clean_text(in.text());
    const auto number = in.fixed<std::uint8_t>();
    const auto reduction = static_cast<format::Reduction>(in.fixed<std::uint8_t>());
    in.check();
    if (number >= node_kinds) in.refuse("metric of an unknown kind");
    const auto kind = static_cast<NodeKind>(number);
    if (kind == NodeKind::Root) {
      schema.totals.push_back(own_total(present_name(name)));
      continue;
    }
    ColumnPlace place{own_column(name, kind), -1};
    if (place.own < 0 && reduction == format::Reduction::Sum) {
      place.later = static_cast<int>(schema.later.size());
      schema.later.push_back({name, unit});
    }
    schema.columns[number].push_back(place);
  }
  if (schema.totals.empty())  // files before 1.6 do not list their totals, but have these
    for (std::size_t i = 0; i < std::size(format::oldest_totals); ++i) schema.totals.push_back(i);
  // Pseudo paths have the columns of functions, because ticks may end at them.
  schema.columns[static_cast<std::size_t>(NodeKind::Special)] =
      schema.columns[static_cast<std::size_t>(NodeKind::Function)];
  in.finish();
}

void read_losses(SectionReader in, Schema& schema) {
  for (std::size_t n = in.count(1); n > 0; --n) {
    const std::string_view name = in.text();
    schema.losses.emplace_back();
    for (std::size_t i = 0; i < format::loss_count; ++i)
      if (name == format::loss_table[i].name) schema.losses.back() = i;
  }
  in.finish();
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (unsigned char c : bytes) {
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

void read_regions(SectionReader in, ProfileDefinitions& definitions) {
  for (std::size_t n = in.count(1); n > 0; --n) definitions.regions.push_back(clean_text(in.name(NameKind::Region)));
  in.finish();
}

void read_modules(SectionReader in, ProfileDefinitions& definitions) {
  for (std::size_t n = in.count(2); n > 0; --n) {
    ProfileModule module;
    module.path = clean_text(in.name(NameKind::Module));
    module.build_id = hex(in.name(NameKind::BuildId));
    definitions.modules.push_back(std::move(module));
  }
  in.finish();
}

/// Whether the sections with the names of regions and modules are intact.
struct Named {
  bool regions, modules;
};

void read_paths(SectionReader in, Named named, ProfileDefinitions& definitions) {
  constexpr std::uint64_t most_unnamed = 1 << 20;
  const auto has = [&](std::uint64_t index, auto& list, bool whole, auto name) {
    if (!whole && index < most_unnamed)
      while (list.size() <= index) list.push_back(name(list.size()));
    return index < list.size();
  };
  const std::size_t count = in.count(3);
  in.check();
  definitions.paths.reserve(count + 1);
  definitions.paths.push_back({0, NodeKind::Root, -1, 0});
  for (std::uint32_t i = 1; i <= count; ++i) {
    const std::uint64_t up = in.varint();
    const auto kind = in.fixed<std::uint8_t>();
    in.check();
    if (up == 0 || up > i) in.refuse("a call path before its parent");
    if (kind == 0 || kind >= node_kinds) in.refuse("a call path of unknown kind");
    CallPath path{static_cast<std::uint32_t>(i - up), static_cast<NodeKind>(kind), -1, 0};
    if (format::is_address(path.kind)) {
      const std::uint64_t module = in.varint();
      const auto unnamed = [](std::size_t n) { return ProfileModule{"(module " + std::to_string(n) + ")", ""}; };
      if (module > 0 && !has(module - 1, definitions.modules, named.modules, unnamed))
        in.refuse("a call path in a module that is not there");
      path.module = static_cast<std::int32_t>(module) - 1;
    }
    path.offset = in.varint();
    const auto unnamed = [](std::size_t n) { return "(region " + std::to_string(n) + ")"; };
    if (format::is_named(path.kind) && !has(path.offset, definitions.regions, named.regions, unnamed))
      in.refuse("a call path of a region that is not there");
    if (path.kind == NodeKind::Special && path.offset > static_cast<std::uint64_t>(format::SpecialPath::ArenaFull))
      in.refuse("an unknown special call path");
    definitions.paths.push_back(path);
  }
  in.finish();
}

}  // namespace

void ProfileFile::read_definitions(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  const BlockReader block(file, offset, size, "definitions");
  DamageLog& damage = file.damage();
  damage.survives("the version that wrote it is not known", [&] {
    SectionReader writer = block.section(Section::Writer, "writer");
    definitions_.version = clean_text(writer.text());
    writer.check();
  });
  read_metrics(block.section(Section::Metrics, "metrics"), schema_);
  schema_.losses_known = damage.survives("the losses are not shown",
                                         [&] { read_losses(block.section(Section::Losses, "losses"), schema_); });
  Named named{};
  named.regions = damage.survives("MPI functions and marked regions have no names",
                                  [&] { read_regions(block.section(Section::Regions, "regions"), definitions_); });
  named.modules = damage.survives("functions have no names",
                                  [&] { read_modules(block.section(Section::Modules, "modules"), definitions_); });
  if (!named.regions) definitions_.regions.clear();
  if (!named.modules) definitions_.modules.clear();
  read_paths(block.section(Section::Paths, "paths"), named, definitions_);
}

void ProfileFile::read_rank_table(const InputFile& file, std::uint64_t offset, std::uint32_t entries,
                                  std::uint32_t ranks) {
  const auto table = file.read(offset, std::uint64_t{entries} * format::rank_entry_size, "rank table");
  std::uint32_t written = 0;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const auto bytes = std::span(table).subspan(std::size_t{i} * format::rank_entry_size, format::rank_entry_size);
    if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) continue;  // not written
    ++written;
    const std::uint64_t place = offset + std::uint64_t{i} * format::rank_entry_size;
    file.damage().survives(entries == ranks ? "rank " + std::to_string(i) + " is missing" : "a rank is missing", [&] {
      format::ByteCursor in(bytes);
      const auto number = in.fixed<std::uint32_t>();
      const auto flags = in.fixed<std::uint32_t>();
      Entry entry{static_cast<std::int32_t>(number), in.fixed<std::uint64_t>(), 0};
      entry.size = in.fixed<std::uint64_t>();
      if (in.fixed<std::uint64_t>() != format::checksum(bytes.data(), bytes.size() - format::checksum_size))
        file.fail(place, "an entry of the rank table has a wrong checksum");
      if ((flags & format::flag_rank_present) == 0) return void(--written);
      if (number >= ranks || (!entries_.empty() && entry.rank <= entries_.back().rank))
        file.fail(place, "an entry of the rank table has an impossible rank");
      entries_.push_back(entry);
    });
  }
  definitions_.complete = definitions_.complete && written == ranks;
}

ProfileFile::ProfileFile(const InputFile& file) : source_(file.source()) {
  const Header header = read_header(file);
  definitions_.ranks_expected = static_cast<std::int32_t>(header.ranks);
  definitions_.complete = header.complete;
  read_definitions(file, header.definitions, header.definitions_size);
  read_rank_table(file, header.rank_table, header.entries, header.ranks);
  if (entries_.size() > 1) stays_open_ = std::make_unique<const InputFile>(source_);
}

Rank ProfileFile::read(const Entry& entry, Depth depth, const ProfileDefinitions& definitions,
                       std::span<const std::uint32_t> paths) const {
  if (stays_open_) return read(*stays_open_, entry, depth, definitions, paths);
  return read(InputFile(source_), entry, depth, definitions, paths);
}

Rank ProfileFile::read(const InputFile& file, const Entry& entry, Depth depth, const ProfileDefinitions& definitions,
                       std::span<const std::uint32_t> paths) const {
  const BlockReader block(file, entry.offset, entry.size, "rank " + std::to_string(entry.rank));
  return RankReader(file, block, schema_, definitions, paths).read(entry.rank, depth);
}

}  // namespace refrain::experiment

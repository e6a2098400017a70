#include "tests/fuzz/archive/file_surgery.hpp"

#include <cstdint>
#include <zstd.h>

#include "format/checksum.hpp"
#include "format/profile_file.hpp"

namespace refrain::testing {

namespace {

using format::checksum;

bool inside(const std::string& bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

std::string edited_block(const std::string& file, std::uint64_t at, int rank, const EditSection& edit) {
  const auto count = get<std::uint32_t>(file, at);
  std::string table = file.substr(at, format::section_table_size(count)), payloads;
  for (std::size_t entry = format::section_table_head; entry < table.size() - format::checksum_size;
       entry += format::section_entry_size) {
    std::string payload = file.substr(at + get<std::uint64_t>(table, entry + 8), get<std::uint64_t>(table, entry + 16));
    if (get<std::uint16_t>(table, entry + 6) == static_cast<std::uint16_t>(format::Encoding::Zstd)) {
      std::string raw(get<std::uint64_t>(table, entry + 24), '\0');
      ZSTD_decompress(raw.data(), raw.size(), payload.data(), payload.size());
      payload = raw;
    }
    payload = edit(rank, get<std::uint32_t>(table, entry), std::move(payload));
    put(table, entry + 6, static_cast<std::uint16_t>(format::Encoding::Raw));
    put<std::uint64_t>(table, entry + 8, table.size() + payloads.size());
    put<std::uint64_t>(table, entry + 16, payload.size());
    put<std::uint64_t>(table, entry + 24, payload.size());
    payloads += payload;
  }
  return table + payloads;
}

/// Frames of iterations, one behind the other, as far as they make sense.
void reseal_frames(std::string& file, std::uint64_t at, std::uint64_t size) {
  constexpr std::uint64_t around = format::frame_head_size + format::checksum_size;
  for (const std::uint64_t end = at + size; end - at >= around;) {
    const auto stored = get<std::uint64_t>(file, at + 16);
    if (stored > end - at - around) return;
    put(file, at + format::frame_head_size + stored,
        format::checksum(file.data() + at, format::frame_head_size + stored));
    at += stored + around;
  }
}

void reseal_block(std::string& file, std::uint64_t at) {
  const auto count = get<std::uint32_t>(file, at);
  const auto entry_size = get<std::uint32_t>(file, at + 4);
  if (!inside(file, at, 16) || entry_size < format::section_entry_size || count > file.size() / entry_size) return;
  const std::uint64_t table = format::section_table_head + std::uint64_t{count} * entry_size;
  if (!inside(file, at, table + format::checksum_size)) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = at + format::section_table_head + i * entry_size;
    const auto offset = get<std::uint64_t>(file, entry + 8), stored = get<std::uint64_t>(file, entry + 16);
    if (!inside(file, at, offset) || !inside(file, at + offset, stored)) continue;
    if (get<std::uint32_t>(file, entry) == static_cast<std::uint32_t>(format::Section::Iterations))
      reseal_frames(file, at + offset, stored);
    put(file, entry + 32, format::checksum(file.data() + at + offset, stored));
  }
  put(file, at + table, format::checksum(file.data() + at, table));
}

}  // namespace

std::string unpacked(const std::string& file) {
  return edited(file, [](int, std::uint32_t, std::string contents) { return contents; });
}

std::string edited(const std::string& file, const EditSection& edit) {
  const auto entries = get<std::uint32_t>(file, 28);
  std::string out = file.substr(0, format::header_size + entries * format::rank_entry_size);
  const std::string definitions = edited_block(file, get<std::uint64_t>(file, 40), -1, edit);
  put<std::uint64_t>(out, 40, out.size());
  put<std::uint64_t>(out, 48, definitions.size());
  out += definitions;
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = format::header_size + i * format::rank_entry_size;
    const std::string block = edited_block(file, get<std::uint64_t>(file, entry + 8), static_cast<int>(i), edit);
    put<std::uint64_t>(out, entry + 8, out.size());
    put<std::uint64_t>(out, entry + 16, block.size());
    out += block;
  }
  reseal(out);
  return out;
}

void reseal(std::string& file) {
  if (file.size() < format::header_size) return;
  reseal_block(file, get<std::uint64_t>(file, 40));
  const auto table = get<std::uint64_t>(file, 32);
  for (std::uint64_t i = 0; i < get<std::uint32_t>(file, 28) && inside(file, table, (i + 1) * format::rank_entry_size);
       ++i) {
    const std::uint64_t entry = table + i * format::rank_entry_size;
    reseal_block(file, get<std::uint64_t>(file, entry + 8));
    put(file, entry + 24, format::checksum(file.data() + entry, 24));
  }
  put(file, 56, format::checksum(file.data(), 56));
}

}  // namespace refrain::testing

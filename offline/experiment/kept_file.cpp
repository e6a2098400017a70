#include "offline/experiment/kept_file.hpp"

#include <array>
#include <cstring>

#include "format/bytes.hpp"
#include "format/checksum.hpp"

namespace refrain::experiment {
namespace {

std::string fixed(std::uint64_t value, std::size_t size) {
  std::array<std::byte, sizeof value> raw;
  format::store_little_endian(raw.data(), value);
  return {reinterpret_cast<const char*>(raw.data()), size};
}

}  // namespace

std::uint64_t checksum_of(std::string_view bytes) { return format::checksum(bytes.data(), bytes.size()); }

KeptHead read_kept_head(const InputFile& file, const KeptKind& kind) {
  const std::string name = kind.name;
  const auto begin = file.read(0, kept_head_at, name);
  if (std::memcmp(begin.data(), kind.magic.data(), kind.magic.size()) != 0) file.fail(0, "not " + name);
  if (format::load_little_endian<std::uint32_t>(&begin[8]) != kind.version)
    file.fail(8, name + " of another version of Refrain");
  const std::size_t size = format::load_little_endian<std::uint32_t>(&begin[12]);
  if (size > kind.largest_head) file.fail(12, name + " with an impossible head");
  KeptHead head;
  head.bytes = file.read(0, kept_head_at + size + sizeof(std::uint64_t), name);
  head.end = head.bytes.size();
  if (format::load_little_endian<std::uint64_t>(&head.bytes[kept_head_at + size]) !=
      format::checksum(head.bytes.data(), kept_head_at + size))
    file.fail(0, "the head of " + name + " has a wrong checksum");
  head.bytes.resize(kept_head_at + size);
  head.bytes.erase(head.bytes.begin(), head.bytes.begin() + kept_head_at);
  return head;
}

std::string kept_begin(const KeptKind& kind, std::string_view packed_head) {
  std::string begin(kind.magic);
  begin += fixed(kind.version, sizeof(std::uint32_t));
  begin += fixed(packed_head.size(), sizeof(std::uint32_t));
  begin += packed_head;
  return begin + fixed(checksum_of(begin), sizeof(std::uint64_t));
}

}  // namespace refrain::experiment

#include "unwind/frame_entry.hpp"

#include <algorithm>

#include "unwind/byte_reader.hpp"

namespace refrain::unwind {
namespace {

// Pointer encodings (DW_EH_PE_*): the low 4 bits are the format, the next 3 the base that the pointer is relative to,
// the top bit is indirection.
enum : std::uint8_t {
  format_absolute = 0x00,
  format_uleb = 0x01,
  format_u16 = 0x02,
  format_u32 = 0x03,
  format_u64 = 0x04,
  format_sleb = 0x09,
  format_s16 = 0x0a,
  format_s32 = 0x0b,
  format_s64 = 0x0c,
  relative_to_itself = 0x10,
  relative_to_header = 0x30,
};

/// `header` is the address of .eh_frame_hdr, the base of data-relative pointers.
bool read_pointer(ByteReader& reader, std::uint8_t encoding, std::uintptr_t header, std::uintptr_t& result) {
  const std::uintptr_t itself = reader.position();
  std::uint64_t value = 0;
  switch (encoding & 0x0f) {
    case format_absolute:
    case format_u64:
    case format_s64: value = reader.fixed<std::uint64_t>(); break;
    case format_uleb: value = reader.uleb(); break;
    case format_u16: value = reader.fixed<std::uint16_t>(); break;
    case format_u32: value = reader.fixed<std::uint32_t>(); break;
    case format_sleb: value = static_cast<std::uint64_t>(reader.sleb()); break;
    case format_s16: value = static_cast<std::uint64_t>(std::int64_t{reader.fixed<std::int16_t>()}); break;
    case format_s32: value = static_cast<std::uint64_t>(std::int64_t{reader.fixed<std::int32_t>()}); break;
    default: return false;
  }
  switch (encoding & 0xf0) {
    case 0: break;
    case relative_to_itself: value += itself; break;
    case relative_to_header: value += header; break;
    default: return false;  // indirect and other bases do not occur in tables of code addresses
  }
  result = value;
  return reader.ok();
}

struct Record {
  std::uintptr_t id_position;  ///< of the 4-byte field that tells a CIE (0) from an FDE (distance to its CIE)
  std::uint32_t id;
  ByteReader body;
  std::uintptr_t limit;  ///< memory at or above may not belong to the module
};

bool read_record(const Table& table, std::uintptr_t address, Record& record) {
  Table part;
  if (!find_part(table, address, part)) return false;
  record.limit = part.end;
  ByteReader reader(address, part.end);
  std::uint64_t length = reader.fixed<std::uint32_t>();
  if (length == 0xffffffff) length = reader.fixed<std::uint64_t>();
  record.id_position = reader.position();
  if (!reader.ok() || length < 4 || length > part.end - record.id_position) return false;
  record.body = ByteReader(record.id_position, record.id_position + length);
  record.id = record.body.fixed<std::uint32_t>();
  return true;
}

struct CommonEntry {
  std::uint8_t pointer_encoding = format_absolute;
  bool sized_augmentation = false;
};

bool read_common_entry(const Table& table, std::uintptr_t address, CommonEntry& common, FrameEntry& entry) {
  Record record{0, 0, ByteReader(0, 0), 0};
  if (!read_record(table, address, record) || record.id != 0) return false;
  ByteReader& body = record.body;
  const auto version = body.fixed<std::uint8_t>();
  if (version != 1 && version != 3 && version != 4) return false;
  char augmentation[8] = {};
  for (unsigned i = 0;; ++i) {
    if (i == sizeof augmentation) return false;
    augmentation[i] = body.fixed<char>();
    if (!augmentation[i]) break;
  }
  if (version == 4) {
    const auto address_size = body.fixed<std::uint8_t>();
    const auto segment_size = body.fixed<std::uint8_t>();
    if (address_size != 8 || segment_size != 0) return false;
  }
  entry.code_alignment = body.uleb();
  entry.data_alignment = body.sleb();
  entry.return_address_register = version == 1 ? body.fixed<std::uint8_t>() : body.uleb();
  entry.signal_frame = false;
  if (augmentation[0] == 'z') {
    common.sized_augmentation = true;
    const std::uint64_t length = body.uleb();
    const std::uintptr_t instructions = body.position() + length;
    for (const char* a = augmentation + 1; *a; ++a) {
      std::uintptr_t ignored;
      if (*a == 'R') {
        common.pointer_encoding = body.fixed<std::uint8_t>();
      } else if (*a == 'S') {
        entry.signal_frame = true;
      } else if (*a == 'L') {
        body.skip(1);
      } else if (*a == 'P') {
        const auto encoding = body.fixed<std::uint8_t>();
        if (!read_pointer(body, encoding & 0x0f, 0, ignored)) return false;  // skips the personality routine
      } else if (*a != 'B') {
        return false;
      }
    }
    if (!body.ok() || instructions < body.position() || instructions > body.end()) return false;
    entry.initial = {instructions, body.end()};
  } else if (augmentation[0] == 0) {
    entry.initial = {body.position(), body.end()};
  } else {
    return false;
  }
  return body.ok();
}

bool read_entry(const Table& table, std::uintptr_t position, std::uintptr_t address, FrameEntry& entry) {
  Record record{0, 0, ByteReader(0, 0), 0};
  if (!read_record(table, position, record) || record.id == 0) return false;
  CommonEntry common;
  if (!read_common_entry(table, record.id_position - record.id, common, entry)) return false;
  ByteReader& body = record.body;
  std::uintptr_t length = 0;
  if (!read_pointer(body, common.pointer_encoding, table.eh_frame_hdr, entry.begin)) return false;
  if (!read_pointer(body, common.pointer_encoding & 0x0f, 0, length)) return false;
  entry.end = entry.begin + length;
  if (address < entry.begin || address >= entry.end) return false;
  if (common.sized_augmentation) body.skip(body.uleb());
  entry.own = {body.position(), body.end()};
  entry.module_end = record.limit;
  return body.ok();
}

}  // namespace

bool find_frame_entry(const Table& table, std::uintptr_t address, FrameEntry& entry) {
  const std::uintptr_t header = table.eh_frame_hdr;
  Table part;
  if (header == 0 || !find_part(table, header, part)) return false;
  ByteReader reader(header, part.end);
  const auto version = reader.fixed<std::uint8_t>();
  const auto frame_encoding = reader.fixed<std::uint8_t>();
  const auto count_encoding = reader.fixed<std::uint8_t>();
  const auto table_encoding = reader.fixed<std::uint8_t>();
  // Linkers write only this form of search table: sorted pairs of 32-bit distances from the header.
  if (version != 1 || table_encoding != (relative_to_header | format_s32)) return false;
  std::uintptr_t frames, count;
  if (!read_pointer(reader, frame_encoding, header, frames)) return false;
  if (!read_pointer(reader, count_encoding, header, count)) return false;
  struct Pair {
    std::int32_t function, entry;
  };
  if (count == 0 || count > (part.end - reader.position()) / sizeof(Pair)) return false;
  const auto* pairs = reinterpret_cast<const Pair*>(reader.position());
  const auto wanted = static_cast<std::int64_t>(address - header);
  const Pair* const behind =
      std::upper_bound(pairs, pairs + count, wanted, [](std::int64_t at, const Pair& of) { return at < of.function; });
  if (behind == pairs) return false;
  return read_entry(table, header + static_cast<std::uintptr_t>(std::int64_t{behind[-1].entry}), address, entry);
}

}  // namespace refrain::unwind

#include "offline/experiment/tar_file.hpp"

#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace refrain::experiment {
namespace {

constexpr std::size_t tar_block = 512, tar_name_length = 100, tar_mode_at = 100, tar_user_at = 108, tar_group_at = 116,
                      tar_size_at = 124, tar_size_length = 12, tar_time_at = 136, tar_checksum_at = 148,
                      tar_checksum_length = 8, tar_type_at = 156, tar_magic_at = 257, tar_prefix_at = 345,
                      tar_prefix_length = 155;
constexpr char regular_file = '0', gnu_long_name = 'L', pax_records = 'x';
constexpr std::uint64_t most_octal = (std::uint64_t{1} << 33) - 1;  // eleven digits
constexpr unsigned char base_256 = 0x80;

/// Parses octal digits surrounded by blanks. Nothing: not a number.
std::optional<std::uint64_t> octal(std::string_view text) {
  std::uint64_t value = 0;
  bool any = false;
  for (const char digit : text) {
    if (digit == '\0') break;
    if (digit == ' ') {
      if (any) break;
      continue;
    }
    if (digit < '0' || digit > '7' || value >> 58 != 0) return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(digit - '0');
    any = true;
  }
  return any ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> size_in(std::string_view text) {
  if (static_cast<unsigned char>(text[0]) != base_256) return octal(text);
  std::uint64_t value = 0;
  for (const char byte : text.substr(1)) {
    if (value >> 56 != 0) return std::nullopt;
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

/// Writes octal digits with leading zeros, and leaves the last byte of the field as its null character.
void put_octal(std::string& head, std::size_t at, std::size_t length, std::uint64_t value) {
  for (std::size_t i = length - 1; i-- > 0; value /= 8) head[at + i] = static_cast<char>('0' + value % 8);
}

std::uint64_t padding_of(std::uint64_t size) { return (tar_block - size % tar_block) % tar_block; }

/// The name in a field; it ends with the field or with a null character.
std::string name_in(const char* field, std::size_t length) { return {field, strnlen(field, length)}; }

/// The full name according to the head alone: ustar has the directories of a long name in a field of its own. GNU tar
/// has other data there, and another magic.
std::string name_of_head(const char* head) {
  std::string name = name_in(head, tar_name_length);
  const bool is_ustar = std::memcmp(head + tar_magic_at, "ustar\0", 6) == 0;
  const std::string prefix = is_ustar ? name_in(head + tar_prefix_at, tar_prefix_length) : std::string();
  return prefix.empty() ? name : prefix + "/" + name;
}

/// Values from before a head that override those in the head.
struct Override {
  std::optional<std::string> name;
  std::optional<std::uint64_t> size;
};

/// Reads records "LENGTH KEY=VALUE\n" (POSIX.1-2001, pax). False: they are malformed.
bool read_pax(std::string_view text, Override& to) {
  while (!text.empty()) {
    std::uint64_t length = 0;
    const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(behind - text.data());
    if (error != std::errc() || length < digits + 2 || length > text.size() || *behind != ' ') return false;
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == record.npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") to.name = value;
    if (key == "size") {
      std::uint64_t size = 0;
      const auto read = std::from_chars(value.data(), value.data() + value.size(), size);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size()) return false;
      to.size = size;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::map<std::string, TarMember> tar_members(const InputFile& file) {
  constexpr std::size_t most_members = 100'000;
  constexpr std::uint64_t largest_override = 1 << 16;
  std::map<std::string, TarMember> members;
  Override next;
  for (std::uint64_t at = 0; at + tar_block <= file.size();) {
    const std::vector<std::byte> bytes = file.read(at, tar_block, "the head of a file in it");
    const char* head = reinterpret_cast<const char*>(bytes.data());
    if (head[0] == '\0') break;  // the end of the archive
    const char type = head[tar_type_at];
    const bool is_override = type == gnu_long_name || type == pax_records;
    const auto size = !is_override && next.size ? next.size : size_in({head + tar_size_at, tar_size_length});
    if (!size) file.fail(at, "the head of a file in it has no size");
    const std::uint64_t begin = at + tar_block;
    if (*size > file.size() - begin) file.fail(at, "the archive ends before a file in it does");
    if (is_override) {
      if (*size > largest_override) file.fail(at, "the name of a file in it has an impossible length");
      const auto text = file.read(begin, *size, "the name of a file in it");
      const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
      if (type == gnu_long_name) next.name = all.substr(0, all.find('\0'));
      else if (!read_pax(all, next)) file.fail(begin, "the head of a file in it is no list of records");
    } else {
      if (type == regular_file || type == '\0') members[next.name.value_or(name_of_head(head))] = {begin, *size};
      next = {};
    }
    if (members.size() > most_members) file.fail(at, "too many files in it");
    at = begin + *size + padding_of(*size);
  }
  return members;
}

bool is_tar(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char head[tar_block] = {};
  return file.read(head, sizeof head) && std::memcmp(head + tar_magic_at, "ustar", 5) == 0;
}

std::string tar_head(std::string_view name, std::uint64_t size) {
  if (name.size() > tar_name_length) throw std::invalid_argument("a name of more than 100 bytes: " + std::string(name));
  std::string head(tar_block, '\0');
  head.replace(0, name.size(), name);
  constexpr std::uint64_t all_read = 0644;
  put_octal(head, tar_mode_at, tar_user_at - tar_mode_at, all_read);
  put_octal(head, tar_user_at, tar_group_at - tar_user_at, 0);
  put_octal(head, tar_group_at, tar_size_at - tar_group_at, 0);
  put_octal(head, tar_time_at, tar_checksum_at - tar_time_at, 0);  // equal files give equal archives
  if (size <= most_octal) {
    put_octal(head, tar_size_at, tar_size_length, size);
  } else {
    head[tar_size_at] = static_cast<char>(base_256);
    for (std::size_t i = tar_size_length; size > 0; size >>= 8)
      head[tar_size_at + --i] = static_cast<char>(size & 0xFF);
  }
  head[tar_type_at] = regular_file;
  head.replace(tar_magic_at, 8, std::string_view("ustar\00000", 8));
  // The checksum is the sum of all bytes, with blanks in its own field.
  head.replace(tar_checksum_at, tar_checksum_length, tar_checksum_length, ' ');
  const auto sum = std::accumulate(head.begin(), head.end(), std::uint64_t{0},
                                   [](std::uint64_t sum, char byte) { return sum + static_cast<unsigned char>(byte); });
  put_octal(head, tar_checksum_at, tar_checksum_length - 1, sum);
  head[tar_checksum_at + tar_checksum_length - 2] = '\0';
  return head;
}

std::string tar_padding(std::uint64_t size) { return std::string(padding_of(size), '\0'); }

std::string tar_end() { return std::string(2 * tar_block, '\0'); }

}  // namespace refrain::experiment

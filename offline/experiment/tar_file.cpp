#include "offline/experiment/tar_file.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace refrain::experiment {
namespace {

constexpr std::size_t tar_block = 512, tar_name_length = 100, tar_mode_at = 100, tar_user_at = 108, tar_group_at = 116,
                      tar_size_at = 124, tar_size_length = 12, tar_time_at = 136, tar_checksum_at = 148,
                      tar_checksum_length = 8, tar_type_at = 156, tar_magic_at = 257;
constexpr char regular_file = '0';
constexpr std::uint64_t most_octal = (std::uint64_t{1} << 33) - 1;  // eleven digits
constexpr unsigned char base_256 = 0x80;

/// Octal digits with blanks around. Nothing: it is no number.
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

/// Digits with zeros in front, and the null character behind them.
void put_octal(std::string& head, std::size_t at, std::size_t length, std::uint64_t value) {
  for (std::size_t i = length - 1; i-- > 0; value /= 8) head[at + i] = static_cast<char>('0' + value % 8);
}

std::uint64_t padding_of(std::uint64_t size) { return (tar_block - size % tar_block) % tar_block; }

}  // namespace

std::map<std::string, TarMember> tar_members(const InputFile& file) {
  constexpr std::size_t most_members = 100'000;
  std::map<std::string, TarMember> members;
  for (std::uint64_t at = 0; at + tar_block <= file.size();) {
    const std::vector<std::byte> bytes = file.read(at, tar_block, "the head of a file in it");
    const char* head = reinterpret_cast<const char*>(bytes.data());
    if (head[0] == '\0') break;  // the end
    const auto size = size_in({head + tar_size_at, tar_size_length});
    if (!size || *size > file.size()) file.fail(at, "the head of a file in it has no size");
    if (head[tar_type_at] == regular_file || head[tar_type_at] == '\0')
      members[std::string(head, strnlen(head, tar_name_length))] = {at + tar_block, *size};
    if (members.size() > most_members) file.fail(at, "too many files in it");
    at += tar_block + *size + padding_of(*size);
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
  // The sum of all bytes, with blanks in its own place.
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

// Encoded integers are read correctly, however many bytes follow them.
#include "format/bytes.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace refrain::format {
namespace {

std::vector<std::byte> written(std::uint64_t value, std::size_t behind) {
  std::vector<std::byte> bytes(longest_varint);
  bytes.resize(put_varint(bytes.data(), value));
  bytes.resize(bytes.size() + behind, std::byte{0xff});
  return bytes;
}

TEST(Varint, comes_back_as_it_was_written) {
  for (unsigned bits = 0; bits <= 64; ++bits)
    for (const std::uint64_t below : {0ULL, 1ULL, 0x5555555555555555ULL}) {
      const std::uint64_t value = (bits == 64 ? 0 : std::uint64_t{1} << bits) - below;
      for (std::size_t behind = 0; behind <= 2 * sizeof value; ++behind) {
        const auto bytes = written(value, behind);
        std::size_t at = 0;
        std::uint64_t read = 0;
        EXPECT_TRUE(take_varint(bytes, at, read)) << value << " before " << behind;
        EXPECT_EQ(read, value) << "before " << behind;
        EXPECT_EQ(at, bytes.size() - behind) << value;
      }
    }
}

TEST(Varint, is_malformed_when_it_has_no_end) {
  for (std::size_t size = 0; size <= 2 * longest_varint; ++size) {
    const std::vector<std::byte> bytes(size, std::byte{0x80});
    std::size_t at = 0;
    std::uint64_t read = 0;
    EXPECT_FALSE(take_varint(bytes, at, read)) << size;
  }
}

TEST(Varint, is_malformed_beyond_64_bits) {
  std::vector<std::byte> bytes(longest_varint - 1, std::byte{0xff});
  bytes.push_back(std::byte{2});
  bytes.resize(bytes.size() + sizeof(std::uint64_t));
  std::size_t at = 0;
  std::uint64_t read = 0;
  EXPECT_FALSE(take_varint(bytes, at, read));
}

}  // namespace
}  // namespace refrain::format

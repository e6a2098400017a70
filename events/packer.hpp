#pragma once
/// Compresses pieces of records one by one with zstd, in memory that it is given. Nothing is allocated, but it takes a
/// few kilobytes of stack, so it runs in ordinary context only. Code that handlers share calls it through pointers.

#include <cstddef>
#include <span>

namespace refrain::events {

class Packer {
 public:
  /// A piece has at most `most` bytes. One with fewer than `least` is not worth compressing.
  static constexpr std::size_t most = std::size_t{32} << 10, least = 256;

  /// Does not compress: exists() is false.
  Packer() = default;
  /// Takes its memory from the end of `memory`, aligned to 8 bytes. Does not compress if it needs more than a sixteenth
  /// of it, because the same records would then take less room uncompressed.
  static Packer at_end_of(std::span<std::byte>& memory);
  bool exists() const { return memory_ != nullptr; }

  /// The compressed piece, valid until the next call. Empty: it would not be smaller.
  std::span<const std::byte> pack(std::span<const std::byte> piece) { return pack_(*this, piece); }
  /// Unpacks into `piece`, which must have the original size. False: the packed bytes are damaged.
  bool unpack(std::span<const std::byte> packed, std::span<std::byte> piece) { return unpack_(*this, packed, piece); }

 private:
  static std::span<const std::byte> pack_piece(Packer& packer, std::span<const std::byte> piece);
  static bool unpack_piece(Packer& packer, std::span<const std::byte> packed, std::span<std::byte> piece);

  std::byte* memory_ = nullptr;  ///< a packed or unpacked piece, then zstd's working memory
  void* packing_ = nullptr;      ///< null: the working memory is not set up for packing
  void* unpacking_ = nullptr;
  decltype(&pack_piece) pack_ = nullptr;
  decltype(&unpack_piece) unpack_ = nullptr;
};

}  // namespace refrain::events

#pragma once
/// Compresses pieces of records, each by itself, in memory that it is given (zstd). Nothing is allocated, but it takes
/// a few kilobytes of stack: in ordinary context only. So code that handlers share calls it through pointers.

#include <cstddef>
#include <span>

namespace refrain::events {

class Packer {
 public:
  /// A piece has at most so many bytes; one with fewer than `least` is not worth it.
  static constexpr std::size_t most = std::size_t{32} << 10, least = 256;

  /// None.
  Packer() = default;
  /// Takes its memory from the end of `memory`, aligned to 8 bytes. None when that is more than a sixteenth: the same
  /// records would take less room as they are.
  static Packer at_end_of(std::span<std::byte>& memory);
  bool exists() const { return memory_ != nullptr; }

  /// Valid until the next call. Empty: it would not be smaller.
  std::span<const std::byte> pack(std::span<const std::byte> piece) { return pack_(*this, piece); }
  /// Into `piece`, which is as large as it was. False: something is wrong with it.
  bool unpack(std::span<const std::byte> packed, std::span<std::byte> piece) { return unpack_(*this, packed, piece); }

 private:
  static std::span<const std::byte> pack_piece(Packer& packer, std::span<const std::byte> piece);
  static bool unpack_piece(Packer& packer, std::span<const std::byte> packed, std::span<std::byte> piece);

  std::byte* memory_ = nullptr;  ///< a packed or unpacked piece, then what zstd works with
  void* packing_ = nullptr;      ///< null: what zstd works with is not set up for that
  void* unpacking_ = nullptr;
  decltype(&pack_piece) pack_ = nullptr;
  decltype(&unpack_piece) unpack_ = nullptr;
};

}  // namespace refrain::events

#include "offline/experiment/unpack.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <zstd.h>

namespace refrain::experiment {

namespace {

/// The thread's own context, reset for new data. Creating one queries the processor's features, which takes tens of
/// microseconds in a virtual machine.
ZSTD_DCtx* fresh_context() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  return context.get();
}

/// A block of zstd data has at most 128 KiB of contents and takes at least four bytes.
constexpr std::uint64_t most_compressed = 128 * 1024 / 4;

/// Grows `out` with the data actually produced, so that a wrong size costs no memory. Uses the capacity of `out` first:
/// when all data fit, zstd writes them there directly.
std::string unpack_zstd(const std::vector<std::byte>& stored, std::uint64_t raw, std::vector<std::byte>& out) {
  ZSTD_DCtx* const context = fresh_context();
  ZSTD_inBuffer in{stored.data(), stored.size(), 0};
  std::size_t left = 1, done = 0;
  while (left != 0) {
    out.resize(std::min<std::uint64_t>(raw, std::max<std::size_t>(done + ZSTD_DStreamOutSize(), out.capacity())));
    ZSTD_outBuffer chunk{out.data() + done, out.size() - done, 0};
    const std::size_t in_before = in.pos;
    left = ZSTD_decompressStream(context, &chunk, &in);
    if (ZSTD_isError(left)) return ZSTD_getErrorName(left);
    done += chunk.pos;
    if (left != 0 && chunk.pos == 0 && in.pos == in_before) return "unexpected end of compressed data";
  }
  out.resize(done);
  return out.size() != raw || in.pos != in.size ? "has not the size it says" : "";
}

}  // namespace

void unpack(const InputFile& file, std::uint64_t at, const std::string& name, format::Encoding encoding,
            std::vector<std::byte> stored, std::uint64_t raw, std::vector<std::byte>& contents) {
  switch (encoding) {
    case format::Encoding::Raw:
      if (raw != stored.size()) file.fail(at, name + ": two different sizes");
      contents = std::move(stored);
      return;
    case format::Encoding::Zstd: {
      if (raw > format::largest_compressed || raw / most_compressed > stored.size())
        file.fail(at, name + ": cannot be unpacked to " + std::to_string(raw) + " bytes");
      const std::string error = unpack_zstd(stored, raw, contents);
      if (!error.empty()) file.fail(at, name + ": cannot be unpacked: " + error);
      return;
    }
  }
  file.fail(at, name + ": unknown encoding " + std::to_string(static_cast<unsigned>(encoding)));
}

std::vector<std::byte> unpack(const InputFile& file, std::uint64_t at, const std::string& name,
                              format::Encoding encoding, std::vector<std::byte> stored, std::uint64_t raw) {
  std::vector<std::byte> contents;
  unpack(file, at, name, encoding, std::move(stored), raw, contents);
  return contents;
}

std::uint64_t bytes_to_begin(format::Encoding encoding, std::size_t size) {
  // The first block of zstd data, with the heads of block and frame.
  return encoding == format::Encoding::Zstd ? std::max<std::uint64_t>(size, 128 * 1024) + 64 : size;
}

std::vector<std::byte> unpack_begin(format::Encoding encoding, const std::vector<std::byte>& stored, std::size_t size) {
  std::vector<std::byte> out(size);
  if (encoding != format::Encoding::Zstd) {
    out.resize(std::min(size, stored.size()));
    std::copy_n(stored.begin(), out.size(), out.begin());
    return out;
  }
  ZSTD_DCtx* const context = fresh_context();
  ZSTD_inBuffer in{stored.data(), stored.size(), 0};
  ZSTD_outBuffer begin{out.data(), out.size(), 0};
  while (begin.pos < begin.size) {
    const std::size_t in_before = in.pos, out_before = begin.pos;
    const std::size_t left = ZSTD_decompressStream(context, &begin, &in);
    if (ZSTD_isError(left) || left == 0 || (in.pos == in_before && begin.pos == out_before)) break;
  }
  out.resize(begin.pos);
  return out;
}

}  // namespace refrain::experiment

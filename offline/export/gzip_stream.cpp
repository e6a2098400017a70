#include "offline/export/gzip_stream.hpp"

#include <array>
#include <zlib.h>

namespace refrain::exports {

struct GzipStream::Impl {
  explicit Impl(OutputFile& to) : out(to) {
    constexpr int with_gzip_header = 16, usual_memory = 8;
    // Speed matters more than size: profiles are small, or many.
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + with_gzip_header, usual_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw ExportError("zlib has no memory to compress with");
  }
  ~Impl() { deflateEnd(&stream); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void deflate_all(int flush) {
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = static_cast<uInt>(buffer.size());
      if (deflate(&stream, flush) == Z_STREAM_ERROR) throw ExportError("zlib cannot compress");
      out.write({buffer.data(), buffer.size() - stream.avail_out});
    } while (stream.avail_out == 0);
  }

  OutputFile& out;
  z_stream stream{};
  std::array<char, 1 << 16> buffer{};
};

GzipStream::GzipStream(OutputFile& out) : impl_(std::make_unique<Impl>(out)) {}
GzipStream::~GzipStream() = default;

void GzipStream::write(std::string_view bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, most);
    impl_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    impl_->stream.avail_in = static_cast<uInt>(piece.size());
    impl_->deflate_all(Z_NO_FLUSH);
    bytes.remove_prefix(piece.size());
  }
}

void GzipStream::finish() { impl_->deflate_all(Z_FINISH); }

}  // namespace refrain::exports

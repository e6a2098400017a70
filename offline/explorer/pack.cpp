#include "offline/explorer/pack.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <zlib.h>

namespace refrain::explorer {

std::string compressed(std::string_view data, Repeats repeats) {
  z_stream stream{};
  constexpr int gzip = 16 + MAX_WBITS, memory = 9;
  const int strategy = repeats == Repeats::Bytes ? Z_RLE : Z_DEFAULT_STRATEGY;
  // Level 6 takes a third of the time of 9, for 1 % more.
  if (deflateInit2(&stream, 6, Z_DEFLATED, gzip, memory, strategy) != Z_OK)
    throw std::runtime_error("compression cannot be started");
  std::string out;
  int state = Z_OK;
  constexpr std::size_t piece = 1 << 20;
  while (state != Z_STREAM_END) {
    const std::size_t now = std::min<std::size_t>(data.size(), std::numeric_limits<uInt>::max() / 2);
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));  // zlib only reads there
      stream.avail_in = static_cast<uInt>(now);
      data.remove_prefix(now);
    }
    const std::size_t before = out.size();
    out.resize(before + piece);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(piece);
    state = deflate(&stream, data.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) {
      deflateEnd(&stream);
      throw std::runtime_error("compression has failed");
    }
  }
  deflateEnd(&stream);
  return out;
}

std::string base64(std::string_view data) {
  constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(base64_size(data.size()));
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const auto byte = [&](std::size_t at) { return at < data.size() ? static_cast<unsigned char>(data[at]) : 0U; };
    const unsigned bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const std::size_t known = std::min<std::size_t>(data.size() - i, 3) + 1;
    for (std::size_t k = 0; k < 4; ++k) out += k < known ? letters[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace refrain::explorer

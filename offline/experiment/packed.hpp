#pragma once
/// Serialises values with one description for writing and reading: a function `describe(io, of)` beside a type calls
/// `io(of.first, of.second, ...)` with its members. Integers are LEB128 and real numbers their 64 bits, so values are
/// read exactly as they were written.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "format/bytes.hpp"
#include "offline/experiment/clean_text.hpp"

namespace refrain::experiment {

/// For describe(): T is the type Of, const when it is written.
template <class T, class Of>
concept Is = std::is_same_v<std::remove_const_t<T>, Of>;

class Packer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put_fixed(std::uint64_t value) {
    std::array<std::byte, sizeof value> raw;
    format::store_little_endian(raw.data(), value);
    bytes_.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  }
  void put_varint(std::uint64_t value) {
    std::array<std::byte, format::longest_varint> raw;
    bytes_.append(reinterpret_cast<const char*>(raw.data()), format::put_varint(raw.data(), value));
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) put(static_cast<std::underlying_type_t<T>>(value));
    else if constexpr (std::is_floating_point_v<T>) put_fixed(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    else if constexpr (std::is_signed_v<T>) put_varint(format::zigzag(value));
    else if constexpr (std::is_unsigned_v<T>) put_varint(value);
    else describe(*this, value);
  }
  void put(const std::string& text) {
    put_varint(text.size());
    bytes_ += text;
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put_varint(values.size());
    for (const T& value : values) put(value);
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& values) {
    for (const T& value : values) put(value);
  }
  template <class Key, class T>
  void put(const std::map<Key, T>& values) {
    put_varint(values.size());
    for (const auto& value : values) put(value);
  }

  std::string bytes_;
};

/// Reads what a Packer has written. is_good() is checked once at the end; after a failure values are unspecified.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : in_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  /// Whether all values were read and no bytes are left.
  bool is_good() const { return !in_.failed() && in_.remaining() == 0; }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      get(number);
      value = static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = in_.varint() != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(in_.real());
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) take(in_.signed_varint(), value);
      else take(in_.varint(), value);
    } else {
      describe(*this, value);
    }
  }
  template <class Wide, class T>
  void take(Wide wide, T& value) {
    value = static_cast<T>(wide);
    if (Wide{value} != wide) in_.fail();
  }
  void get(std::string& text) { text = clean_text(in_.text()); }
  template <class T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    value.reset();
    if (has_value) get(value.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.clear();
    for (std::size_t left = in_.count(1); left > 0 && !in_.failed(); --left) get(values.emplace_back());
  }
  template <class T, std::size_t N>
  void get(std::array<T, N>& values) {
    for (T& value : values) get(value);
  }
  template <class Key, class T>
  void get(std::map<Key, T>& values) {
    values.clear();
    for (std::size_t left = in_.count(2); left > 0 && !in_.failed(); --left) {
      std::pair<Key, T> value{};
      get(value);
      values.insert(std::move(value));
    }
  }

  format::ByteCursor in_;
};

}  // namespace refrain::experiment

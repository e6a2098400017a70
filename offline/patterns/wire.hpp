#pragma once
/// The bytes that the processes of a distributed search send each other.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "offline/patterns/search_processes.hpp"

namespace refrain::patterns {

/// Writes values one after the other. All processes run the same program, on machines of one kind.
class WireWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(std::uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void put(const std::string& text) {
    put(std::uint64_t{text.size()});
    bytes_ += text;
  }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

/// Throws ProcessError if fewer bytes are left.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, some(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) fail();
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), some(count * sizeof(T)).data(), count * sizeof(T));
    return values;
  }
  std::string get_text() {
    const auto size = get<std::uint64_t>();
    return std::string(some(size));
  }

 private:
  [[noreturn]] static void fail() { throw ProcessError("processes of different versions of Refrain"); }
  std::string_view some(std::size_t size) {
    if (size > rest_.size()) fail();
    const std::string_view of = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return of;
  }
  std::string_view rest_;
};

}  // namespace refrain::patterns

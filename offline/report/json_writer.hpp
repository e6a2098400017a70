#pragma once
/// Writes JSON as its values come. Names and arguments of programs may hold any bytes, but JSON may not: bytes that are
/// not UTF-8 become U+FFFD. Numbers that are not finite become null.

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace refrain::report {

class JsonWriter {
 public:
  /// Appends to `out`, which must outlive the writer.
  explicit JsonWriter(std::string& out, int line_depth = 0);
  /// Hands over pieces of the text as it grows, and the rest at the end.
  explicit JsonWriter(std::function<void(std::string_view)> out, int line_depth = 0);
  ~JsonWriter();
  /// Each element and member down to this depth gets a line of its own. Returns the previous depth.
  int set_line_depth(int depth);
  /// Ends the text with a newline and hands over the rest of it.
  void end_document();
  /// Buffers for a caller that writes many long arrays one after the other.
  std::vector<std::vector<char>>& buffers() { return buffers_; }

  void value(bool value);
  void value(double value);
  void value(std::nullptr_t);
  void value(std::string_view value);
  void value(const char* value) { this->value(std::string_view(value)); }
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) void value(Integer value) {
    if constexpr (std::is_signed_v<Integer>) integer(std::int64_t{value});
    else natural(std::uint64_t{value});
  }
  /// An array.
  template <class Range>
  requires requires(const Range& range) {
    range.begin() != range.end();
  } &&(!std::convertible_to<const Range&, std::string_view>)void value(const Range& elements) {
    array([&] {
      for (const auto& element : elements) value(element);
    });
  }

  /// `members` and `elements` are called to write the contents.
  template <class Members>
  void object(Members&& members) {
    begin('{');
    members();
    end('}');
  }
  template <class Elements>
  void array(Elements&& elements) {
    begin('[');
    elements();
    end(']');
  }

  /// A member of an object. `what` is its value, or is called to write it.
  template <class What>
  void member(std::string_view name, What&& what) {
    key(name);
    if constexpr (std::invocable<What>) std::forward<What>(what)();
    else value(what);
  }
  template <class Members>
  void member_object(std::string_view name, Members&& members) {
    key(name);
    object(std::forward<Members>(members));
  }
  template <class Elements>
  void member_array(std::string_view name, Elements&& elements) {
    key(name);
    array(std::forward<Elements>(elements));
  }
  /// `give(take)` calls take(text) with the elements as JSON, commas between them, in pieces of any size.
  template <class Give>
  void member_raw_array(std::string_view name, Give&& give) {
    key(name);
    begin('[');
    give([this](std::string_view text) { raw(text); });
    end(']');
  }

 private:
  void key(std::string_view name);
  void integer(std::int64_t value);
  void natural(std::uint64_t value);
  void raw(std::string_view text);
  void begin(char bracket);
  void end(char bracket);

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<std::vector<char>> buffers_;
};

}  // namespace refrain::report

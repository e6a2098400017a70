#pragma once
/// The nearest names to one that does not exist. No allocation.

#include <cstddef>
#include <cstring>
#include <string_view>

#include "config/edit_distance.hpp"

namespace refrain::config {

/// Keeps the few nearest names, nearest first, among those that are near enough to have been meant. Case does not
/// count. Of equally near names the first is kept. A name is kept once; the wanted name itself is never kept, since it
/// does not help.
class NearNames {
 public:
  static constexpr std::size_t most = 3;
  static constexpr std::size_t longest = 127;

  /// `wanted` must outlive this object.
  explicit NearNames(std::string_view wanted) : as_asked_(wanted), wanted_(lower(wanted, wanted_text_)) {}

  void consider(std::string_view name) {
    if (name.empty() || name.size() > longest || wanted_.size() == 0) return;
    if (name == as_asked_) {
      is_known_ = true;
      return;
    }
    for (std::size_t i = 0; i < count_; ++i)
      if (this->name(i) == name) return;
    char text[longest];
    std::size_t row[longest + 1];
    const std::size_t edits = edit_distance(wanted_, lower(name, text), row);
    if (edits > wanted_.size() / 3 + 1) return;
    std::size_t at = count_;
    while (at > 0 && edits < near_[at - 1].edits) --at;
    if (at == most) return;
    if (count_ < most) ++count_;
    for (std::size_t i = count_ - 1; i > at; --i) near_[i] = near_[i - 1];
    near_[at].edits = edits;
    near_[at].size = name.size();
    std::memcpy(near_[at].text, name.data(), name.size());
  }

  std::size_t count() const { return count_; }
  /// Whether the wanted name itself was among those that were considered.
  bool is_known() const { return is_known_; }
  std::string_view name(std::size_t i) const { return {near_[i].text, near_[i].size}; }

 private:
  struct Near {
    std::size_t edits, size;
    char text[longest];
  };

  /// The beginning of `name`, in lower case.
  static std::string_view lower(std::string_view name, char (&text)[longest]) {
    const std::size_t size = name.size() < longest ? name.size() : longest;
    for (std::size_t i = 0; i < size; ++i) {
      const char c = name[i];
      text[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return {text, size};
  }

  char wanted_text_[longest];
  std::string_view as_asked_, wanted_;
  bool is_known_ = false;
  Near near_[most];
  std::size_t count_ = 0;
};

}  // namespace refrain::config

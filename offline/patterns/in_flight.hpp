#pragma once
/// Values that are added in order, with ascending numbers, and taken out in any order.
///
/// Memory: at most twice the values that were not taken out, and a little.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace refrain::patterns {

template <class T>
class InFlight {
 public:
  struct Entry {
    std::uint64_t number;
    T value;
    bool is_gone;  ///< it was taken out
  };

  /// Returns its number: 0, 1, ...
  std::uint64_t add(T value) {
    entries_.push_back({next_, std::move(value), false});
    ++open_;
    return next_++;
  }
  /// nullopt: the value was taken out before, or never added.
  std::optional<T> take(std::uint64_t number) {
    if (entries_.empty() || number < entries_.front().number) return std::nullopt;
    // If no entry in between was erased, the number gives the index.
    const std::uint64_t place = std::min<std::uint64_t>(number - entries_.front().number, entries_.size() - 1);
    auto at = entries_.begin() + static_cast<std::ptrdiff_t>(place);
    if (at->number != number) at = std::ranges::lower_bound(entries_, number, {}, &Entry::number);
    if (at == entries_.end() || at->number != number || at->is_gone) return std::nullopt;
    at->is_gone = true;
    --open_;
    std::optional<T> value(at->value);
    while (!entries_.empty() && entries_.front().is_gone) entries_.pop_front();
    constexpr std::size_t few = 256;
    if (entries_.size() > 2 * open_ + few) std::erase_if(entries_, [](const Entry& of) { return of.is_gone; });
    return value;
  }
  /// In the order of their numbers; some may be gone.
  const std::deque<Entry>& entries() const { return entries_; }

 private:
  std::deque<Entry> entries_;
  std::uint64_t next_ = 0;
  std::size_t open_ = 0;
};

}  // namespace refrain::patterns

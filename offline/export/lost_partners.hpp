#pragma once
/// What an archive must not have when events are missing: sends, receives and parts of collective operations whose
/// other sides are missing. OTF2 has no numbers of messages: its readers pair them by their order, and one that has no
/// partner would give wrong ones to all behind it.
///
/// Memory: what is in flight, and a number for each communication that is left out. Belongs to one thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "offline/trace/trace.hpp"

namespace refrain::exports {

class LostPartners {
 public:
  LostPartners() = default;  ///< nothing is left out
  /// Reads the whole trace when events may be missing in it.
  explicit LostPartners(const trace::Trace& trace);

  /// Whether a location's communication must be left out. `number`: how many Communication events it has before.
  bool has(std::uint32_t location, std::uint64_t number) const;

  /// All of it in one line, for other processes.
  std::string text() const;
  static LostPartners from(const std::string& text);

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  ///< numbers from the first to before the second
  /// Ascending.
  void add(std::uint32_t location, std::uint64_t number);

  std::vector<std::vector<Range>> of_location_;
};

}  // namespace refrain::exports

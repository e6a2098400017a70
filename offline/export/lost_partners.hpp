#pragma once
/// Finds what an archive must leave out when events are missing: sends, receives and parts of collective operations
/// whose other sides are missing. OTF2 has no sequence numbers of messages: its readers match messages by their order,
/// so one without a partner would mismatch all later ones.
///
/// Memory: the communications in flight, and an entry for each one left out. Built by one thread; several may call
/// has().

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

  /// Whether a communication of a location must be left out. `number`: how many Communication events precede it there.
  bool has(std::uint32_t location, std::uint64_t number) const;

  /// The contents in one line, for other processes.
  std::string text() const;
  static LostPartners from(const std::string& text);

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  ///< numbers from `first` to before `second`
  /// Called in ascending order.
  void add(std::uint32_t location, std::uint64_t number);

  std::vector<std::vector<Range>> of_location_;
};

}  // namespace refrain::exports

#pragma once
/// The names in a profile file, which the program, its user or its machine has chosen, and where readers have found
/// them. All other texts are words of the format.

#include <cstddef>
#include <cstdint>
#include <map>

namespace refrain::experiment {

enum class NameKind : std::uint8_t {
  Region,   ///< an MPI function, or what the program marks
  Module,   ///< path of a file
  BuildId,  ///< bytes
  Host,
  Thread,
  Communicator,
  Window,
  Metric  ///< one that was requested (REFRAIN_METRICS); for iterations also one of the format
};

class NamePlaces {
 public:
  /// Place in the contents of a section: from the text's length field to the end of the text.
  struct Place {
    std::size_t end;
    NameKind kind;
  };
  using OfSection = std::map<std::size_t, Place>;  ///< by begin

  /// `section`: offset in the file of the section as stored.
  void add(std::uint64_t section, std::size_t begin, const Place& place) { places_[section][begin] = place; }
  /// The places in a section; null: there are none.
  const OfSection* of(std::uint64_t section) const {
    const auto at = places_.find(section);
    return at == places_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::uint64_t, OfSection> places_;
};

}  // namespace refrain::experiment

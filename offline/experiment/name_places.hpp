#pragma once
/// The texts of a profile file that a program, its user or its machine has chosen, and where its readers have met them.
/// All other texts are words of the format.

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
  Metric  ///< that was asked for (REFRAIN_METRICS); of an iteration also one of the format
};

class NamePlaces {
 public:
  /// In the contents of a section: from the text's length to behind the text.
  struct Place {
    std::size_t end;
    NameKind kind;
  };
  using OfSection = std::map<std::size_t, Place>;  ///< by begin

  /// `section`: where in the file what is stored of the section begins.
  void add(std::uint64_t section, std::size_t begin, const Place& place) { places_[section][begin] = place; }
  /// Null: there are none.
  const OfSection* of(std::uint64_t section) const {
    const auto at = places_.find(section);
    return at == places_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::uint64_t, OfSection> places_;
};

}  // namespace refrain::experiment

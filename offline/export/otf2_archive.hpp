#pragma once
/// libotf2 behind objects that close what they have opened, and throw what it says.

#include <filesystem>
#include <functional>
#include <otf2/otf2.h>

#include "offline/export/otf2.hpp"

namespace refrain::exports {

/// Throws ExportError unless it is success.
void check(OTF2_ErrorCode code, const char* what);

class Otf2Archive {
 public:
  explicit Otf2Archive(const std::filesystem::path& directory);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  /// Events of one location after the other. Returns what `write` does.
  std::uint64_t write_location(OTF2_LocationRef location, const std::function<void(OTF2_EvtWriter*)>& write);
  /// After the events. `locations`: of which each gets a file of definitions, which readers expect.
  void write_definitions(std::uint64_t locations, const std::function<void(OTF2_GlobalDefWriter*)>& write);
  void close();

 private:
  OTF2_Archive* archive_ = nullptr;
};

}  // namespace refrain::exports

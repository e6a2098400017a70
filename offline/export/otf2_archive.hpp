#pragma once
/// libotf2 behind objects that close what they have opened, and throw what it says.

#include <filesystem>
#include <functional>
#include <otf2/otf2.h>
#include <vector>

#include "offline/export/otf2.hpp"

namespace refrain::exports {

/// Throws ExportError unless it is success.
void check(OTF2_ErrorCode code, const char* what);

/// With several processes each has one, of the same directory: the first one makes it, and writes what stands for all.
class Otf2Archive {
 public:
  /// `processes`: null for this one alone; outlives the archive.
  Otf2Archive(const std::filesystem::path& directory, ProcessGroup* processes);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  /// Returns how many records `write` has written. Several threads may write, each a location of its own.
  std::uint64_t write_location(OTF2_LocationRef location, const std::function<void(OTF2_EvtWriter*)>& write);
  /// After the events. `locations`: those that this process has written, of which each gets a file of definitions,
  /// which readers expect.
  void end_events(const std::vector<OTF2_LocationRef>& locations);
  /// Of the first process.
  void write_definitions(const std::function<void(OTF2_GlobalDefWriter*)>& write);
  void close();

 private:
  OTF2_Archive* archive_ = nullptr;
};

}  // namespace refrain::exports

#pragma once
/// A wrapper of libotf2 that closes what it has opened, and throws libotf2's errors.

#include <filesystem>
#include <functional>
#include <otf2/otf2.h>
#include <vector>

#include "offline/export/otf2.hpp"

namespace refrain::exports {

/// Throws ExportError unless `code` is OTF2_SUCCESS.
void check(OTF2_ErrorCode code, const char* what);

/// With several processes, each has an object for the same directory; the first process creates the directory, and
/// writes what all share.
class Otf2Archive {
 public:
  /// `processes`: null when this process writes alone; must outlive the archive.
  Otf2Archive(const std::filesystem::path& directory, ProcessGroup* processes);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  /// Returns the number of records that `write` has written. Several threads may write, each a different location.
  std::uint64_t write_location(OTF2_LocationRef location, const std::function<void(OTF2_EvtWriter*)>& write);
  /// Called after the events. `locations`: those that this process has written; each gets a file of definitions, which
  /// readers expect.
  void end_events(const std::vector<OTF2_LocationRef>& locations);
  /// Called by the first process only.
  void write_definitions(const std::function<void(OTF2_GlobalDefWriter*)>& write);
  void close();

 private:
  OTF2_Archive* archive_ = nullptr;
};

}  // namespace refrain::exports

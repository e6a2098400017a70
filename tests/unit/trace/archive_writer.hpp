#pragma once
/// OTF2 archives as tests need them, written by libotf2.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <otf2/otf2.h>
#include <string>
#include <vector>

namespace refrain::trace {

/// Locations of an archive and what is in them. References are whatever the test says.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(const std::filesystem::path& directory, std::uint64_t chunk = 1024 * 1024);
  ~ArchiveWriter();
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  void events(OTF2_LocationRef location, const std::function<void(OTF2_EvtWriter*)>& write);
  void own_definitions(OTF2_LocationRef location, const std::function<void(OTF2_DefWriter*)>& write);
  /// At last. One process on a node for each location, unless `write` says otherwise; regions, communicators are its.
  void close(const std::function<void(OTF2_GlobalDefWriter*)>& write, bool with_locations = true);

  void creator(const char* name);

  std::filesystem::path anchor() const { return directory_ / "traces.otf2"; }
  /// A number for the text.
  OTF2_StringRef text(OTF2_GlobalDefWriter* writer, const std::string& value);
  /// One in line 17 of a.c.
  void region(OTF2_GlobalDefWriter* writer, OTF2_RegionRef self, const std::string& name,
              OTF2_Paradigm paradigm = OTF2_PARADIGM_USER, OTF2_RegionRole role = OTF2_REGION_ROLE_FUNCTION);

 private:
  std::filesystem::path directory_;
  OTF2_Archive* archive_;
  std::map<OTF2_LocationRef, std::uint64_t> events_;
  std::map<OTF2_LocationRef, std::function<void(OTF2_DefWriter*)>> own_;
  std::map<std::string, OTF2_StringRef> texts_;
};

/// Each kind of event once or twice, at location 0, and what it refers to; closes it.
void write_all_kinds(ArchiveWriter& archive);

}  // namespace refrain::trace

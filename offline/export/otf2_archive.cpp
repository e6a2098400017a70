#include "offline/export/otf2_archive.hpp"

#include <string>
#include <utility>

namespace refrain::exports {
namespace {

constexpr std::uint64_t event_chunk = std::uint64_t{1} << 20, definition_chunk = std::uint64_t{4} << 20;

/// What libotf2 has said last: its functions return a code alone, or nothing.
thread_local std::string last_error;

OTF2_ErrorCode remember_error(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                              va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  last_error = std::string(OTF2_Error_GetDescription(code)) + ": " + text;
  return code;
}

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

}  // namespace

void check(OTF2_ErrorCode code, const char* what) {
  if (code == OTF2_SUCCESS) return;
  const std::string why = last_error.empty() ? OTF2_Error_GetDescription(code) : std::exchange(last_error, {});
  throw ExportError(std::string(what) + ": " + why);
}

Otf2Archive::Otf2Archive(const std::filesystem::path& directory) {
  static const OTF2_FlushCallbacks flush{flush_always, nullptr};
  OTF2_Error_RegisterCallback(remember_error, nullptr);
  last_error.clear();
  archive_ = OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, event_chunk, definition_chunk,
                               OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (!archive_) throw ExportError(directory.string() + ": " + last_error);
  check(OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr), "the archive");
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_), "the archive");
  check(OTF2_Archive_SetCreator(archive_, "Refrain"), "the archive");
  check(OTF2_Archive_OpenEvtFiles(archive_), "the files of events");
}

Otf2Archive::~Otf2Archive() {
  if (archive_) OTF2_Archive_Close(archive_);
}

std::uint64_t Otf2Archive::write_location(OTF2_LocationRef location,
                                          const std::function<void(OTF2_EvtWriter*)>& write) {
  OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive_, location);
  if (!writer) throw ExportError("a file of events: " + last_error);
  write(writer);
  std::uint64_t events = 0;
  check(OTF2_EvtWriter_GetNumberOfEvents(writer, &events), "a file of events");
  check(OTF2_Archive_CloseEvtWriter(archive_, writer), "a file of events");
  return events;
}

void Otf2Archive::write_definitions(std::uint64_t locations, const std::function<void(OTF2_GlobalDefWriter*)>& write) {
  check(OTF2_Archive_CloseEvtFiles(archive_), "the files of events");
  check(OTF2_Archive_OpenDefFiles(archive_), "the files of definitions");
  for (OTF2_LocationRef location = 0; location < locations; ++location) {
    OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive_, location);
    if (!writer) throw ExportError("a file of definitions: " + last_error);
    check(OTF2_Archive_CloseDefWriter(archive_, writer), "a file of definitions");
  }
  check(OTF2_Archive_CloseDefFiles(archive_), "the files of definitions");
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (!writer) throw ExportError("the definitions: " + last_error);
  write(writer);
  check(OTF2_Archive_CloseGlobalDefWriter(archive_, writer), "the definitions");
}

void Otf2Archive::close() { check(OTF2_Archive_Close(std::exchange(archive_, nullptr)), "the archive"); }

}  // namespace refrain::exports

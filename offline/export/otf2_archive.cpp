#include "offline/export/otf2_archive.hpp"

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <otf2/OTF2_Pthread_Locks.h>
#include <string>
#include <utility>
#include <vector>

#include "offline/export/process_group.hpp"

/// libotf2 lets its user define this type. It is empty: the callbacks use their other argument.
struct OTF2_CollectiveContext {};

namespace refrain::exports {
namespace {

constexpr std::uint64_t event_chunk = std::uint64_t{1} << 20, definition_chunk = std::uint64_t{4} << 20;

/// The last error message of libotf2, whose functions return only a code, or nothing.
thread_local std::string last_error;

OTF2_ErrorCode remember_error(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                              va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  last_error = std::string(OTF2_Error_GetDescription(code)) + ": " + text;
  return code;
}

// Collective callbacks of an archive that several processes write. Where each location has files of its own, libotf2
// (3.0.2) asks for the rank of the process, and broadcasts whether the first process could create the directory.
// Callbacks that are not used fail.

/// An exception in a callback is stored here and rethrown after libotf2's C code has returned.
thread_local std::exception_ptr thrown;

ProcessGroup& group_of(void* user_data) { return *static_cast<ProcessGroup*>(user_data); }

OTF2_CallbackCode size_of_group(void* user_data, OTF2_CollectiveContext*, std::uint32_t* size) {
  *size = static_cast<std::uint32_t>(group_of(user_data).size());
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode rank_in_group(void* user_data, OTF2_CollectiveContext*, std::uint32_t* rank) {
  *rank = static_cast<std::uint32_t>(group_of(user_data).rank());
  return OTF2_CALLBACK_SUCCESS;
}

std::size_t bytes_of(OTF2_Type type) {
  switch (type) {
    case OTF2_TYPE_UINT8:
    case OTF2_TYPE_INT8: return 1;
    case OTF2_TYPE_UINT16:
    case OTF2_TYPE_INT16: return 2;
    case OTF2_TYPE_UINT32:
    case OTF2_TYPE_INT32:
    case OTF2_TYPE_FLOAT: return 4;
    default: return 8;
  }
}

OTF2_CallbackCode broadcast(void* user_data, OTF2_CollectiveContext*, void* data, std::uint32_t count, OTF2_Type type,
                            std::uint32_t root) {
  const std::size_t bytes = count * bytes_of(type);
  try {
    if (root != 0) return OTF2_CALLBACK_ERROR;
    const std::string got = group_of(user_data).broadcast(std::string(static_cast<const char*>(data), bytes));
    if (got.size() != bytes) return OTF2_CALLBACK_ERROR;
    std::memcpy(data, got.data(), bytes);
    return OTF2_CALLBACK_SUCCESS;
  } catch (...) {
    thrown = std::current_exception();
    return OTF2_CALLBACK_ERROR;
  }
}

OTF2_CallbackCode no_barrier(void*, OTF2_CollectiveContext*) { return OTF2_CALLBACK_ERROR; }
OTF2_CallbackCode no_gather(void*, OTF2_CollectiveContext*, const void*, void*, std::uint32_t, OTF2_Type,
                            std::uint32_t) {
  return OTF2_CALLBACK_ERROR;
}
OTF2_CallbackCode no_gatherv(void*, OTF2_CollectiveContext*, const void*, std::uint32_t, void*, const std::uint32_t*,
                             OTF2_Type, std::uint32_t) {
  return OTF2_CALLBACK_ERROR;
}
OTF2_CallbackCode no_scatterv(void*, OTF2_CollectiveContext*, const void*, const std::uint32_t*, void*, std::uint32_t,
                              OTF2_Type, std::uint32_t) {
  return OTF2_CALLBACK_ERROR;
}

OTF2_ErrorCode set_callbacks(OTF2_Archive* archive, ProcessGroup* processes) {
  static const OTF2_CollectiveCallbacks callbacks{nullptr,    size_of_group, rank_in_group, nullptr,
                                                  nullptr,    no_barrier,    broadcast,     no_gather,
                                                  no_gatherv, no_gather,     no_scatterv};
  static OTF2_CollectiveContext context;
  if (!processes) return OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  const OTF2_ErrorCode code = OTF2_Archive_SetCollectiveCallbacks(archive, &callbacks, processes, &context, nullptr);
  if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  return code;
}

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

/// The memory of one open file. By default libotf2 buffers up to 128 MiB before it writes; a few chunks are as fast,
/// since they stay in the caches and are reused after each write.
class Chunks {
 public:
  /// Null when the chunks are full and must be written first.
  void* next(std::uint64_t size) {
    if (used_ == most) return nullptr;
    if (used_ == chunks_.size()) chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    return chunks_[used_++].get();
  }
  void clear() { used_ = 0; }

 private:
  static constexpr std::size_t most = 2;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t used_ = 0;
};

void* next_chunk(void*, OTF2_FileType, OTF2_LocationRef, void** of_buffer, std::uint64_t size) {
  try {
    if (!*of_buffer) *of_buffer = new Chunks;
    return static_cast<Chunks*>(*of_buffer)->next(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void free_chunks(void*, OTF2_FileType, OTF2_LocationRef, void** of_buffer, bool is_last) {
  auto* chunks = static_cast<Chunks*>(*of_buffer);
  if (!chunks) return;
  if (!is_last) return chunks->clear();
  delete chunks;
  *of_buffer = nullptr;
}

}  // namespace

void check(OTF2_ErrorCode code, const char* what) {
  if (code == OTF2_SUCCESS) return;
  const std::string why = last_error.empty() ? OTF2_Error_GetDescription(code) : std::exchange(last_error, {});
  throw ExportError(std::string(what) + ": " + why);
}

Otf2Archive::Otf2Archive(const std::filesystem::path& directory, ProcessGroup* processes) {
  static const OTF2_FlushCallbacks flush{flush_always, nullptr};
  static const OTF2_MemoryCallbacks memory{next_chunk, free_chunks};
  OTF2_Error_RegisterCallback(remember_error, nullptr);
  last_error.clear();
  archive_ = OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, event_chunk, definition_chunk,
                               OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (!archive_) throw ExportError(directory.string() + ": " + last_error);
  check(OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr), "the archive");
  check(OTF2_Archive_SetMemoryCallbacks(archive_, &memory, nullptr), "the archive");
  check(set_callbacks(archive_, processes), "the archive");
  check(OTF2_Pthread_Archive_SetLockingCallbacks(archive_, nullptr), "the archive");
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

void Otf2Archive::end_events(const std::vector<OTF2_LocationRef>& locations) {
  check(OTF2_Archive_CloseEvtFiles(archive_), "the files of events");
  check(OTF2_Archive_OpenDefFiles(archive_), "the files of definitions");
  for (const OTF2_LocationRef location : locations) {
    OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive_, location);
    if (!writer) throw ExportError("a file of definitions: " + last_error);
    check(OTF2_Archive_CloseDefWriter(archive_, writer), "a file of definitions");
  }
  check(OTF2_Archive_CloseDefFiles(archive_), "the files of definitions");
}

void Otf2Archive::write_definitions(const std::function<void(OTF2_GlobalDefWriter*)>& write) {
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (!writer) throw ExportError("the definitions: " + last_error);
  write(writer);
  check(OTF2_Archive_CloseGlobalDefWriter(archive_, writer), "the definitions");
}

void Otf2Archive::close() { check(OTF2_Archive_Close(std::exchange(archive_, nullptr)), "the archive"); }

}  // namespace refrain::exports

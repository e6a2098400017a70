#include "unit/trace/archive_writer.hpp"

#include <stdexcept>
#include <utility>

namespace refrain::trace {
namespace {

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

void require(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) throw std::runtime_error(OTF2_Error_GetDescription(code));
}

}  // namespace

ArchiveWriter::ArchiveWriter(const std::filesystem::path& directory, std::uint64_t chunk) : directory_(directory) {
  static const OTF2_FlushCallbacks flush{flush_always, nullptr};
  std::filesystem::remove_all(directory);
  archive_ = OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, chunk, chunk, OTF2_SUBSTRATE_POSIX,
                               OTF2_COMPRESSION_NONE);
  if (!archive_) throw std::runtime_error("no archive");
  require(OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr));
  require(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
  require(OTF2_Archive_OpenEvtFiles(archive_));
}

ArchiveWriter::~ArchiveWriter() {
  if (archive_) OTF2_Archive_Close(archive_);
}

void ArchiveWriter::events(OTF2_LocationRef location, const std::function<void(OTF2_EvtWriter*)>& write) {
  OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive_, location);
  write(writer);
  require(OTF2_EvtWriter_GetNumberOfEvents(writer, &events_[location]));
  require(OTF2_Archive_CloseEvtWriter(archive_, writer));
}

void ArchiveWriter::own_definitions(OTF2_LocationRef location, const std::function<void(OTF2_DefWriter*)>& write) {
  own_[location] = write;
}

void ArchiveWriter::creator(const char* name) { require(OTF2_Archive_SetCreator(archive_, name)); }

OTF2_StringRef ArchiveWriter::text(OTF2_GlobalDefWriter* writer, const std::string& value) {
  const auto [at, is_new] = texts_.try_emplace(value, static_cast<OTF2_StringRef>(1000 + texts_.size()));
  if (is_new) require(OTF2_GlobalDefWriter_WriteString(writer, at->second, value.c_str()));
  return at->second;
}

void ArchiveWriter::region(OTF2_GlobalDefWriter* writer, OTF2_RegionRef self, const std::string& name,
                           OTF2_Paradigm paradigm, OTF2_RegionRole role) {
  const OTF2_StringRef of_name = text(writer, name), file = text(writer, "a.c");
  require(OTF2_GlobalDefWriter_WriteRegion(writer, self, of_name, of_name, of_name, role, paradigm,
                                           OTF2_REGION_FLAG_NONE, file, 17, 20));
}

void ArchiveWriter::close(const std::function<void(OTF2_GlobalDefWriter*)>& write, bool with_locations) {
  require(OTF2_Archive_CloseEvtFiles(archive_));
  require(OTF2_Archive_OpenDefFiles(archive_));
  for (const auto& [location, events] : events_) {
    OTF2_DefWriter* own = OTF2_Archive_GetDefWriter(archive_, location);
    if (own_.contains(location)) own_[location](own);
    require(OTF2_Archive_CloseDefWriter(archive_, own));
  }
  require(OTF2_Archive_CloseDefFiles(archive_));
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (with_locations) {
    require(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 3, text(writer, "n1"), text(writer, "node"),
                                                     OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    OTF2_LocationGroupRef group = 100;
    for (const auto& [location, events] : events_) {
      const std::string name = "process " + std::to_string(group - 100);
      require(OTF2_GlobalDefWriter_WriteLocationGroup(
          writer, group, text(writer, name), OTF2_LOCATION_GROUP_TYPE_PROCESS, 3, OTF2_UNDEFINED_LOCATION_GROUP));
      require(OTF2_GlobalDefWriter_WriteLocation(writer, location, text(writer, "thread"),
                                                 OTF2_LOCATION_TYPE_CPU_THREAD, events, group++));
    }
  }
  write(writer);
  require(OTF2_Archive_CloseGlobalDefWriter(archive_, writer));
  require(OTF2_Archive_Close(std::exchange(archive_, nullptr)));
}

// Old tools have written what is deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

void write_all_kinds(ArchiveWriter& archive) {
  const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE};
  OTF2_MetricValue values[2];
  values[0].unsigned_int = 7;
  values[1].floating_point = 2.5;
  archive.events(0, [&](OTF2_EvtWriter* w) {
    std::uint64_t t = 0;
    OTF2_AttributeList* attributes = OTF2_AttributeList_New();
    OTF2_AttributeList_AddUint64(attributes, 3, 12345);
    OTF2_EvtWriter_ProgramBegin(w, attributes, ++t, 0, 0, nullptr);
    OTF2_AttributeList_Delete(attributes);
    OTF2_EvtWriter_BufferFlush(w, nullptr, 2, 4);
    t = 4;
    OTF2_EvtWriter_MeasurementOnOff(w, nullptr, ++t, OTF2_MEASUREMENT_OFF);
    OTF2_EvtWriter_MeasurementOnOff(w, nullptr, ++t, OTF2_MEASUREMENT_ON);
    OTF2_EvtWriter_MpiIsend(w, nullptr, ++t, 0, 0, 1, 2, 11);
    OTF2_EvtWriter_MpiIrecvRequest(w, nullptr, ++t, 12);
    OTF2_EvtWriter_MpiRequestTest(w, nullptr, ++t, 12);
    OTF2_EvtWriter_MpiIsendComplete(w, nullptr, ++t, 11);
    OTF2_EvtWriter_MpiIrecv(w, nullptr, ++t, 0, 0, 1, 2, 12);
    OTF2_EvtWriter_MpiIrecvRequest(w, nullptr, ++t, 13);
    OTF2_EvtWriter_MpiRequestCancelled(w, nullptr, ++t, 13);
    OTF2_EvtWriter_MpiCollectiveBegin(w, nullptr, ++t);
    OTF2_EvtWriter_MpiCollectiveEnd(w, nullptr, ++t, OTF2_COLLECTIVE_OP_BCAST, 0, 0, 5, 6);
    OTF2_EvtWriter_NonBlockingCollectiveRequest(w, nullptr, ++t, 14);
    OTF2_EvtWriter_NonBlockingCollectiveComplete(w, nullptr, ++t, OTF2_COLLECTIVE_OP_BARRIER, 0,
                                                 OTF2_COLLECTIVE_ROOT_NONE, 0, 0, 14);
    OTF2_EvtWriter_OmpFork(w, nullptr, ++t, 4);
    OTF2_EvtWriter_OmpJoin(w, nullptr, ++t);
    OTF2_EvtWriter_OmpAcquireLock(w, nullptr, ++t, 9, 1);
    OTF2_EvtWriter_OmpReleaseLock(w, nullptr, ++t, 9, 1);
    OTF2_EvtWriter_OmpTaskCreate(w, nullptr, ++t, 5);
    OTF2_EvtWriter_OmpTaskSwitch(w, nullptr, ++t, 5);
    OTF2_EvtWriter_OmpTaskComplete(w, nullptr, ++t, 5);
    OTF2_EvtWriter_Metric(w, nullptr, ++t, 0, 2, types, values);
    OTF2_EvtWriter_ParameterString(w, nullptr, ++t, 0, 0);
    OTF2_EvtWriter_ParameterInt(w, nullptr, ++t, 0, -3);
    OTF2_EvtWriter_ParameterUnsignedInt(w, nullptr, ++t, 0, 3);
    OTF2_EvtWriter_RmaWinCreate(w, nullptr, ++t, 0);
    OTF2_EvtWriter_RmaCollectiveBegin(w, nullptr, ++t);
    OTF2_EvtWriter_RmaCollectiveEnd(w, nullptr, ++t, OTF2_COLLECTIVE_OP_BARRIER, 0, 0, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    OTF2_EvtWriter_RmaGroupSync(w, nullptr, ++t, 0, 0, 0);
    OTF2_EvtWriter_RmaRequestLock(w, nullptr, ++t, 0, 0, 21, OTF2_LOCK_EXCLUSIVE);
    OTF2_EvtWriter_RmaAcquireLock(w, nullptr, ++t, 0, 0, 21, OTF2_LOCK_EXCLUSIVE);
    OTF2_EvtWriter_RmaTryLock(w, nullptr, ++t, 0, 0, 21, OTF2_LOCK_EXCLUSIVE);
    OTF2_EvtWriter_RmaReleaseLock(w, nullptr, ++t, 0, 0, 21);
    OTF2_EvtWriter_RmaSync(w, nullptr, ++t, 0, 0, OTF2_RMA_SYNC_TYPE_MEMORY);
    OTF2_EvtWriter_RmaWaitChange(w, nullptr, ++t, 0);
    OTF2_EvtWriter_RmaPut(w, nullptr, ++t, 0, 0, 8, 31);
    OTF2_EvtWriter_RmaOpTest(w, nullptr, ++t, 0, 31);
    OTF2_EvtWriter_RmaOpCompleteNonBlocking(w, nullptr, ++t, 0, 31);
    OTF2_EvtWriter_RmaOpCompleteRemote(w, nullptr, ++t, 0, 31);
    OTF2_EvtWriter_RmaAtomic(w, nullptr, ++t, 0, 0, OTF2_RMA_ATOMIC_TYPE_SWAP, 8, 9, 32);
    OTF2_EvtWriter_RmaGet(w, nullptr, ++t, 0, 0, 8, 33);
    OTF2_EvtWriter_RmaOpCompleteBlocking(w, nullptr, ++t, 0, 33);
    OTF2_EvtWriter_RmaWinDestroy(w, nullptr, ++t, 0);
    OTF2_EvtWriter_ThreadFork(w, nullptr, ++t, OTF2_PARADIGM_OPENMP, 4);
    OTF2_EvtWriter_ThreadJoin(w, nullptr, ++t, OTF2_PARADIGM_OPENMP);
    OTF2_EvtWriter_ThreadTeamBegin(w, nullptr, ++t, 0);
    OTF2_EvtWriter_ThreadTeamEnd(w, nullptr, ++t, 0);
    OTF2_EvtWriter_ThreadAcquireLock(w, nullptr, ++t, OTF2_PARADIGM_OPENMP, 1, 2);
    OTF2_EvtWriter_ThreadReleaseLock(w, nullptr, ++t, OTF2_PARADIGM_OPENMP, 1, 2);
    OTF2_EvtWriter_ThreadTaskCreate(w, nullptr, ++t, 0, 1, 2);
    OTF2_EvtWriter_ThreadTaskSwitch(w, nullptr, ++t, 0, 1, 2);
    OTF2_EvtWriter_ThreadTaskComplete(w, nullptr, ++t, 0, 1, 2);
    OTF2_EvtWriter_ThreadCreate(w, nullptr, ++t, 0, 1);
    OTF2_EvtWriter_ThreadBegin(w, nullptr, ++t, 0, 1);
    OTF2_EvtWriter_ThreadWait(w, nullptr, ++t, 0, 1);
    OTF2_EvtWriter_ThreadEnd(w, nullptr, ++t, 0, 1);
    OTF2_EvtWriter_CallingContextEnter(w, nullptr, ++t, 1, 2);
    OTF2_EvtWriter_CallingContextSample(w, nullptr, ++t, 0, 1, 0);
    OTF2_EvtWriter_CallingContextLeave(w, nullptr, ++t, 1);
    OTF2_EvtWriter_IoCreateHandle(w, nullptr, ++t, 0, OTF2_IO_ACCESS_MODE_READ_ONLY, 0, 0);
    OTF2_EvtWriter_IoOperationBegin(w, nullptr, ++t, 0, OTF2_IO_OPERATION_MODE_READ, 0, 100, 41);
    OTF2_EvtWriter_IoOperationIssued(w, nullptr, t, 0, 41);
    OTF2_EvtWriter_IoOperationComplete(w, nullptr, ++t, 0, 90, 41);
    OTF2_EvtWriter_IoOperationBegin(w, nullptr, ++t, 0, OTF2_IO_OPERATION_MODE_FLUSH, 0, 0, 42);
    OTF2_EvtWriter_IoOperationComplete(w, nullptr, ++t, 0, 0, 42);
    OTF2_EvtWriter_IoSeek(w, nullptr, ++t, 0, 1, OTF2_IO_SEEK_FROM_START, 1);
    OTF2_EvtWriter_IoDestroyHandle(w, nullptr, ++t, 0);
    OTF2_EvtWriter_CommCreate(w, nullptr, ++t, 0);
    OTF2_EvtWriter_CommDestroy(w, nullptr, ++t, 0);
    OTF2_EvtWriter_ProgramEnd(w, nullptr, ++t, 3);
  });
  archive.close([&](OTF2_GlobalDefWriter* w) {
    archive.region(w, 0, "outer");
    archive.region(w, 1, "inner");
    OTF2_GlobalDefWriter_WriteCallingContext(w, 0, 0, OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
                                             OTF2_UNDEFINED_CALLING_CONTEXT);
    OTF2_GlobalDefWriter_WriteCallingContext(w, 1, 1, OTF2_UNDEFINED_SOURCE_CODE_LOCATION, 0);
    const OTF2_MetricMemberRef members[] = {8, 9};
    for (const OTF2_MetricMemberRef member : members)
      OTF2_GlobalDefWriter_WriteMetricMember(
          w, member, archive.text(w, "m" + std::to_string(member)), 0, OTF2_METRIC_TYPE_PAPI,
          OTF2_METRIC_ABSOLUTE_POINT, member == 8 ? OTF2_TYPE_UINT64 : OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, 0);
    OTF2_GlobalDefWriter_WriteMetricClass(w, 0, 2, members, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
  });
}

#pragma GCC diagnostic pop

}  // namespace refrain::trace

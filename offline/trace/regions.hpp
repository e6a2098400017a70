#pragma once
/// What a region is: a function, a loop, a construct. The terms are those of OTF2.

#include <cstdint>
#include <string>

namespace refrain::trace {

/// The paradigm that a region belongs to; numbers as in OTF2_Paradigm.
enum class Paradigm : std::uint8_t {
  Unknown,
  User,
  Compiler,
  OpenMp,
  Mpi,
  Cuda,
  MeasurementSystem,
  Pthread,
  Hmpp,
  OmpSs,
  Hardware,
  Gaspi,
  Upc,
  Shmem,
  WinThread,
  QtThread,
  AceThread,
  TbbThread,
  OpenAcc,
  OpenCl,
  Mtapi,
  Sampling,
  None,
  Hip,
  Kokkos,
};
inline constexpr unsigned paradigms = 25;

/// The role of a region; numbers as in OTF2_RegionRole.
enum class Role : std::uint8_t {
  Unknown,
  Function,
  Wrapper,
  Loop,
  Code,
  Parallel,
  Sections,
  Section,
  Workshare,
  Single,
  SingleBlock,
  Master,
  Critical,
  CriticalBlock,
  Atomic,
  Barrier,
  ImplicitBarrier,
  Flush,
  Ordered,
  OrderedBlock,
  Task,
  TaskCreate,
  TaskWait,
  OneToAll,  ///< this and the next three are collective operations
  AllToOne,
  AllToAll,
  CollectiveOther,
  FileIo,
  PointToPoint,
  OneSided,
  DataTransfer,
  Artificial,
  ThreadCreate,
  ThreadWait,
  TaskUntied,
  Allocate,
  Deallocate,
  Reallocate,
  FileIoMetadata,
};
inline constexpr unsigned roles = 39;

struct RegionOfTrace {
  std::string name, file;  ///< file: empty when not known
  std::uint32_t line = 0;  ///< where it begins; 0: not known
  Paradigm paradigm = Paradigm::Unknown;
  Role role = Role::Unknown;

  bool is_mpi() const { return paradigm == Paradigm::Mpi; }
  /// Includes barriers.
  bool is_collective() const {
    return role == Role::Barrier || (role >= Role::OneToAll && role <= Role::CollectiveOther);
  }
};

}  // namespace refrain::trace

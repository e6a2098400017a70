#pragma once
/// Finds and decodes the frame description of an address in a module's .eh_frame (Linux Standard Base, "Exception
/// Frames"; DWARF 4, section 6.4.1).

#include <cstdint>

#include "unwind/tables.hpp"

namespace refrain::unwind {

/// A range of call-frame instructions.
struct Program {
  std::uintptr_t begin, end;
};

struct FrameEntry {
  std::uintptr_t begin, end;  ///< the function
  std::uint64_t code_alignment;
  std::int64_t data_alignment;
  std::uint64_t return_address_register;
  bool signal_frame;          ///< augmentation 'S': the next outer frame was interrupted and did not call
  Program initial, own;       ///< instructions of the CIE and of the FDE
  std::uintptr_t module_end;  ///< limit of the memory that the instructions may point to
};

/// False when `address` has no entry, or the tables are not understood. Async-signal-safe.
bool find_frame_entry(const Table& table, std::uintptr_t address, FrameEntry& entry);

}  // namespace refrain::unwind

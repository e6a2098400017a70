#pragma once
/// Captures of the differential test: every capture walks incrementally and fully and compares the two, compares the
/// tags of all frames with those of a map of paths, and compares a sample of the full walks with libunwind's.
/// Everything is per thread; a capture inside a capture is passed over.

#include <cstdint>

#include "mapped_walker.hpp"
#include "unwind/tables.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind::test {

struct Counts {
  std::uint64_t captures = 0;
  std::uint64_t reused_frames = 0, all_frames = 0;
  std::uint64_t mismatches = 0;  ///< incremental walk unlike the full one
  std::uint64_t wrong_tags = 0;
  std::uint64_t known = 0;      ///< calls whose whole path was known
  std::uint64_t truncated = 0;  ///< in places that have tables
  std::uint64_t asked_library = 0, unlike_library = 0;
  std::uint64_t wrong_tables = 0;  ///< of the asked: unlike libunwind's for a known reason

  Counts& operator+=(const Counts& o);
};

/// All captures of the calling thread between construction and destruction.
class Captures {
 public:
  /// Every `library_period`th full walk is compared with libunwind's.
  Captures(std::uint32_t max_depth, unsigned library_period);
  ~Captures();

  /// Steps the calling thread instruction by instruction, with a capture at each.
  void step_on();
  void step_off();
  bool stepping() const { return stepping_; }

  void take(const Start& start);
  const Counts& counts() const { return counts_; }

 private:
  std::uint32_t tag_of(std::uint32_t parent, const Frame& frame);
  bool tables_are_wrong(const Walk& walk) const;
  void report(const char* what, const Start& start, const Walk& one, const Walk& other);

  MappedWalker walker_, library_;
  unsigned library_period_, until_library_;
  bool stepping_ = false, inside_ = false;
  Counts counts_;
  struct Path {
    std::uintptr_t pc;
    std::uint32_t parent;
    std::uint32_t tag;  ///< 0: free
    bool exact;
  };
  std::uintptr_t switching_functions_[4];
  Table unwinder_;  ///< the module that throws
  static constexpr std::uint32_t path_limit = 1u << 22;
  Path* paths_;
  std::uint32_t path_count_ = 0;
};

extern thread_local Captures* captures_of_thread;

/// Capture at a call in progress, with the caller's registers.
void capture_call();
/// Handler of SIGTRAP and of timers.
void install_capture_handler(int signal);

}  // namespace refrain::unwind::test

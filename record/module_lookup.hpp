#pragma once
/// Finds the module that an address belonged to at a generation, in the module map of a process. Runtime half.

#include <cstdint>
#include <span>

#include "platform/modules.hpp"
#include "platform/pages.hpp"

namespace refrain::record {

class ModuleLookup {
 public:
  /// `modules` must outlive this. False: no memory.
  [[nodiscard]] bool create(std::span<const platform::Module> modules);

  /// Index of the module that covers `address` and was mapped at `generation`, or -1.
  int find(std::uint64_t address, std::uint32_t generation);

 private:
  bool covers(std::uint32_t module, std::uint64_t address, std::uint32_t generation) const {
    const platform::Module& m = modules_[module];
    return m.covers(address) && m.loaded <= generation && generation < m.unloaded;
  }

  std::span<const platform::Module> modules_;
  platform::GrowableArray<std::uint32_t> by_begin_;
  platform::GrowableArray<std::uint64_t> highest_end_;  ///< of by_begin_[0..i]; ends a backward search
  std::uint32_t last_ = 0;
};

}  // namespace refrain::record

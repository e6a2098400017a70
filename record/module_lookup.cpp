#include "record/module_lookup.hpp"

#include <algorithm>

namespace refrain::record {

bool ModuleLookup::create(std::span<const platform::Module> modules) {
  modules_ = modules;
  if (!by_begin_.resize(modules.size()) || !highest_end_.resize(modules.size())) return false;
  for (std::uint32_t i = 0; i < modules.size(); ++i) by_begin_[i] = i;
  std::sort(by_begin_.begin(), by_begin_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return modules[a].begin < modules[b].begin; });
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < modules.size(); ++i)
    highest_end_[i] = highest = std::max<std::uint64_t>(highest, modules[by_begin_[i]].end);
  return true;
}

int ModuleLookup::find(std::uint64_t address, std::uint32_t generation) {
  if (modules_.empty()) return -1;
  if (covers(last_, address, generation)) return static_cast<int>(last_);
  const auto beyond = std::upper_bound(by_begin_.begin(), by_begin_.end(), address,
                                       [&](std::uint64_t a, std::uint32_t m) { return a < modules_[m].begin; });
  for (std::size_t i = static_cast<std::size_t>(beyond - by_begin_.begin()); i-- > 0 && highest_end_[i] > address;)
    if (covers(by_begin_[i], address, generation)) return static_cast<int>(last_ = by_begin_[i]);
  return -1;
}

}  // namespace refrain::record

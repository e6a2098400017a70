#include "offline/experiment/damage.hpp"

#include <algorithm>

namespace refrain::experiment {

void DamageLog::add(const std::string& error, const std::string& cost) {
  if (strict_) throw ReadError(error);
  std::string line = cost.empty() ? error : error + "; " + cost;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(lines_, line) != lines_.end()) return;
  ++count_;
  if (lines_.size() < most) lines_.push_back(std::move(line));
}

std::vector<std::string> DamageLog::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::size_t DamageLog::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace refrain::experiment

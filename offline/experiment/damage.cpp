#include "offline/experiment/damage.hpp"

#include <utility>

namespace refrain::experiment {
namespace {

thread_local std::vector<DamageLog::Entry>* aside = nullptr;  // null: this thread adds directly to the logs

}  // namespace

std::vector<DamageLog::Entry> DamageLog::put_aside(const std::function<void()>& run) {
  struct Restore {
    std::vector<Entry>* before;
    ~Restore() { aside = before; }
  };
  std::vector<Entry> entries;
  {
    const Restore restore{std::exchange(aside, &entries)};
    run();
  }
  return entries;
}

void DamageLog::add(const std::vector<Entry>& entries) {
  for (const Entry& of : entries) of.log->add(of.error, of.cost, of.what);
}

void DamageLog::add(const std::string& error, const std::string& cost, DamageTo what) {
  if (strict_) throw ReadError(error);
  if (aside) return aside->push_back({this, error, cost, what});
  std::string line = cost.empty() ? error : error + "; " + cost;
  const std::lock_guard lock(mutex_);
  has_damaged_events_ |= what == DamageTo::Events;
  if (known_.insert(std::hash<std::string>()(line)).second && lines_.size() < most) lines_.push_back(std::move(line));
}

std::vector<std::string> DamageLog::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::size_t DamageLog::count() const {
  const std::lock_guard lock(mutex_);
  return known_.size();
}

bool DamageLog::has_damaged_events() const {
  const std::lock_guard lock(mutex_);
  return has_damaged_events_;
}

}  // namespace refrain::experiment

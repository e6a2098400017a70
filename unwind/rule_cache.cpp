#include "unwind/rule_cache.hpp"

#include "platform/hot.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {

REFRAIN_HOT_DATA std::atomic<std::uint64_t> forgotten_rules_count{
    1};  // never an epoch of 0: an empty slot must not fit a key

void forget_rules() { forgotten_rules_count.fetch_add(1, std::memory_order_acq_rel); }

bool fill_rule(std::uintptr_t pc, bool exact, std::uint64_t epoch, Rule& rule) {
  // The caller has read the epoch before the tables, so the rule of a module that is unloaded meanwhile is invalid when
  // it is written.
  if (!read_rule(pc, exact, rule)) return false;  // not cached: a module may be loaded there at any time
  const std::uint64_t hash = rule_hash::of_key(pc, exact);
  RuleSlot* set = rule_hash::set_of(hash);
  std::uint64_t words[2];
  __builtin_memcpy(words, &rule, sizeof words);
  // A slot does not show whether its rule is of this epoch. A slot that was never written is taken first; then the
  // number of fills chooses, so that hot keys of one set do not evict each other for ever.
  static std::atomic<unsigned> fills{0};
  unsigned way = 0;
  while (way < rule_ways && set[way].check.load(std::memory_order_relaxed) != 0) ++way;
  if (way == rule_ways) way = fills.fetch_add(1, std::memory_order_relaxed) % rule_ways;
  set[way].words[0].store(words[0], std::memory_order_relaxed);
  set[way].words[1].store(words[1], std::memory_order_relaxed);
  set[way].check.store(rule_hash::check_of(hash, epoch, words[0], words[1]), std::memory_order_relaxed);
  return true;
}

}  // namespace refrain::unwind

#pragma once
/// The process-wide cache of unwind rules by program counter: one mapped table with 4 ways per set, which all threads
/// and handlers read and write concurrently without locks. A slot has three words; the first is a hash of the key and
/// the other two, so a slot that two writers have mixed up, or that is older than the last `forget_rules`, matches no
/// key (as in lockless hash tables of chess programs: R. Hyatt, T. Mann, "A lockless transposition table", 2002).
/// Everything here is async-signal-safe.

#include <atomic>
#include <bit>
#include <cstdint>

#include "platform/hot.hpp"
#include "platform/modules.hpp"
#include "unwind/rule.hpp"

namespace refrain::unwind {

struct alignas(32) RuleSlot {
  std::atomic<std::uint64_t> check;
  std::atomic<std::uint64_t> words[2];
};

inline constexpr unsigned rule_ways = 4;
inline constexpr unsigned rule_set_bits = 12;  // 512 KiB, all of it resident from the start

REFRAIN_OF_THIS_LIBRARY inline RuleSlot* rule_slots = nullptr;  ///< null before `start_rule_cache`
REFRAIN_OF_THIS_LIBRARY extern std::atomic<std::uint64_t> forgotten_rules_count;

/// Changes with every unload and every `forget_rules`. Rules and walks of another epoch are invalid.
inline std::uint64_t rule_epoch() {
  return forgotten_rules_count.load(std::memory_order_acquire) << 32 | platform::module_generation();
}

/// Reads the rule from the tables and caches it. False when no module covers `pc`.
bool fill_rule(std::uintptr_t pc, bool exact, std::uint64_t epoch, Rule& rule);

namespace rule_hash {
inline constexpr std::uint64_t key_factor = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t exact_summand = 0xa24baed4963ee407;
inline constexpr std::uint64_t first_factor = 0xff51afd7ed558ccd;
inline constexpr std::uint64_t second_factor = 0xc4ceb9fe1a85ec53;

/// An address has different keys as a return address and as an interrupted instruction, because these are looked up at
/// different addresses.
inline std::uint64_t of_key(std::uintptr_t pc, bool exact) {
  return static_cast<std::uint64_t>(pc) * key_factor + exact * exact_summand;
}
inline std::uint64_t check_of(std::uint64_t hash, std::uint64_t epoch, std::uint64_t first, std::uint64_t second) {
  return (hash + epoch * 0xd6e8feb86659fd93) ^ first * first_factor ^ std::rotl(second * second_factor, 29);
}
inline RuleSlot* set_of(std::uint64_t hash) { return rule_slots + (hash >> (64 - rule_set_bits)) * rule_ways; }
}  // namespace rule_hash

/// The rule for `pc`. False when no module covers it.
inline bool find_rule(std::uintptr_t pc, bool exact, std::uint64_t epoch, Rule& rule) {
  const std::uint64_t hash = rule_hash::of_key(pc, exact);
  const RuleSlot* set = rule_hash::set_of(hash);
  for (unsigned way = 0; way < rule_ways; ++way) {
    const std::uint64_t words[2] = {set[way].words[0].load(std::memory_order_relaxed),
                                    set[way].words[1].load(std::memory_order_relaxed)};
    if (set[way].check.load(std::memory_order_relaxed) == rule_hash::check_of(hash, epoch, words[0], words[1])) {
      __builtin_memcpy(&rule, words, sizeof rule);
      return true;
    }
  }
  return fill_rule(pc, exact, epoch, rule);
}

}  // namespace refrain::unwind

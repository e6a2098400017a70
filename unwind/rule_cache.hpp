#pragma once
/// The process-wide cache of unwind rules by program counter: one mapped table, 4 ways to a set, read and written by
/// all threads and handlers at once without locks. A slot is three words; the first is a mix of the key and of the
/// other two, so that a slot in which two writers met, or from before the last `forget_rules`, fits no key (the idea is
/// that of lockless hash tables in chess programs: R. Hyatt, T. Mann, "A lockless transposition table", 2002).
/// Async-signal-safe, all of it.

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

/// Changes with every unload and every `forget_rules`: rules and walks of another epoch are void.
inline std::uint64_t rule_epoch() {
  return forgotten_rules_count.load(std::memory_order_acquire) << 32 | platform::module_generation();
}

/// Reads the tables and keeps the rule. False when no module covers `pc`.
bool fill_rule(std::uintptr_t pc, bool exact, std::uint64_t epoch, Rule& rule);

namespace rule_hash {
inline constexpr std::uint64_t key_factor = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t exact_summand = 0xa24baed4963ee407;
inline constexpr std::uint64_t first_factor = 0xff51afd7ed558ccd;
inline constexpr std::uint64_t second_factor = 0xc4ceb9fe1a85ec53;

/// The rule of an address as a return address differs from that as an interrupted instruction in where it is looked up.
inline std::uint64_t of_key(std::uintptr_t pc, bool exact) {
  return static_cast<std::uint64_t>(pc) * key_factor + exact * exact_summand;
}
inline std::uint64_t check_of(std::uint64_t hash, std::uint64_t epoch, std::uint64_t first, std::uint64_t second) {
  return (hash + epoch * 0xd6e8feb86659fd93) ^ first * first_factor ^ std::rotl(second * second_factor, 29);
}
inline RuleSlot* set_of(std::uint64_t hash) { return rule_slots + (hash >> (64 - rule_set_bits)) * rule_ways; }
}  // namespace rule_hash

/// False when no module covers `pc`.
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

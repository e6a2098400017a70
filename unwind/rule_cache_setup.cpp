#include <ucontext.h>

#include "platform/pages.hpp"
#include "unwind/rule_cache.hpp"
#include "unwind/tables.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {
namespace {

/// The return address at the outer end of a stack that makecontext has set up.
std::uintptr_t find_end_of_context() {
  ucontext_t context;
  if (getcontext(&context) != 0) return 0;
  alignas(16) std::uintptr_t stack[64] = {};
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  context.uc_link = nullptr;
  makecontext(
      &context, [] {}, 0);
  const auto sp = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  const auto low = reinterpret_cast<std::uintptr_t>(stack);
  return sp - low < sizeof stack ? stack[(sp - low) / sizeof stack[0]] : 0;
}

}  // namespace

bool start_rule_cache() {
  if (rule_slots) return true;
  end_of_context = find_end_of_context();
  use_tables_of(best_table_source());
  constexpr std::size_t slots = rule_ways * (std::size_t{1} << rule_set_bits);
  rule_slots = static_cast<RuleSlot*>(platform::map_pages(sizeof(RuleSlot) * slots));
  if (!rule_slots) return false;
  // Rules are spread over the pages at random, one for every new instruction that a sample interrupts. If pages were
  // touched as rules come, the resident set would grow for hours, and handlers would cause page faults.
  constexpr std::size_t slots_of_a_page = 4096 / sizeof(RuleSlot);
  for (std::size_t slot = 0; slot < slots; slot += slots_of_a_page)
    rule_slots[slot].check.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace refrain::unwind

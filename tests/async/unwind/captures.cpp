#include "captures.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <errno.h>
#include <initializer_list>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "platform/signal_context.hpp"
#include "platform/threads.hpp"
#include "unwind/calling_frame.hpp"
#include "unwind/known_frame.hpp"
#include "unwind/rule.hpp"
#include "workload.hpp"

namespace refrain::unwind::test {

thread_local Captures* captures_of_thread = nullptr;

Counts& Counts::operator+=(const Counts& o) {
  captures += o.captures;
  reused_frames += o.reused_frames;
  all_frames += o.all_frames;
  mismatches += o.mismatches;
  wrong_tags += o.wrong_tags;
  known += o.known;
  truncated += o.truncated;
  asked_library += o.asked_library;
  unlike_library += o.unlike_library;
  wrong_tables += o.wrong_tables;
  return *this;
}

Captures::Captures(std::uint32_t max_depth, unsigned library_period)
    : library_period_(library_period), until_library_(library_period) {
  if (!start_rule_cache() || !walker_.create(platform::own_stack(), max_depth, Backend::Incremental) ||
      (library_period && !library_.create(platform::own_stack(), max_depth, Backend::Libunwind))) {
    std::fprintf(stderr, "no walker\n");
    std::abort();
  }
  paths_ = static_cast<Path*>(mmap(nullptr, sizeof(Path) * path_limit, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ucontext_t context;
  getcontext(&context);
  std::uintptr_t stack[512];
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  makecontext(
      &context, [] {}, 0);
  const auto start_context = *reinterpret_cast<std::uintptr_t*>(context.uc_mcontext.gregs[REG_RSP]);
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);  // not what a sanitizer puts before it
  switching_functions_[0] = start_context;
  switching_functions_[1] = reinterpret_cast<std::uintptr_t>(dlsym(libc, "swapcontext"));
  switching_functions_[2] = reinterpret_cast<std::uintptr_t>(dlsym(libc, "setcontext"));
  switching_functions_[3] = reinterpret_cast<std::uintptr_t>(dlsym(libc, "longjmp"));
  find_table(reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "_Unwind_Resume")), unwinder_);
  captures_of_thread = this;
}

Captures::~Captures() {
  captures_of_thread = nullptr;
  munmap(paths_, sizeof(Path) * path_limit);
  walker_.destroy();
  library_.destroy();
}

/// Where the tables themselves are wrong, or mean what libunwind 1.6 does not do:
/// - a thrown exception, setcontext and the like replace the stack pointer at the end of a function whose table goes on
///   as if they had not;
/// - tables with a rule for the stack pointer (setcontext, longjmp): libunwind takes the CFA instead;
/// - the outermost frame of a context that makecontext made: libunwind was seen to go on beyond it, to an address on
///   the stack, for a reason not found;
/// - the last instructions of functions that realign their stack: gcc says that the frame pointer is still saved.
bool Captures::tables_are_wrong(const Walk& walk) const {
  if (walk.depth > 0 && walk.frames[0].pc == switching_functions_[0]) return true;
  for (std::uint32_t i = walk.depth; i-- > 0 && i + 4 >= walk.depth;) {
    const Frame& f = walk.frames[i];
    if (f.pc >= unwinder_.begin && f.pc < unwinder_.end) return true;
    for (const std::uintptr_t function : switching_functions_)
      if (f.function == function) return true;
    Table table;
    FrameEntry entry;
    Row row;
    const std::uintptr_t address = lookup_address(f.pc, f.exact);
    if (!find_table(address, table) || !find_frame_entry(table, address, entry) || entry.signal_frame ||
        !find_row(entry, address, row))
      continue;
    if (row.registers[machine::stack_pointer].kind != RegisterRule::Kind::SameValue) return true;
    if (!row.cfa_is_expression && row.registers[machine::frame_pointer].kind == RegisterRule::Kind::SavedAtExpression)
      return true;
  }
  return false;
}

std::uint32_t Captures::tag_of(std::uint32_t parent, const Frame& frame) {
  const std::uint64_t hash = (frame.pc * 2 + frame.exact + parent * 0x9e3779b97f4a7c15u) * 0xc4ceb9fe1a85ec53u;
  for (std::uint64_t i = hash >> 40;; ++i) {
    Path& path = paths_[i & (path_limit - 1)];
    if (path.tag == 0) {
      path = {frame.pc, parent, ++path_count_, frame.exact};
    }
    if (path.pc == frame.pc && path.parent == parent && path.exact == frame.exact) return path.tag;
  }
}

void Captures::report(const char* what, const Start& start, const Walk& one, const Walk& other) {
  static int reports = 0;
  if (++reports > 5) return;
  std::fprintf(stderr, "%s: pc %lx sp %lx fp %lx exact %d reused %u ends %d %d\n", what, start.registers.pc,
               start.registers.sp, start.registers.fp, start.exact, one.reused, int(one.end), int(other.end));
  for (std::uint32_t i = 0; i < one.depth || i < other.depth; ++i) {
    for (const Walk* walk : {&one, &other}) {
      if (i >= walk->depth) continue;
      const Frame& f = walk->frames[walk->depth - 1 - i];
      std::fprintf(stderr, "  %s %3u pc %lx sp %lx fp %lx%s%s", walk == &one ? "" : "     |", i, f.pc, f.sp, f.fp,
                   f.exact ? " exact" : "", f.fp_live ? " live" : "");
    }
    std::fprintf(stderr, "\n");
  }
}

void Captures::take(const Start& start) {
  if (inside_) return;
  inside_ = true;
  const int saved_errno = errno;
  ++counts_.captures;
  if (path_count_ > path_limit / 4) {  // long runs see more paths than are worth remembering
    madvise(paths_, sizeof(Path) * path_limit, MADV_DONTNEED);
    path_count_ = 0;
    walker_.forget();
  }
  const Registers& from = start.registers;
  const Frame* known = start.exact ? nullptr : walker_.known_frame(from.pc, from.sp, from.fp);
  if (!known && !start.exact) known = walker_.other_known_frame(from.pc, from.sp, from.fp);
  const std::uint32_t known_tag = known ? known->tag : 0;
  const Walk fast = walker_.walk(start);
  const Walk full = walker_.walk_fully(start);
  counts_.all_frames += fast.depth;
  counts_.reused_frames += fast.reused;
  counts_.known += known != nullptr;
  bool same = fast.depth == full.depth && fast.end == full.end;
  if (known && full.end != WalkEnd::Complete) same = false;
  for (std::uint32_t i = 0; same && i < fast.depth; ++i) {
    const Frame &a = fast.frames[i], &b = full.frames[i];
    same =
        a.pc == b.pc && a.sp == b.sp && a.function == b.function && a.exact == b.exact && (a.fp == b.fp || !a.fp_live);
  }
  if (!same) {
    ++counts_.mismatches;
    report("incremental | full", start, fast, full);
  }
  std::uint32_t parent = 0;
  for (std::uint32_t i = 0; i < fast.depth; ++i) {
    const std::uint32_t tag = tag_of(parent, fast.frames[i]);
    if (i >= fast.reused) fast.frames[i].tag = tag;
    else if (fast.frames[i].tag != tag) ++counts_.wrong_tags;
    parent = tag;
  }
  if (known && known_tag != parent) ++counts_.wrong_tags;
  if (known) walker_.keep(*known);
  if (full.end != WalkEnd::Complete) {
    ++counts_.truncated;
    if (!tables_are_wrong(full)) report("truncated | same", start, full, full);
  }
  if (library_period_ && --until_library_ == 0) {
    until_library_ = library_period_;
    ++counts_.asked_library;
    const Walk theirs = library_.walk(start);
    bool alike = theirs.depth == full.depth;
    for (std::uint32_t i = 0; alike && i < full.depth; ++i)
      alike = theirs.frames[i].pc == full.frames[i].pc && theirs.frames[i].sp == full.frames[i].sp;
    if (!alike && tables_are_wrong(full)) {
      ++counts_.wrong_tables;
    } else if (!alike) {
      ++counts_.unlike_library;
      report("full | libunwind", start, full, theirs);
    }
  }
  errno = saved_errno;
  inside_ = false;
}

namespace {

constexpr greg_t trap_flag = 0x100;

void on_signal(int, siginfo_t*, void* context) {
  Captures* captures = captures_of_thread;
  if (!captures) return;
  captures->take({platform::interrupted_registers(context), true, context});
  if (!captures->stepping()) static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
}

void set_trap_flag() { asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory"); }

}  // namespace

void Captures::step_on() {
  stepping_ = true;
  set_trap_flag();
}

void Captures::step_off() { stepping_ = false; }

[[gnu::noinline]] void capture_call() {
  Captures* captures = captures_of_thread;
  if (!captures) return;
  // Not stepped itself: libunwind blocks all signals for a while, and a blocked trap kills.
  const bool stepping = captures->stepping();
  captures->step_off();
  captures->take(calling_frame());
  if (stepping) captures->step_on();
}

void install_capture_handler(int signal) {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace refrain::unwind::test

void unwind_workload::step_in_handler() {
  auto* captures = refrain::unwind::test::captures_of_thread;
  if (captures && captures->stepping()) refrain::unwind::test::set_trap_flag();
}

#pragma once
/// Walks the call stack of the calling thread, incrementally: frames that the last walk saw and that provably have not
/// changed are taken over with the caller's tags, so that the usual cost is verification, not unwinding.
///
/// The state of a frame is (pc, sp, fp). Unwinding is a pure function of that state, of the stack words that the rules
/// read, and of the unwind tables; so an old frame may be reused when its state is equal, every word that its own and
/// all outer steps read (return addresses and saved frame pointers: the *full* read set) is unchanged, and no module
/// was unloaded since (platform/modules.hpp, generation). Frames stepped by a DWARF expression, by a guess or across a
/// signal frame, and frames outside the thread's own stack are not reused.
///
/// One Walker per location; never two walks at once. Everything marked so is async-signal-safe: no allocation, no lock,
/// no loader function but `_dl_find_object`.

#include <cstdint>

#include "platform/signal_context.hpp"
#include "platform/threads.hpp"

namespace refrain::unwind {

using platform::Registers;
using platform::StackBounds;

enum class Backend : std::uint8_t { Incremental, Libunwind };

/// Why a walk ended. Anything but Complete is a truncated path and counted by the caller.
enum class WalkEnd : std::uint8_t {
  Complete,    ///< reached the outermost frame (its return address is undefined, or the thread's first frame)
  NoTables,    ///< no unwind table for a pc and no plausible frame pointer (generated code)
  BadStack,    ///< a word outside the stack, or frames that do not move outwards
  DepthLimit,  ///< more frames than the walker keeps
};

struct Frame {
  std::uintptr_t pc;        ///< return address; the interrupted instruction when `exact`
  std::uintptr_t sp;        ///< stack pointer in this frame (the CFA of the next inner one)
  std::uintptr_t fp;
  std::uintptr_t function;  ///< first address of the function by its table entry, 0 when unknown
  std::uint32_t tag;        ///< the caller's: call-tree node of the path that ends in this frame; kept while reused
  std::uint32_t words;      ///< internal: how many read-set words this frame and all outer ones have
  bool exact;               ///< pc is an instruction to be executed, not a return address: look up pc, not pc - 1
  bool reusable;            ///< internal
};

struct Walk {
  Frame* frames;         ///< outermost first; valid until the next walk; the caller sets the tags of [reused, depth)
  std::uint32_t depth;   ///< number of frames
  std::uint32_t reused;  ///< frames [0, reused) are those of the last walk, tags included
  WalkEnd end;           ///< when not Complete, frames[0] is not the outermost frame of the thread
};

/// Where a walk begins.
struct Start {
  Registers registers;
  bool exact;           ///< true: interrupted by a signal; false: `pc` is the return address of a call in progress
  const void* context;  ///< the signal handler's ucontext when `exact`, else null
};

class Walker {
 public:
  /// Maps the walker's memory: at most `max_depth` frames, touched only as deep as stacks get. False: no memory.
  /// Ordinary context only. For Libunwind the library is loaded (RTLD_LOCAL) and warmed up here; false when absent.
  [[nodiscard]] bool create(const StackBounds& stack, std::uint32_t max_depth, Backend backend);
  void destroy();
  /// For a pooled walker that another thread takes over.
  void reset(const StackBounds& stack);

  Walk walk(const Start& start);       ///< Async-signal-safe.
  Walk walk_fully(const Start& start);  ///< The same without reuse; the oracle of the tests. Async-signal-safe.
  /// Forgets the last walk: all tags are void. Async-signal-safe.
  void forget();

 private:
  struct State;
  State* state_ = nullptr;
};

/// The process-wide cache of unwind rules, shared by all walkers without locks. Called once before the first walk:
/// maps memory, binds `_dl_find_object` or, where libc has none, prepares the module map's tables.
[[nodiscard]] bool start_rule_cache();
/// Forgets all rules; to be called after an unload. Async-signal-safe.
void forget_rules();

}  // namespace refrain::unwind

#pragma once
/// Walks the call stack of the calling thread, incrementally: frames that the last walk saw and that provably have not
/// changed are taken over with the caller's tags, so that the usual cost is verification, not unwinding.
///
/// The state of a frame is (pc, sp, fp). Unwinding is a pure function of that state, of the stack words that the rules
/// read, and of the unwind tables; so an old frame may be reused when its state is equal, every word that its own and
/// all outer steps depend on (the *full* read set: return addresses, saved frame pointers, saved stack pointers) is
/// unchanged, and no module was unloaded since (platform/modules.hpp, generation). A frame pointer that no outer rule
/// reads before an outer frame restores its own decides nothing: neither it nor the word it was saved in is compared.
///
/// A step that depends on more than that is never skipped: one by a general DWARF expression or from another register
/// (it needs all registers of the inner frames), by a guess (it depends on which modules are mapped), across a signal
/// frame, or outside the thread's own stack. The frame that it begins at and all inner ones are walked anew each time;
/// the frames outside of it are a pure function of the state it ends in and are reused like any other. Nothing is
/// reused of a path that did not end at the outermost frame.
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
  Complete,    ///< reached the outermost frame (its return address is undefined or 0)
  NoTables,    ///< no unwind table for a pc and no plausible frame pointer (generated code)
  BadStack,    ///< a word outside the stack, or frames that do not move outwards
  DepthLimit,  ///< more frames than the walker keeps: these are the innermost ones
};

/// What the caller keeps with a frame as long as it is reused; all 0 in a new one.
struct FrameNotes {
  std::uint32_t key, child, row, stamp;
};

struct alignas(64) Frame {
  std::uintptr_t pc;        ///< return address; the interrupted instruction when `exact`
  std::uintptr_t sp;        ///< stack pointer in this frame (the CFA of the next inner one)
  std::uintptr_t fp;        ///< frame-pointer register in this frame; may be of an older walk unless `fp_live`
  std::uintptr_t function;  ///< first address of the function by its table entry, 0 when unknown
  std::uint32_t tag;        ///< the caller's: call-tree node of the path that ends in this frame; kept while reused
  std::uint32_t words;      ///< internal: read-set words of this frame and all outer ones
  std::uint32_t pairs;      ///< internal: pairs of adjacent ones, not in `words`
  bool exact;               ///< pc is an instruction to be executed, not a return address: look up pc, not pc - 1
  bool fp_live;             ///< this or an outer step depends on `fp`
  bool fp_kept;             ///< internal: the step outwards leaves it as it is
  FrameNotes notes;
};
static_assert(sizeof(Frame) == 64);

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

/// Memory of a walker for at most `max_depth` frames, touched only as deep as stacks get. In its midst is room for the
/// walker's owner, beside what is looked at for a call whose path is known: for paths of up to some 30 frames all of
/// that is one page, and of what cold calls cost the look-up of pages is a large part.
struct WalkerMemory {
  char* base = nullptr;
  std::size_t bytes = 0;
  void* owner = nullptr;  ///< zero-filled, at the begin of a cache line
  std::size_t owner_bytes = 0;
  std::uint32_t max_depth = 0;
};
/// `base` is null when there is no memory. Ordinary context only.
WalkerMemory map_walker_memory(std::uint32_t max_depth, std::size_t owner_bytes);
void unmap_walker_memory(const WalkerMemory& memory);

class Walker {
 public:
  /// For Libunwind the library is loaded (RTLD_LOCAL) and warmed up here; false when absent. The memory is to be
  /// unmapped by the caller, also after false. Ordinary context only.
  [[nodiscard]] bool create(const StackBounds& stack, const WalkerMemory& memory, Backend backend);
  const WalkerMemory& memory() const;
  /// For a pooled walker that another thread takes over. Ordinary context only.
  void reset(const StackBounds& stack);

  Walk walk(const Start& start);  ///< Async-signal-safe.
  /// For a call in progress: the frame with these registers, when it and all outer ones are known and have not changed.
  /// Null: `other_known_frame` is to be asked, then `walk`. Defined in known_frame.hpp. Async-signal-safe.
  [[gnu::always_inline]] inline Frame* known_frame(std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp);
  /// The same for a call that is not the last one: a function makes many calls in turn. Async-signal-safe.
  Frame* other_known_frame(std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp);
  /// A frame that known_frame() has returned has its tag and notes: they stay known after the next walk, too.
  /// Async-signal-safe.
  void keep(const Frame& frame);
  /// As `walk`, without reuse; the oracle of the tests. The record of the last `walk` stays as it is; the frames are
  /// valid until the next `walk_fully`. Async-signal-safe.
  Walk walk_fully(const Start& start);
  /// Forgets the last walk from its frame `kept` on, counted from the outermost: the tags of these are void.
  /// Async-signal-safe.
  void forget(std::uint32_t kept = 0);
  /// The thread's own stack. Async-signal-safe.
  StackBounds stack() const;

 private:
  struct State;
  friend struct WalkerSetup;
  friend struct Walking;
  friend struct Sites;
  friend struct Record;
  State* state_ = nullptr;
};

/// The process-wide cache of unwind rules, shared by all walkers without locks. Called once before the first walk:
/// maps memory, binds `_dl_find_object` or, where libc has none, gathers the modules' tables. False: no memory.
[[nodiscard]] bool start_rule_cache();
/// Where libc has no `_dl_find_object`: gathers the tables of modules loaded since. Nothing otherwise. Ordinary context
/// only; to be called now and then, as at snapshots, and after an unload before `forget_rules`.
void refresh_tables();
/// Forgets all rules; to be called after an unload. Async-signal-safe.
void forget_rules();

}  // namespace refrain::unwind

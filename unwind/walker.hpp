#pragma once
/// Walks the call stack of the calling thread, incrementally: frames of the last walk that provably have not changed
/// are reused together with the caller's tags, so the usual cost is verification, not unwinding.
///
/// The state of a frame is (pc, sp, fp). Unwinding is a pure function of that state, of the stack words that the rules
/// read, and of the unwind tables. So an old frame may be reused when its state is equal, every word that its own and
/// all outer steps depend on (the *full* read set: return addresses, saved frame pointers, saved stack pointers) is
/// unchanged, and no module was unloaded since (platform/modules.hpp, generation). If no outer rule reads the frame
/// pointer before an outer frame restores its own, neither the frame pointer nor the word where it was saved is
/// compared.
///
/// A step that depends on more than that is never skipped: a step by a general DWARF expression or from another
/// register (it needs all registers of the inner frames), by a guess (it depends on which modules are mapped), across a
/// signal frame, or outside the thread's own stack. The frame at which such a step begins and all inner ones are walked
/// anew each time; the frames outside of it are a pure function of the state in which it ends, and are reused like any
/// other. If a walk did not reach the outermost frame, none of its frames is reused.
///
/// One Walker per location; never two walks at once. Functions marked so are async-signal-safe: no allocation, no lock,
/// no loader function except `_dl_find_object`.

#include <cstdint>

#include "platform/signal_context.hpp"
#include "platform/threads.hpp"

namespace refrain::unwind {

using platform::Registers;
using platform::StackBounds;

enum class Backend : std::uint8_t { Incremental, Libunwind };

/// Why a walk ended. Anything but Complete is a truncated path, which the caller counts.
enum class WalkEnd : std::uint8_t {
  Complete,    ///< reached the outermost frame (its return address is undefined or 0)
  NoTables,    ///< a pc without unwind table and without plausible frame pointer (generated code)
  BadStack,    ///< a word outside the stack, or a frame that does not move outwards
  DepthLimit,  ///< more frames than the walker keeps: the path has the innermost ones
};

/// Values that the caller stores with a frame for as long as it is reused; all 0 in a new frame.
struct FrameNotes {
  std::uint32_t key, child, row, stamp;
};

struct alignas(64) Frame {
  std::uintptr_t pc;        ///< return address; the interrupted instruction when `exact`
  std::uintptr_t sp;        ///< stack pointer in this frame (the CFA of the next inner one)
  std::uintptr_t fp;        ///< frame-pointer register in this frame; may be outdated unless `fp_live`
  std::uintptr_t function;  ///< first address of the function by its table entry, 0 when unknown
  std::uint32_t tag;        ///< set by the caller: node of the path that ends in this frame; kept while reused
  std::uint32_t words;      ///< internal: number of read-set words of this frame and all outer ones
  std::uint32_t pairs;      ///< internal: number of pairs of adjacent words, which are not in `words`
  bool exact;               ///< pc is an instruction to be executed, not a return address: look up pc, not pc - 1
  bool fp_live;             ///< this or an outer step depends on `fp`
  bool fp_kept;             ///< internal: the step outwards does not change the frame pointer
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

/// Memory of a walker for at most `max_depth` frames, touched only as deep as stacks get. The walker's owner is in the
/// middle of it, next to the data that a call by a known path reads: for paths of up to some 30 frames all of that is
/// in one page, and TLB misses are a large part of the cost of cold calls.
struct WalkerMemory {
  char* base = nullptr;
  std::size_t bytes = 0;
  void* owner = nullptr;  ///< zero-filled, aligned to a cache line
  std::size_t owner_bytes = 0;
  std::uint32_t max_depth = 0;
};
/// `base` is null when there is no memory. Ordinary context only.
WalkerMemory map_walker_memory(std::uint32_t max_depth, std::size_t owner_bytes);
void unmap_walker_memory(const WalkerMemory& memory);

class Walker {
 public:
  /// Loads libunwind (RTLD_LOCAL) and warms it up if that is the backend; false when it is absent. The caller unmaps
  /// the memory, also after false. Ordinary context only.
  [[nodiscard]] bool create(const StackBounds& stack, const WalkerMemory& memory, Backend backend);
  const WalkerMemory& memory() const;
  /// Another thread takes over a pooled walker. Ordinary context only.
  void reset(const StackBounds& stack);

  Walk walk(const Start& start);  ///< Async-signal-safe.
  /// For a call in progress: the frame with these registers, if it and all outer ones are known and unchanged. Null:
  /// ask `other_known_frame`, then `walk`. Defined in known_frame.hpp. Async-signal-safe.
  [[gnu::always_inline]] inline Frame* known_frame(std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp);
  /// The same for a call from a frame other than the last one: a function makes many different calls.
  /// Async-signal-safe.
  Frame* other_known_frame(std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp);
  /// Keeps a frame that known_frame() has returned, with its tag and notes, beyond the next walk. Async-signal-safe.
  void keep(const Frame& frame);
  /// Like `walk`, but without reuse; the oracle of the tests. Does not change the record of the last `walk`; the frames
  /// are valid until the next `walk_fully`. Async-signal-safe.
  Walk walk_fully(const Start& start);
  /// Forgets the frames of the last walk from `kept` on, counted from the outermost: their tags are invalid.
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

/// Starts the process-wide cache of unwind rules, which all walkers share without locks. Called once before the first
/// walk: maps memory, and binds `_dl_find_object` or, where libc has none, gathers the modules' tables. False: no
/// memory.
[[nodiscard]] bool start_rule_cache();
/// Where libc has no `_dl_find_object`, gathers the tables of modules loaded since; otherwise does nothing. Ordinary
/// context only; to be called now and then, as at snapshots, and after an unload before `forget_rules`.
void refresh_tables();
/// Forgets all rules; to be called after an unload. Async-signal-safe.
void forget_rules();

}  // namespace refrain::unwind

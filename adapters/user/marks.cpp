/// The marks of refrain/refrain.h as the program calls them: guard, name, and on to measurement/marks.hpp.

#include "measurement/marks.hpp"

#include "measurement/regions.hpp"
#include "refrain/refrain.h"

namespace refrain::user {
namespace {

using measurement::current_location;
using measurement::Inside;
using measurement::Location;
using measurement::RegionId;

/// The measurement of the calling thread's location for the time of one mark; false when there is none: the thread is
/// not measured, or the mark is inside MPI (a callback) or in a signal handler that interrupted Refrain.
class Scope {
 public:
  explicit Scope(std::uintptr_t sp) : location_(current_location) {
    if (!location_) return;
    if (location_->inside.load(std::memory_order_relaxed) != Inside::User &&
        !measurement::leave_abandoned_scope(*location_, sp)) {
      location_ = nullptr;
      return;
    }
    location_->inside.store(Inside::Measurement, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    location_->scope_sp = sp;
    if (!measurement::may_enter(*location_, Inside::User)) location_ = nullptr;
  }
  ~Scope() {
    if (!location_) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    location_->inside.store(Inside::User, std::memory_order_relaxed);
  }
  explicit operator bool() const { return location_ != nullptr; }
  Location& location() { return *location_; }

 private:
  Location* location_;
};

/// Of the function that called this one, whose frame is at `frame`.
struct Caller {
  platform::Registers registers;
  explicit Caller(const void* own_frame) {
    const auto* frame = static_cast<const std::uintptr_t*>(own_frame);
    registers = {frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
  }
};

std::uintptr_t stack_of(const void* own_frame) {
  return reinterpret_cast<std::uintptr_t>(static_cast<const std::uintptr_t*>(own_frame) + 2);
}

/// The id of a name; kept with the mark, 0 until it is known.
RegionId id_of(unsigned* kept, const char* name) {
  const unsigned known = __atomic_load_n(kept, __ATOMIC_RELAXED);
  if (known) return RegionId{static_cast<std::uint16_t>(known)};
  const RegionId id = measurement::user_region(name ? name : "");
  __atomic_store_n(kept, static_cast<unsigned>(id), __ATOMIC_RELAXED);
  return id;
}

[[gnu::noinline]] void loop_begin(unsigned* name_id, const char* name) {
  const void* frame = __builtin_frame_address(0);
  if (Scope scope{stack_of(frame)}; scope)
    measurement::begin_loop(scope.location(), id_of(name_id, name), Caller(frame).registers);
}
[[gnu::noinline]] void loop_end() {
  if (Scope scope{stack_of(__builtin_frame_address(0))}; scope) measurement::end_loop(scope.location());
}
[[gnu::noinline]] void iteration_begin() {
  if (Scope scope{stack_of(__builtin_frame_address(0))}; scope) measurement::begin_iteration(scope.location());
}
[[gnu::noinline]] void iteration_end() {
  if (Scope scope{stack_of(__builtin_frame_address(0))}; scope) measurement::end_iteration(scope.location());
}
[[gnu::noinline]] void region_begin(unsigned* name_id, const char* name) {
  const void* frame = __builtin_frame_address(0);
  if (Scope scope{stack_of(frame)}; scope)
    measurement::begin_region(scope.location(), id_of(name_id, name), Caller(frame).registers);
}
[[gnu::noinline]] void region_end(const char* name) {
  Scope scope{stack_of(__builtin_frame_address(0))};
  if (!scope) return;
  if (!name || !*name) return measurement::end_region(scope.location(), nullptr);
  const RegionId id = measurement::user_region(name);
  measurement::end_region(scope.location(), &id);
}

}  // namespace
}  // namespace refrain::user

extern "C" [[gnu::visibility("default"), gnu::used]] const refrain_marks_v1 refrain_marks_v1 = {
    refrain::user::loop_begin,    refrain::user::loop_end,     refrain::user::iteration_begin,
    refrain::user::iteration_end, refrain::user::region_begin, refrain::user::region_end,
};

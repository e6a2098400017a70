/// The marks of refrain/refrain.h as the program calls them: enter the location, find the name, call
/// measurement/marks.hpp.

#include "measurement/marks.hpp"

#include <cstddef>
#include <string_view>

#include "measurement/entrance.hpp"
#include "measurement/regions.hpp"
#include "refrain/refrain.h"

namespace refrain::user {
namespace {

using measurement::Inside;
using measurement::Location;
using measurement::own_location;
using measurement::RegionId;
using measurement::RegionName;

/// Enters the calling thread's location for the time of one mark. False: the thread is not measured, or the mark is
/// inside MPI (in a callback) or in a signal handler that interrupted Refrain.
class Scope {
 public:
  explicit Scope(const platform::Registers& caller) : location_(own_location()) {
    if (!location_) return;
    entered_ = measurement::begin_own_time(*location_);
    if (!measurement::enter(*location_, caller)) location_ = nullptr;
  }
  ~Scope() {
    if (location_) measurement::leave(*location_, Inside::User);
  }
  explicit operator bool() const { return location_ != nullptr; }
  Location& location() { return *location_; }
  const measurement::OwnTimeBegin& entered() const { return entered_; }

 private:
  Location* location_;
  measurement::OwnTimeBegin entered_;
};

/// The registers of the function that called an entry point, from the entry point's own frame.
[[gnu::always_inline]] inline platform::Registers caller_of(const void* own_frame) {
  const auto* frame = static_cast<const std::uintptr_t*>(own_frame);
  return {frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
}
#define REFRAIN_CALLER caller_of(__builtin_frame_address(0))

/// The registers of the function that called `helper`, if `caller` are those of `helper`. They are not if `helper` made
/// a tail call, which leaves nothing of its frame.
platform::Registers beyond(Location& location, const platform::Registers& caller, const void* helper) {
  const unwind::Walk walk = location.walker.walk_fully({caller, false, nullptr});
  if (walk.depth < 2) return caller;
  const unwind::Frame& own = walk.frames[walk.depth - 1];
  if (own.function != reinterpret_cast<std::uintptr_t>(helper)) return caller;
  const unwind::Frame& outer = walk.frames[walk.depth - 2];
  return {outer.pc, outer.sp, outer.fp};
}

/// The id of a name, in a mark that was called from `site`.
RegionId id_of(Location& location, std::uintptr_t site, std::string_view name) {
  const RegionName clean(name);
  bool is_new = false;
  const RegionId id = measurement::user_region(clean, &is_new);
  if (is_new && !clean.is_as_given()) measurement::report_strange_name(location, site);
  return id;
}
/// The same with a cache: `kept` belongs to the mark and holds the id, or 0 until it is known.
RegionId id_of(Location& location, std::uintptr_t site, unsigned* kept, const char* name) {
  const unsigned known = __atomic_load_n(kept, __ATOMIC_RELAXED);
  if (known) return RegionId{static_cast<std::uint16_t>(known)};
  const RegionId id = id_of(location, site, name ? name : "");
  __atomic_store_n(kept, static_cast<unsigned>(id), __ATOMIC_RELAXED);
  return id;
}

using Mark = void(Location& location, const platform::Registers& caller, const measurement::OwnTimeBegin& entered);
using NamedMark = void(Location& location, RegionId name, const platform::Registers& caller,
                       const measurement::OwnTimeBegin& entered);

void mark(const platform::Registers& caller, Mark& make) {
  if (Scope scope{caller}; scope) make(scope.location(), caller, scope.entered());
}
/// `name`: the arguments that id_of() takes.
template <class... Name>
void mark(const platform::Registers& caller, NamedMark& make, const Name&... name) {
  if (Scope scope{caller}; scope)
    make(scope.location(), id_of(scope.location(), caller.pc, name...), caller, scope.entered());
}
void end_region(Scope& scope, std::string_view name, const platform::Registers& caller) {
  if (name.empty()) return measurement::end_region(scope.location(), {}, caller, scope.entered());
  measurement::end_region(scope.location(), RegionName(name).view(), caller, scope.entered());
}
void end_region(std::string_view name, const platform::Registers& caller) {
  if (Scope scope{caller}; scope) end_region(scope, name, caller);
}

// ---- C and C++ ----

[[gnu::noinline]] void loop_begin(unsigned* name_id, const char* name) {
  mark(REFRAIN_CALLER, measurement::begin_loop, name_id, name);
}
[[gnu::noinline]] void loop_end() { mark(REFRAIN_CALLER, measurement::end_loop); }
[[gnu::noinline]] void iteration_begin() { mark(REFRAIN_CALLER, measurement::begin_iteration); }
[[gnu::noinline]] void iteration_end() { mark(REFRAIN_CALLER, measurement::end_iteration); }
[[gnu::noinline]] void region_begin(unsigned* name_id, const char* name) {
  mark(REFRAIN_CALLER, measurement::begin_region, name_id, name);
}
[[gnu::noinline]] void region_end(const char* name) { end_region(name ? name : "", REFRAIN_CALLER); }

// ---- Fortran ----

/// A Fortran character argument, without the blanks that pad it. Compilers pass the length as int or as size_t.
std::string_view text_of(const char* name, std::size_t length) {
  if (!name) return {};
  std::string_view text(name, static_cast<std::uint32_t>(length));
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

[[gnu::noinline]] void fortran_loop_begin(const char* name, std::size_t length) {
  mark(REFRAIN_CALLER, measurement::begin_loop, text_of(name, length));
}
[[gnu::noinline]] void fortran_region_begin(const char* name, std::size_t length) {
  mark(REFRAIN_CALLER, measurement::begin_region, text_of(name, length));
}
[[gnu::noinline]] void fortran_region_end(const char* name, std::size_t length) {
  end_region(text_of(name, length), REFRAIN_CALLER);
}
[[gnu::noinline]] void fortran_first_mark(int mark, const char* name, int length, const void* helper) {
  const auto near = REFRAIN_CALLER;
  Scope scope{near};
  if (!scope) return;
  Location& location = scope.location();
  const auto caller = beyond(location, near, helper);
  const std::string_view text = text_of(name, length > 0 ? static_cast<std::size_t>(length) : 0);
  switch (mark) {
    case 0: return measurement::begin_loop(location, id_of(location, caller.pc, text), caller, scope.entered());
    case 1: return measurement::end_loop(location, caller, scope.entered());
    case 2: return measurement::begin_iteration(location, caller, scope.entered());
    case 3: return measurement::end_iteration(location, caller, scope.entered());
    case 4: return measurement::begin_region(location, id_of(location, caller.pc, text), caller, scope.entered());
    case 5: return end_region(scope, text, caller);
    default: return;
  }
}

#undef REFRAIN_CALLER

}  // namespace
}  // namespace refrain::user

extern "C" [[gnu::visibility("default"), gnu::used]] const refrain_marks_v1 refrain_marks_v1 = {
    refrain::user::loop_begin,    refrain::user::loop_end,     refrain::user::iteration_begin,
    refrain::user::iteration_end, refrain::user::region_begin, refrain::user::region_end,
};

/// The table that the module of refrain.f90 looks for, where it has the same type.
struct refrain_fortran_marks_v1 {
  void (*first_mark)(int mark, const char* name, int length, const void* helper);
  void (*loop_begin)(const char* name, std::size_t length);
  void (*loop_end)();
  void (*iteration_begin)();
  void (*iteration_end)();
  void (*region_begin)(const char* name, std::size_t length);
  void (*region_end)(const char* name, std::size_t length);
};
extern "C" [[gnu::visibility("default"), gnu::used]] const refrain_fortran_marks_v1 refrain_fortran_marks_v1 = {
    refrain::user::fortran_first_mark, refrain::user::fortran_loop_begin, refrain::user::loop_end,
    refrain::user::iteration_begin,    refrain::user::iteration_end,      refrain::user::fortran_region_begin,
    refrain::user::fortran_region_end,
};

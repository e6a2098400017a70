#pragma once
/// Iterations of programs without marks: every n-th call of one MPI function below one function of the program begins
/// an iteration (REFRAIN_ITERATION_AT).

#include <atomic>
#include <cstdint>
#include <string_view>

#include "measurement/location.hpp"

namespace refrain::measurement {

/// No MPI function.
inline constexpr RegionId no_region{0xffff};

/// The MPI function that may begin an iteration. Where there is one, calls have extras (mpi_call.hpp).
inline std::atomic<RegionId> trigger_region{no_region};

/// Sets the list of inlined code (config/inlined_code.hpp). The text must stay valid. To be called before
/// set_trigger().
void set_inlined_code(std::string_view text);

/// From now on every n-th call of `region` below `function` (anywhere if it is empty) begins an iteration of the loop
/// `name`; n is `every`. The texts must stay valid. Ordinary context, before there are iterations.
void set_trigger(RegionId region, std::string_view function, std::int64_t every, std::string_view name);

/// A call of `trigger_region` from the frame with `registers` is about to begin. Ordinary context, inside a scope.
void call_of_trigger(Location& location, const platform::Registers& registers);

/// The reason why no iteration began, for a message at the end. Null: one did.
const char* why_nothing_was_triggered();

}  // namespace refrain::measurement

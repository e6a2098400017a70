#pragma once
/// Which call path makes some iterations, or a rank, slower than others.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "offline/findings/facts.hpp"

namespace refrain::findings {

/// Iterations: some, and others that they are compared with; nothing: neither of them.
using Chosen = std::function<std::optional<bool>(std::size_t iteration)>;

/// What is known of time in which a thread did not run.
enum class OffCpu : std::uint8_t { No, Waited, Blocked, Unknown };

/// In the iterations that are chosen.
struct Blame {
  std::optional<std::int32_t> rank;   ///< has most more user code in them; nothing: not all ranks were looked at
  bool is_of_changing_ranks = false;  ///< no rank has most of it, but in each iteration one has
  bool is_of_all_ranks = false;       ///< the others have at least half as much more
  std::string path;                   ///< in which that time is; empty: in none of them
  bool is_user = false;               ///< it is a function of the program
  OffCpu off_cpu = OffCpu::No;        ///< it is time in which the thread did not run
};
/// ", because it waited for a core"; empty: it ran.
const char* because(OffCpu off_cpu);
/// The metric of iterations that shows it.
inline const char* metric_of(OffCpu off_cpu) {
  return off_cpu == OffCpu::Waited ? "waited_for_core" : off_cpu == OffCpu::Blocked ? "blocked" : "user";
}
/// `of_rank`: of this one, by its place in LoopFacts::ranks; nothing: of the one that has most more. `excess_s`: how
/// much longer a chosen iteration is than the others, wall time; what is much less is not its cause. 0: whatever the
/// rank has more. Nothing: the iterations cannot be read.
std::optional<Blame> blame(const Facts& facts, const LoopFacts& loop, double excess_s, const Chosen& chosen,
                           std::optional<std::size_t> of_rank = std::nullopt);
/// ", in f > g on rank 3" for the end of a sentence; empty: it is not known.
std::string text_of(const Facts& facts, const std::optional<Blame>& blame);

}  // namespace refrain::findings

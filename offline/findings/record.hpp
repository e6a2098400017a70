#pragma once
/// The order of the members of findings in which they are stored and read (offline/experiment/packed.hpp).

#include "offline/experiment/packed.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::analysis {
template <class Io, experiment::Is<SharedCores> T>
void describe(Io& io, T& of) {
  io(of.host, of.ranks, of.threads, of.cores, of.quota);
}
}  // namespace refrain::analysis

namespace refrain::findings {

using experiment::Is;

template <class Io, Is<Ranks> T>
void describe(Io& io, T& of) {
  io(of.ranges);
}
template <class Io, Is<Iterations> T>
void describe(Io& io, T& of) {
  io(of.loop, of.of, of.first, of.last, of.count, of.period, of.numbers, of.ranks_read, of.ranks, of.is_one_of_several);
}
template <class Io, Is<Cause::Part> T>
void describe(Io& io, T& of) {
  io(of.function, of.share);
}
template <class Io, Is<Cause> T>
void describe(Io& io, T& of) {
  io(of.path, of.is_user, of.off_cpu, of.is_many, of.parts, of.ranks, of.is_in_turn, of.share);
}
template <class Io, Is<Finding> T>
void describe(Io& io, T& of) {
  io(of.rule, of.share, of.error, of.paths, of.ranks, of.iterations, of.cause, of.figures, of.cores, of.method,
     of.names, of.part_of);
}

/// Whether findings that were read are valid: stored bytes may have numbers without a meaning.
bool are_sound(std::span<const Finding> all);

}  // namespace refrain::findings

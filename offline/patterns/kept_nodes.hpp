#pragma once
/// Node numbers for storing an analysis, which do not depend on the names of call paths: each node gets the number of
/// the first call path that has its name.

#include "offline/experiment/packed.hpp"
#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

/// Converts to these numbers from the nodes of `naming`, for an experiment with `paths` call paths ...
void to_kept_nodes(Analysis& analysis, std::size_t paths, const Naming& naming);
/// ... and back to the nodes of `naming`, which may be another one.
void from_kept_nodes(Analysis& analysis, const Naming& naming);
/// Whether nodes that were read are valid for an experiment with `paths` call paths.
bool are_kept_nodes(Analysis& analysis, std::size_t paths);

using experiment::Is;

template <class Io, Is<Severity> T>
void describe(Io& io, T& of) {
  io(of.ns, of.error_ns);
}
template <class Io, Is<About> T>
void describe(Io& io, T& of) {
  io(of.name, of.parent, of.title, of.is_wait);
}
template <class Io, Is<PatternResult::ByNode> T>
void describe(Io& io, T& of) {
  io(of.node, of.severity);
}
template <class Io, Is<PatternResult::ByLocation> T>
void describe(Io& io, T& of) {
  io(of.location, of.severity);
}
template <class Io, Is<PatternResult::Worst> T>
void describe(Io& io, T& of) {
  io(of.node, of.location, of.ns, of.enter_ns, of.loop, of.iteration);
}
/// Without cells, which are stored as metrics (as_metrics()).
template <class Io, Is<PatternResult> T>
void describe(Io& io, T& of) {
  io(of.about, of.all, of.confidence, of.is_sampled, of.is_partial, of.is_class, of.by_node, of.by_location, of.names,
     of.worst);
}
template <class Io, Is<NamedActivity> T>
void describe(Io& io, T& of) {
  io(of.location, of.is_call, of.before, of.after);
}
template <class Io, Is<CauseResult> T>
void describe(Io& io, T& of) {
  io(of.activity, of.ns, of.direct_ns, of.off_cpu_ns, of.by_node);
}
template <class Io, Is<CauseResults> T>
void describe(Io& io, T& of) {
  io(of.all, of.waiting_ns, of.unexplained_ns);
}
template <class Io, Is<CriticalResult> T>
void describe(Io& io, T& of) {
  io(of.activity, of.ns, of.imbalance_ns);
}
template <class Io, Is<CriticalResults> T>
void describe(Io& io, T& of) {
  io(of.all, of.ns);
}
template <class Io, Is<SearchCounts> T>
void describe(Io& io, T& of) {
  io(of.messages.sends, of.messages.receives, of.messages.paired, of.messages.left_out, of.known_messages,
     of.collectives, of.collectives_left_out, of.window_epochs, of.window_epochs_left_out, of.violations, of.gaps,
     of.gaps_within, of.is_sample, of.damages);
}
/// Without headlines, which become findings.
template <class Io, Is<Analysis> T>
void describe(Io& io, T& of) {
  io(of.total_ns, of.patterns, of.counts, of.is_sampled, of.not_covered_ns, of.unknown_ns, of.untold, of.seen_share,
     of.level, of.merged_strata, of.causes, of.critical_path);
}

}  // namespace refrain::patterns

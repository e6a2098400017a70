#include "offline/run/iteration_samples.hpp"

#include <algorithm>

namespace refrain::run {

using experiment::NodeKind;

IterationSamples::IterationSamples(const experiment::ProfileDefinitions& profile, const experiment::Rank& rank,
                                   const experiment::Loop& loop)
    : profile_(profile), stored_(read_samples(rank, loop)) {
  const auto wanted = static_cast<std::int32_t>(format::column_of(format::MetricId::Samples));
  const auto at = std::find(stored_.columns.begin(), stored_.columns.end(), wanted);
  if (at == stored_.columns.end()) stored_.data.clear();
  else samples_column_ = static_cast<std::size_t>(at - stored_.columns.begin());
  restart();
}

void IterationSamples::restart() {
  const experiment::StoredShape shapes[] = {{false, stored_.visits, stored_.columns.size()}};
  open_ = any() && reader_.open(stored_.data, shapes, stored_.references, stored_.kept, stored_.count);
  here_ = open_ && reader_.next();
}

bool IterationSamples::take() {
  paths_.clear();
  for (const experiment::StoredPath& touched : reader_.paths()) {
    const auto id = std::size_t{touched.path};
    if (id >= stored_.paths.size()) return false;
    const std::uint32_t path = stored_.paths[id];
    const NodeKind kind = profile_.paths[path].kind;
    if (kind != NodeKind::Function && kind != NodeKind::Special) return false;
    paths_.push_back({path, touched.values[samples_column_]});
  }
  // The rank numbers paths differently, and may have two numbers for one path.
  std::sort(paths_.begin(), paths_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  std::size_t count = 0;
  for (const SampledPath& row : paths_)
    if (count > 0 && paths_[count - 1].path == row.path) paths_[count - 1].samples += row.samples;
    else paths_[count++] = row;
  paths_.resize(count);
  return true;
}

bool IterationSamples::keeps(std::int64_t iteration) {
  if (!open_ || iteration < 0) return false;
  const auto wanted = static_cast<std::uint64_t>(iteration);
  if (wanted >= stored_.count || !stored_.kept.has(wanted)) return false;
  if (!here_ || reader_.ordinal() > wanted) restart();
  while (here_ && reader_.ordinal() < wanted) here_ = reader_.next();
  return here_ && reader_.ordinal() == wanted && reader_.kept();
}

const std::vector<SampledPath>* IterationSamples::of(std::int64_t iteration) {
  return keeps(iteration) && take() ? &paths_ : nullptr;
}

}  // namespace refrain::run

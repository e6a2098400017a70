#include "offline/experiment/kept_analysis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <system_error>
#include <tuple>

#include "format/checksum.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/experiment/kept_file.hpp"
#include "offline/experiment/packed.hpp"
#include "offline/experiment/whole_file.hpp"

namespace refrain::experiment {

namespace fs = std::filesystem;

template <class Io, Is<AnalysisKey> T>
void describe(Io& io, T& of) {
  io(of.rules, of.parameters, of.level);
}
template <class Io, Is<SavedMetric::Value> T>
void describe(Io& io, T& of) {
  io(of.path, of.rank, of.thread, of.seconds);
}
template <class Io, Is<SavedMetric::OfLocation> T>
void describe(Io& io, T& of) {
  io(of.rank, of.thread, of.seconds, of.error_s);
}
template <class Io, Is<SavedMetric::Replicated> T>
void describe(Io& io, T& of) {
  io(of.path, of.rank, of.ns);
}
template <class Io, Is<SavedMetric> T>
void describe(Io& io, T& of) {
  io(of.name, of.parent, of.help, of.is_sampled, of.values, of.locations);
}
/// The replicates, which follow all metrics since version 2 of the file.
template <class Io, class Metrics>
void describe_replicates(Io& io, Metrics& metrics) {
  for (auto& metric : metrics) io(metric.ranks_in_block, metric.replicates);
}

namespace {

constexpr std::string_view name_begin = "analysis-", name_end = ".refrain";
constexpr KeptKind kept_kind{"RTanlyss", 2, 1 << 16, "a kept analysis", 1};

template <class... T>
std::string packed(const T&... values) {
  Packer packer;
  packer(values...);
  return packer.bytes();
}

fs::path path_of(const fs::path& experiment, const AnalysisKey& key) {
  std::array<char, 17> hash;
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(checksum_of(packed(key))));
  return experiment / (std::string(name_begin) + hash.data() + std::string(name_end));
}

/// Sort key that puts the preferred analysis first.
auto rank_of(const KeptAnalysis& of) {
  return std::tuple(of.key().rules != analysis_rules, !of.key().parameters.empty(), of.key().level, ~of.records(),
                    !of.has_found(), of.key());
}

}  // namespace

KeptAnalysis::KeptAnalysis(const fs::path& file_path, const Experiment& experiment,
                           const std::shared_ptr<DamageLog>& damage)
    : file_(std::make_shared<InputFile>(file_path, damage)), paths_(experiment.definitions().paths.size()) {
  const InputFile& file = *file_;
  const KeptHead begin = read_kept_head(file, kept_kind);
  version_of_file_ = begin.version;
  Unpacker head(begin.bytes);
  std::uint64_t fingerprint = 0;
  head(key_, version_, records_, fingerprint, metrics_.size, metrics_.checksum, found_.size, found_.checksum);
  metrics_.offset = begin.end;
  const std::uint64_t room = file.size() - metrics_.offset;
  if (!head.is_good() || metrics_.size > room || found_.size != room - metrics_.size)
    file.fail(kept_head_at, "a kept analysis of another size than its head says");
  if (fingerprint != experiment.fingerprint()) file.fail(kept_head_at, "it belongs to another experiment");
  found_.offset = metrics_.offset + metrics_.size;
}

std::vector<std::byte> KeptAnalysis::read(const Part& part) const {
  auto bytes = file_->read(part.offset, part.size, kept_kind.name);
  if (format::checksum(bytes.data(), bytes.size()) != part.checksum)
    file_->fail(part.offset, "a kept analysis has a wrong checksum");
  return bytes;
}

void KeptAnalysis::refuse(const char* what) const { file_->fail(0, what); }

std::vector<SavedMetric> KeptAnalysis::metrics() const {
  const auto bytes = read(metrics_);
  std::vector<SavedMetric> metrics;
  Unpacker unpacker(bytes);
  unpacker(metrics);
  if (version_of_file_ >= 2) describe_replicates(unpacker, metrics);
  const auto paths = static_cast<std::int64_t>(paths_);
  const auto is_path = [&](const auto& row) { return row.path >= -1 && row.path < paths; };
  const auto is_finite = [](const SavedMetric::Value& value) { return std::isfinite(value.seconds); };
  const auto is_good = [&](const SavedMetric& of) {
    return std::ranges::all_of(of.values, is_path) && std::ranges::all_of(of.values, is_finite) &&
           std::ranges::all_of(of.replicates, is_path) && of.ranks_in_block >= 0 &&
           of.ranks_in_block <= most_ranks_in_block;
  };
  if (!unpacker.is_good() || !std::ranges::all_of(metrics, is_good)) refuse("a kept analysis with impossible metrics");
  return metrics;
}

std::string KeptAnalysis::found() const {
  const auto bytes = read(found_);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<KeptAnalysis> kept_analyses(const Experiment& experiment) {
  std::vector<KeptAnalysis> all;
  for (const fs::path& path : files_like(experiment.directory(), name_begin, name_end))
    experiment.damage_log()->survives("what was found in its events is searched for again", [&] {
      try {
        all.emplace_back(path, experiment, experiment.damage_log());
      } catch (const ReadError&) {
        // Another tool that searched again may have removed the file.
        if (has_file(experiment.directory(), path.filename())) throw;
      }
    });
  std::ranges::sort(all, {}, rank_of);
  return all;
}

std::optional<KeptAnalysis> kept_analysis(const Experiment& experiment, const AnalysisKey& key) {
  for (KeptAnalysis& of : kept_analyses(experiment))
    if (of.key() == key) return std::move(of);
  return std::nullopt;
}

void keep(const Experiment& experiment, const NewAnalysis& analysis) {
  Packer packer;
  packer(analysis.metrics);
  describe_replicates(packer, analysis.metrics);
  const std::string& metrics = packer.bytes();
  const std::string head =
      packed(analysis.key, analysis.version, analysis.records, experiment.fingerprint(), std::uint64_t{metrics.size()},
             checksum_of(metrics), std::uint64_t{analysis.found.size()}, checksum_of(analysis.found));
  const std::string file = kept_begin(kept_kind, head) + metrics + analysis.found;
  write_whole_file(path_of(experiment.directory(), analysis.key), std::as_bytes(std::span(file)));
}

void forget_old_analyses(const Experiment& experiment) {
  std::error_code ignored;
  fs::remove(experiment.directory() / old_metrics_name, ignored);
  for (const fs::path& path : files_like(experiment.directory(), name_begin, name_end)) {
    DamageLog unheard;
    bool is_of_today = false;
    unheard.survives("", [&] {
      const KeptAnalysis kept(path, experiment, std::make_shared<DamageLog>());
      is_of_today = kept.key().rules == analysis_rules;
    });
    if (!is_of_today) fs::remove(path, ignored);
  }
}

}  // namespace refrain::experiment

#include "offline/experiment/experiment.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "format/checksum.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/definition_merger.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/experiment/iteration_frames_reader.hpp"
#include "offline/experiment/packed.hpp"

namespace refrain::experiment {
namespace {

namespace fs = std::filesystem;

/// The rank in "part-<rank>.refrain".
std::optional<std::int32_t> part_rank(std::string_view name) {
  constexpr std::string_view begin = "part-", end = ".refrain";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return std::nullopt;
  name.remove_prefix(begin.size());
  name.remove_suffix(end.size());
  std::int32_t rank = 0;
  const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc{} || rest != name.data() + name.size() || rank < 0) return std::nullopt;
  return rank;
}

/// The part files, ascending by rank.
std::vector<std::pair<std::int32_t, fs::path>> find_parts(const fs::path& directory) {
  std::vector<std::pair<std::int32_t, fs::path>> parts;
  std::error_code error;
  for (const std::string& name : files_in(directory, error))
    if (const auto rank = part_rank(name)) parts.emplace_back(*rank, directory / name);
  if (error) throw ReadError(clean_text(directory.string()) + ": cannot be read: " + error.message());
  std::sort(parts.begin(), parts.end());
  return parts;
}

std::string missing(std::int32_t rank) { return "rank " + std::to_string(rank) + " is missing"; }

}  // namespace

std::uint64_t Experiment::fingerprint() const {
  Packer packer;
  packer(manifest_.command, manifest_.executable, manifest_.host, manifest_.started, definitions_.ranks_expected,
         definitions_.regions, std::uint64_t{definitions_.paths.size()});
  for (const ProfileModule& of : definitions_.modules) packer(of.path);
  for (const CallPath& of : definitions_.paths) packer(of.parent, of.kind, of.module, of.offset);
  for (const auto& file : files_)
    for (const ProfileFile::Entry& of : file->entries()) packer(of.rank, of.offset, of.size);
  return format::checksum(packer.bytes().data(), packer.bytes().size());
}

std::vector<SavedMetric> Experiment::saved_metrics() const {
  {
    const std::lock_guard lock(mutex_);
    if (found_metrics_) return *found_metrics_;
  }
  std::vector<SavedMetric> metrics;
  const auto read = [&](const auto& parse) {
    return damage_->survives("the metrics that tools have found are not shown", [&] { metrics = parse(); });
  };
  for (const KeptAnalysis& kept : kept_analyses(*this))
    if (read([&] { return kept.metrics(); })) return metrics;
  if (!directory_.empty() && has_file(directory_, old_metrics_name))
    read([&] {
      return parse_old_metrics(InputFile(directory_ / old_metrics_name, damage_), definitions_.paths.size());
    });
  return metrics;
}

void Experiment::have_found(std::vector<SavedMetric> metrics) const {
  const std::lock_guard lock(mutex_);
  found_metrics_ = std::move(metrics);
}

std::shared_ptr<const KeptPools> Experiment::pools() const {
  std::call_once(pools_are_read_, [this] {
    auto pools = read_kept_pools(*this);
    const std::lock_guard lock(mutex_);
    pools_ = std::move(pools);
  });
  const std::lock_guard lock(mutex_);
  return pools_;
}

void Experiment::have_pools(std::shared_ptr<const KeptPools> pools) const {
  std::call_once(pools_are_read_, [] {});
  const std::lock_guard lock(mutex_);
  pools_ = std::move(pools);
}

void Experiment::read_manifest() {
  const fs::path manifest = directory_ / format::manifest_name;
  const std::string name = clean_text(directory_.string());
  std::error_code error;
  if (!fs::exists(directory_, error)) throw ReadError(name + ": does not exist");
  if (!fs::is_directory(directory_, error) && !is_packed(directory_))
    throw ReadError(name + ": is no experiment, neither as a directory nor packed");
  const bool has_profile = has_file(directory_, format::profile_name) || !find_parts(directory_).empty();
  if (!has_file(directory_, format::manifest_name) && !has_profile)
    throw ReadError(name + ": is not an experiment directory: it has no " + format::manifest_name);
  damage_->survives("the command, its settings and when it ran are not known",
                    [&] { manifest_ = parse_manifest(InputFile(manifest, damage_)); });
}

void Experiment::find_files() {
  const fs::path common = directory_ / format::profile_name;
  const auto parts = find_parts(directory_);
  const bool has_common = has_file(directory_, format::profile_name);
  if (!has_common && parts.empty())
    throw ReadError(clean_text(directory_.string()) +
                    (manifest_.state == "running"
                         ? ": holds no profile: the program still runs, or ended before it could write"
                         : ": holds no profile"));
  const auto open_file = [&](const fs::path& path, const std::string& cost, auto check) {
    damage_->survives(cost, [&] {
      const InputFile file(path, damage_);
      auto opened = std::make_unique<const ProfileFile>(file);
      check(*opened, file);
      files_.push_back(std::move(opened));
    });
  };
  if (has_common) open_file(common, parts.empty() ? "" : "what it holds is missing", [](auto&, auto&) {});
  std::vector<std::int32_t> known;
  if (!files_.empty())
    for (const auto& entry : files_[0]->entries()) known.push_back(entry.rank);
  if (files_.empty() || !files_[0]->definitions().complete)
    for (const auto& [rank, path] : parts) {
      if (std::ranges::binary_search(known, rank)) continue;
      open_file(path, missing(rank), [rank = rank](const ProfileFile& opened, const InputFile& file) {
        if (opened.entries().size() != 1 || opened.entries()[0].rank != rank)
          file.fail(0, "is not the profile of the rank in its name");
      });
    }
  if (files_.empty()) throw ReadError(damage_->lines().back());
  unite_definitions();
}

void Experiment::unite_definitions() {
  DefinitionMerger merger;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const ProfileFile& file = *files_[i];
    std::vector<std::uint32_t> paths;
    if (files_.size() == 1) {  // nothing to unite
      definitions_ = file.definitions();
      paths.resize(definitions_.paths.size());
      std::iota(paths.begin(), paths.end(), 0U);
    } else if (!damage_->survives("what it holds is missing",
                                  [&] { paths = merger.add(file.definitions(), file.source().name); })) {
      continue;
    }
    paths_.push_back(std::make_unique<const std::vector<std::uint32_t>>(std::move(paths)));
    for (const auto& entry : file.entries()) places_.push_back({&file, entry, paths_.back().get()});
  }
  if (files_.size() > 1) definitions_ = merger.take();
  if (!definitions_.complete) definitions_.ranks_expected = std::max(definitions_.ranks_expected, manifest_.ranks);
  std::ranges::stable_sort(places_, {}, [](const Place& place) { return place.entry.rank; });
  for (const Place& place : places_) ranks_.push_back(place.entry.rank);
  for (auto& read : read_) read.resize(ranks_.size());
}

std::shared_ptr<const Experiment> Experiment::open(const fs::path& directory, bool strict) {
  const auto experiment = std::make_shared<Experiment>(strict);
  experiment->directory_ = directory;
  experiment->read_manifest();
  experiment->find_files();
  return experiment;
}

std::shared_ptr<const Experiment> Experiment::of_file(std::string name, std::span<const std::byte> bytes) {
  const auto experiment = std::make_shared<Experiment>(false);
  experiment->files_.push_back(
      std::make_unique<const ProfileFile>(InputFile(std::move(name), bytes, experiment->damage_)));
  experiment->unite_definitions();
  return experiment;
}

std::shared_ptr<const Experiment> Experiment::of(WholeExperiment whole) {
  const auto experiment = std::make_shared<Experiment>(true);
  experiment->directory_ = std::move(whole.directory);
  experiment->manifest_ = std::move(whole.manifest);
  for (Rank& rank : whole.profile.ranks) {
    experiment->ranks_.push_back(rank.rank);
    experiment->in_memory_.push_back(std::make_shared<const Rank>(std::move(rank)));
  }
  experiment->definitions_ = static_cast<ProfileDefinitions&&>(whole.profile);
  return experiment;
}

RankHandle Experiment::rank(std::size_t place, Depth depth) const {
  if (!in_memory_.empty()) return in_memory_[place];
  auto& kept = read_[static_cast<std::size_t>(depth)][place];
  {
    const std::lock_guard lock(mutex_);
    if (auto handle = kept.lock()) return handle;
  }
  RankHandle handle = read_rank(places_[place], depth);
  const std::lock_guard lock(mutex_);
  kept = handle;
  return handle;
}

RankHandle Experiment::read_rank(const Place& place, Depth depth) const {
  RankHandle handle;
  damage_->survives(missing(place.entry.rank), [&] {
    // Not make_shared(): the weak pointers in read_ would keep the rank's memory allocated.
    const std::shared_ptr<Rank> rank(new Rank(place.file->read(place.entry, depth, definitions_, *place.paths)));
    // With wall-time sampling functions also get the time in which threads did not run; unit totals do not tell it.
    if (is_sampled_by_wall_time(manifest_)) rank->off_cpu_is_counted = rank->off_cpu_of_calls_is_counted = false;
    if (depth >= Depth::Loops && !directory_.empty()) find_spilled_iterations(directory_, *rank, damage_);
    share_first_logs(*rank);
    if (depth == Depth::Whole) rank->pools = pools();
    handle = rank;
  });
  return handle;
}

}  // namespace refrain::experiment

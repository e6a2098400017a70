#include "offline/experiment/kept_pools.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "format/checksum.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/experiment/kept_file.hpp"
#include "offline/experiment/packed.hpp"
#include "offline/experiment/whole_file.hpp"

namespace refrain::experiment {

template <class Io, Is<LoopOfLocation> T>
void describe(Io& io, T& of) {
  io(of.rank, of.thread, of.loop);
}

namespace {

constexpr std::string_view pools_begin = "pools-", pools_end = ".refrain";
constexpr KeptKind pools_kind{"RTlpools", 1, 1 << 27, "a file of kept pools"};
constexpr const char* pools_cost = "the pools of its iterations are found again";

std::string name_of_pools() { return std::string(pools_begin) + std::to_string(pool_rules) + std::string(pools_end); }

/// The head's entry of one loop.
struct PartOfHead {
  LoopOfLocation loop;
  std::uint64_t size = 0, checksum = 0;
};
template <class Io, Is<PartOfHead> T>
void describe(Io& io, T& of) {
  io(of.loop, of.size, of.checksum);
}

}  // namespace

KeptPools::KeptPools(std::filesystem::path file, const Experiment& experiment)
    : path_(std::move(file)), damage_(experiment.damage_log()) {
  read_head(experiment);
}

KeptPools::KeptPools(std::string contents, const Experiment& experiment)
    : contents_(std::move(contents)), damage_(experiment.damage_log()) {
  read_head(experiment);
}

InputFile KeptPools::open() const {
  if (contents_.empty()) return InputFile(path_, damage_);
  return {name_of_pools(), std::as_bytes(std::span(contents_)), damage_};
}

void KeptPools::read_head(const Experiment& experiment) {
  const InputFile file = open();
  const KeptHead begin = read_kept_head(file, pools_kind);
  Unpacker head(begin.bytes);
  std::uint64_t fingerprint = 0;
  std::vector<PartOfHead> parts;
  head(fingerprint, parts);
  if (!head.is_good()) file.fail(kept_head_at, "a file of kept pools with a malformed head");
  if (fingerprint != experiment.fingerprint()) file.fail(kept_head_at, "it belongs to another experiment");
  std::uint64_t at = begin.end;
  for (const PartOfHead& of : parts) {
    if (of.size > file.size() - at) file.fail(kept_head_at, "a file of kept pools that is shorter than its head says");
    parts_[of.loop] = {at, of.size, of.checksum};
    at += of.size;
  }
}

std::optional<std::vector<std::byte>> KeptPools::of(const LoopOfLocation& loop) const {
  const auto part = parts_.find(loop);
  if (part == parts_.end()) return std::nullopt;
  std::optional<std::vector<std::byte>> bytes;
  // Another tool may have removed the file, or replaced it by one with the same contents.
  if (!contents_.empty() || has_file(path_.parent_path(), path_.filename()))
    damage_->survives(pools_cost, [&] {
      const InputFile file = open();
      bytes = file.read(part->second.offset, part->second.size, pools_kind.name);
      if (format::checksum(bytes->data(), bytes->size()) == part->second.checksum) return;
      bytes.reset();
      file.fail(part->second.offset, "a file of kept pools has a wrong checksum");
    });
  return bytes;
}

bool KeptPools::is_whole() const {
  return std::ranges::all_of(parts_, [this](const auto& part) { return of(part.first).has_value(); });
}

void KeptPools::refuse(const LoopOfLocation& loop, const char* what) const {
  damage_->survives(pools_cost, [&] { open().fail(parts_.at(loop).offset, what); });
}

std::shared_ptr<const KeptPools> read_kept_pools(const Experiment& experiment) {
  std::shared_ptr<const KeptPools> kept;
  if (experiment.directory().empty() || !has_file(experiment.directory(), name_of_pools())) return kept;
  experiment.damage_log()->survives(pools_cost, [&] {
    kept = std::make_shared<const KeptPools>(experiment.directory() / name_of_pools(), experiment);
  });
  return kept;
}

std::string file_of_pools(const Experiment& experiment, const PoolBytes& pools) {
  std::vector<PartOfHead> parts;
  for (const auto& [loop, bytes] : pools) parts.push_back({loop, bytes.size(), checksum_of(bytes)});
  Packer head;
  head(experiment.fingerprint(), parts);
  std::string file = kept_begin(pools_kind, head.bytes());
  for (const auto& [loop, bytes] : pools) file += bytes;
  return file;
}

void keep_file_of_pools(const Experiment& experiment, const std::string& contents) {
  write_whole_file(experiment.directory() / name_of_pools(), std::as_bytes(std::span(contents)));
}

void forget_old_pools(const Experiment& experiment) {
  std::error_code ignored;
  for (const std::filesystem::path& path : files_like(experiment.directory(), pools_begin, pools_end))
    if (path.filename() != name_of_pools()) std::filesystem::remove(path, ignored);
  bool is_whole = false;
  const auto damage = DamageLog::put_aside([&] {
    try {
      const auto kept = read_kept_pools(experiment);
      is_whole = kept && kept->is_whole();
    } catch (const ReadError&) {  // the experiment is strict: all damage is an error
    }
  });
  if (is_whole && damage.empty()) return;
  std::filesystem::remove(experiment.directory() / name_of_pools(), ignored);
  experiment.have_pools(nullptr);
}

}  // namespace refrain::experiment

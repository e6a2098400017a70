#pragma once
/// Division of the user time of single iterations among call paths. It is found once, from all iterations of a loop,
/// and kept in the experiment: a file `pools-<rules>.refrain`, which is written under another name, then renamed, and
/// never changed. docs/file-format.md has its layout. The kept bytes of a loop are written and read by
/// offline/run/iteration_shares.hpp.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/experiment/damage.hpp"

namespace refrain::experiment {

class Experiment;
class InputFile;

/// Increases when the same iterations would be divided differently, and when pools are kept in another form.
inline constexpr std::uint32_t pool_rules = 1;

struct LoopOfLocation {
  std::int32_t rank = 0, thread = 0;
  std::uint32_t loop = 0;  ///< index in Location::loops
  auto operator<=>(const LoopOfLocation&) const = default;
};
/// The kept bytes of each loop.
using PoolBytes = std::map<LoopOfLocation, std::string>;

/// Kept pools, in a file or in memory. Immutable; several threads may use one object.
class KeptPools {
 public:
  /// Reads the head of the file. Throws ReadError, also when the file belongs to another experiment.
  KeptPools(std::filesystem::path file, const Experiment& experiment);
  /// As above, from the contents of such a file in memory.
  KeptPools(std::string contents, const Experiment& experiment);

  /// The kept bytes of the loop; nothing when there are none or they are damaged, which the experiment logs.
  std::optional<std::vector<std::byte>> of(const LoopOfLocation& loop) const;
  /// Whether the bytes of all loops are undamaged. Reads them all.
  bool is_whole() const;
  /// Logs that the kept bytes of the loop are damaged.
  void refuse(const LoopOfLocation& loop, const char* what) const;

 private:
  struct Part {
    std::uint64_t offset = 0, size = 0, checksum = 0;
  };
  void read_head(const Experiment& experiment);
  InputFile open() const;

  std::filesystem::path path_;
  std::string contents_;
  std::shared_ptr<DamageLog> damage_;
  std::map<LoopOfLocation, Part> parts_;
};

/// Pools kept in the experiment's directory by the current rules; null when there are none or they cannot be read,
/// which the experiment logs.
std::shared_ptr<const KeptPools> read_kept_pools(const Experiment& experiment);

/// The contents of the file for this experiment.
std::string file_of_pools(const Experiment& experiment, const PoolBytes& pools);
/// Replaces the file as a whole. Throws std::system_error.
void keep_file_of_pools(const Experiment& experiment, const std::string& contents);
/// Removes pools that were kept by other rules or are damaged.
void forget_old_pools(const Experiment& experiment);

}  // namespace refrain::experiment

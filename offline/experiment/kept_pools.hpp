#pragma once
/// How the user time of single iterations is divided among call paths is found once, from all iterations of a loop, and
/// kept in the experiment: a file `pools-<rules>.refrain`, which is written under another name and then renamed, and
/// never changed. docs/file-format.md has its layout. What is kept of a loop are bytes, which
/// offline/run/iteration_shares.hpp writes and reads.

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

/// Rises when the same iterations would be divided differently, and when pools are kept in another form.
inline constexpr std::uint32_t pool_rules = 1;

struct LoopOfLocation {
  std::int32_t rank = 0, thread = 0;
  std::uint32_t loop = 0;  ///< in Location::loops
  auto operator<=>(const LoopOfLocation&) const = default;
};
/// Bytes of loops.
using PoolBytes = std::map<LoopOfLocation, std::string>;

/// Pools that are kept, in a file or in memory. Immutable; several threads may use it.
class KeptPools {
 public:
  /// Reads the head of the file. Throws ReadError, also when it belongs to another experiment.
  KeptPools(std::filesystem::path file, const Experiment& experiment);
  /// The contents of such a file, in memory.
  KeptPools(std::string contents, const Experiment& experiment);

  /// Nothing: nothing is kept of the loop, or it is damaged, which goes to the log of the experiment.
  std::optional<std::vector<std::byte>> of(const LoopOfLocation& loop) const;
  /// Whether nothing of it is damaged. Reads all of it.
  bool is_whole() const;
  /// Notes that what is kept of the loop is damaged.
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

/// What is kept in the experiment's directory by the present rules. Null: nothing, or it cannot be read, which goes to
/// the log of the experiment.
std::shared_ptr<const KeptPools> read_kept_pools(const Experiment& experiment);

/// The contents of the file for this experiment.
std::string file_of_pools(const Experiment& experiment, const PoolBytes& pools);
/// Replaces the file as a whole. Throws std::system_error.
void keep_file_of_pools(const Experiment& experiment, const std::string& contents);
/// Removes what was kept by other rules, or is damaged.
void forget_old_pools(const Experiment& experiment);

}  // namespace refrain::experiment

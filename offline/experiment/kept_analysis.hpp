#pragma once
/// Results of a search, kept in the experiment once: a file `analysis-<hash of the key>.refrain`, which is written
/// under another name, then renamed, and never changed. docs/file-format.md has its layout.
///
/// The file has two parts, each with a checksum: metrics of call paths and locations, which every version reads, and
/// the other results, which the code that searches writes and reads (offline/report/found.hpp).

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/experiment/damage.hpp"

namespace refrain::experiment {

class Experiment;
class InputFile;

/// Increases when the same events would give other results, and when results are kept in another form.
inline constexpr std::uint32_t analysis_rules = 4;

struct AnalysisKey {
  std::uint32_t rules = analysis_rules;
  std::string parameters;   ///< those that differ from the defaults
  std::uint32_t level = 0;  ///< one in 2^level of the kept iterations was searched; 0: all events
  auto operator<=>(const AnalysisKey&) const = default;
};

/// Maximum of SavedMetric::ranks_in_block; a larger value is damage.
inline constexpr std::int32_t most_ranks_in_block = 1 << 21;

/// A metric found by a search, in seconds, over the whole run.
struct SavedMetric {
  struct Value {
    std::int64_t path = -1;  ///< index in the definitions; -1: none
    std::int32_t rank = 0, thread = 0;
    double seconds = 0;
  };
  struct OfLocation {
    std::int32_t rank = 0, thread = 0;
    double seconds = 0, error_s = 0;  ///< error_s below 0: not known
  };
  /// Joint error of the values of a block of ranks: 16 replicates (run::Replicates), in nanoseconds.
  struct Replicated {
    std::int64_t path = -1;  ///< as Value::path
    std::int32_t rank = 0;   ///< first rank of the block
    std::array<std::int64_t, 16> ns{};
  };
  std::string name, parent, help;
  bool is_sampled = false;  ///< an estimate from a part of the run
  std::vector<Value> values = {};
  std::vector<OfLocation> locations = {};
  std::vector<Replicated> replicates = {};  ///< of an estimate; where there are none, values are exact
  std::int32_t ranks_in_block = 0;          ///< of each replicate; 0: replicates were not kept
};

/// An analysis to be kept.
struct NewAnalysis {
  AnalysisKey key;
  std::string version;        ///< of the Refrain that searched
  std::uint64_t records = 0;  ///< number of event records searched
  std::vector<SavedMetric> metrics = {};
  std::string found = {};  ///< other results, as bytes; empty: only metrics were found
};

/// A kept analysis. The constructor reads its head; metrics() and found() read its parts and throw ReadError.
class KeptAnalysis {
 public:
  /// Throws ReadError, also when the file belongs to another experiment.
  KeptAnalysis(const std::filesystem::path& file, const Experiment& experiment,
               const std::shared_ptr<DamageLog>& damage);
  const AnalysisKey& key() const { return key_; }
  const std::string& version() const { return version_; }
  std::uint64_t records() const { return records_; }
  bool has_found() const { return found_.size > 0; }
  std::vector<SavedMetric> metrics() const;
  std::string found() const;
  [[noreturn]] void refuse(const char* what) const;

 private:
  struct Part {
    std::uint64_t offset = 0, size = 0, checksum = 0;
  };
  std::vector<std::byte> read(const Part& part) const;

  std::shared_ptr<const InputFile> file_;
  AnalysisKey key_;
  std::string version_;
  std::uint32_t version_of_file_ = 0;
  std::uint64_t records_ = 0;
  std::size_t paths_ = 0;  ///< number of call paths in the definitions
  Part metrics_, found_;
};

/// All readable analyses, the default first: current rules, then default parameters, then the one that has seen most.
/// Damage goes to the log of the experiment.
std::vector<KeptAnalysis> kept_analyses(const Experiment& experiment);

/// The kept analysis with this key; nothing when there is none or it cannot be read.
std::optional<KeptAnalysis> kept_analysis(const Experiment& experiment, const AnalysisKey& key);

/// Writes the analysis and replaces one with the same key as a whole. Throws std::system_error.
void keep(const Experiment& experiment, const NewAnalysis& analysis);

/// Removes analyses kept by other rules, unreadable ones, and the files of earlier versions.
void forget_old_analyses(const Experiment& experiment);

/// Version 0.1.0 kept only metrics, in this file.
inline constexpr const char* old_metrics_name = "metrics.json";
/// Throws ReadError.
std::vector<SavedMetric> parse_old_metrics(const InputFile& file, std::size_t paths);

}  // namespace refrain::experiment

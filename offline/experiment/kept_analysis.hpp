#pragma once
/// What a search of an experiment has found is kept in it, once: a file `analysis-<hash of the key>.refrain`, which is
/// written under another name and then renamed, and never changed. docs/file-format.md has its layout.
///
/// The file has two parts with a checksum each: metrics of call paths and locations, which every version reads, and the
/// rest of what was found, which those who search write and read (offline/report/found.hpp).

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

/// Rises when the same events would be told of differently, and when what is found is kept in another form.
inline constexpr std::uint32_t analysis_rules = 4;

struct AnalysisKey {
  std::uint32_t rules = analysis_rules;
  std::string parameters;   ///< that differ from the usual ones
  std::uint32_t level = 0;  ///< one of 2^level iterations of what was kept was searched; 0: all events
  auto operator<=>(const AnalysisKey&) const = default;
};

/// A metric that a search has found, in seconds, of the whole run.
struct SavedMetric {
  struct Value {
    std::int64_t path = -1;  ///< of the definitions; -1: none
    std::int32_t rank = 0, thread = 0;
    double seconds = 0;
  };
  struct OfLocation {
    std::int32_t rank = 0, thread = 0;
    double seconds = 0, error_s = 0;  ///< an error below 0 is not known
  };
  /// By how much values may be off together: 16 replicates (run::Replicates), nanoseconds, of a block of ranks.
  struct Replicated {
    std::int64_t path = -1;  ///< as of values
    std::int32_t rank = 0;   ///< the first of the block
    std::array<std::int64_t, 16> ns{};
  };
  std::string name, parent, help;
  bool is_sampled = false;  ///< an estimate from a part of the run
  std::vector<Value> values = {};
  std::vector<OfLocation> locations = {};
  std::vector<Replicated> replicates = {};  ///< of an estimate; where there are none values are exact
  std::int32_t ranks_in_block = 0;          ///< of replicates; 0: they were not kept
};

/// An analysis that is to be kept.
struct NewAnalysis {
  AnalysisKey key;
  std::string version;        ///< of the Refrain that has searched
  std::uint64_t records = 0;  ///< of events, that were searched
  std::vector<SavedMetric> metrics = {};
  std::string found = {};  ///< the rest, as bytes; empty: metrics are all that was found
};

/// An analysis that is kept. Its head was read; its parts are read when they are asked for, which throws ReadError.
class KeptAnalysis {
 public:
  /// Throws ReadError, also when it belongs to another experiment.
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
  std::size_t paths_ = 0;  ///< of the definitions
  Part metrics_, found_;
};

/// All that can be read, the default first: by the present rules, with the usual parameters, the one that has seen
/// most. What is damaged goes to the log of the experiment.
std::vector<KeptAnalysis> kept_analyses(const Experiment& experiment);

/// Nothing: none of this key is kept, or it cannot be read.
std::optional<KeptAnalysis> kept_analysis(const Experiment& experiment, const AnalysisKey& key);

/// Replaces one with the same key, as a whole. Throws std::system_error.
void keep(const Experiment& experiment, const NewAnalysis& analysis);

/// Removes what was kept by other rules, or cannot be read, and the files of earlier versions.
void forget_old_analyses(const Experiment& experiment);

/// Version 0.1.0 kept metrics alone, in this file.
inline constexpr const char* old_metrics_name = "metrics.json";
/// Throws ReadError.
std::vector<SavedMetric> parse_old_metrics(const InputFile& file, std::size_t paths);

}  // namespace refrain::experiment

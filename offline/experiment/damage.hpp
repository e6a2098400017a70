#pragma once
/// Keeps track of the parts of an experiment that could not be read. Damage is local: a damaged part is reported as
/// missing, and the rest is shown.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace refrain::experiment {

/// An error in an input file: "FILE: at byte N: WHAT". Nothing else is thrown for bad input.
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not damage: the file was written in a format that is too new for this Refrain.
class NewerFormatError : public ReadError {
 public:
  using ReadError::ReadError;
};

/// What the damage affects. Damaged events cost information about waiting, but no time of a call path.
enum class DamageTo : std::uint8_t { Experiment, Events };

/// Collects damage as it is found, which may be long after the experiment was opened. Thread-safe.
class DamageLog {
 public:
  /// `strict`: any damage is thrown as an error, for callers that want all or nothing.
  explicit DamageLog(bool strict = false) : strict_(strict) {}

  /// `cost`: what is missing as a result. Identical lines are kept and counted once. Throws ReadError when strict.
  void add(const std::string& error, const std::string& cost, DamageTo what = DamageTo::Experiment);
  /// The arguments of an add() that was put aside.
  struct Entry {
    DamageLog* log;
    std::string error, cost;
    DamageTo what;
  };
  /// Runs `run`, which must not throw. Returns what this thread meanwhile adds to any log instead of adding it.
  static std::vector<Entry> put_aside(const std::function<void()>& run);
  static void add(const std::vector<Entry>& entries);
  /// Runs `read` and adds a ReadError from it as damage, but lets a NewerFormatError pass. False: there was damage.
  template <class Read>
  bool survives(const std::string& cost, Read&& read, DamageTo what = DamageTo::Experiment) {
    try {
      read();
      return true;
    } catch (const NewerFormatError&) {
      throw;
    } catch (const ReadError& error) {
      add(error.what(), cost, what);
      return false;
    }
  }
  /// The first `most` lines, in the order in which the damage was found.
  std::vector<std::string> lines() const;
  std::size_t count() const;
  /// Whether any events read so far were damaged, in event files or in the profile.
  bool has_damaged_events() const;

  static constexpr std::size_t most = 100;  ///< maximum number of lines kept; all are counted

 private:
  const bool strict_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unordered_set<std::size_t> known_;  ///< hashes of all lines
  bool has_damaged_events_ = false;
};

}  // namespace refrain::experiment

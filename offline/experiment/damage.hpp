#pragma once
/// What of an experiment could not be read. Damage is local: it costs what it holds, is named, and the rest is shown.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace refrain::experiment {

/// What is wrong with which file and where in it: "FILE: at byte N: WHAT". Nothing but this is thrown for bad input.
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not damage: this Refrain is too old for what was written.
class NewerFormatError : public ReadError {
 public:
  using ReadError::ReadError;
};

/// Damaged events cost what they tell of waiting, and no time of a call path.
enum class DamageTo : std::uint8_t { Experiment, Events };

/// Collects damage as it is found, which may be long after the experiment was opened. Thread-safe.
class DamageLog {
 public:
  /// `strict`: damage is an error at once, for who wants all or nothing.
  explicit DamageLog(bool strict = false) : strict_(strict) {}

  /// `cost`: what is missing for that reason. The same line is kept, and counted, once. Throws ReadError when strict.
  void add(const std::string& error, const std::string& cost, DamageTo what = DamageTo::Experiment);
  /// What was to be added.
  struct Entry {
    DamageLog* log;
    std::string error, cost;
    DamageTo what;
  };
  /// Runs `run`, which throws nothing. What this thread adds meanwhile to any log is not added, but returned.
  static std::vector<Entry> put_aside(const std::function<void()>& run);
  static void add(const std::vector<Entry>& entries);
  /// Runs `read`; a ReadError in it is damage. False: there was one.
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
  /// In the order in which they were found: the first `most` of them.
  std::vector<std::string> lines() const;
  std::size_t count() const;
  /// Of events, as far as they were read: in files of their own, or in the profile.
  bool has_damaged_events() const;

  static constexpr std::size_t most = 100;  ///< lines that are kept; all are counted

 private:
  const bool strict_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unordered_set<std::size_t> known_;  ///< hashes of all lines
  bool has_damaged_events_ = false;
};

}  // namespace refrain::experiment

#pragma once
/// A run from another tool's profile, held in memory and filled in by the reader of that profile. It has the metrics
/// "wall", "mpi" and "user", in seconds; the kind of a node decides which of the last two its wall time is part of.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "offline/database/run_source.hpp"

namespace refrain::database {

class HeldRun : public RunSource {
 public:
  std::string digest() const override { return digest_; }
  void for_each_node(std::size_t location, const TakeNode& take) override;

 protected:
  static constexpr std::size_t wall = 0, mpi = 1, user = 2;  ///< indices of metrics

  /// `path`: the profile; the program is named after the directory of the profile.
  HeldRun(const std::string& path, const char* source);
  /// The node of this name below `parent` (-1: at the top), created when missing. Its kind follows from the name:
  /// "MPI_..." is a function of MPI, "(...)" is no function.
  std::uint32_t node_below(std::int32_t parent, const std::string& name);
  /// The same for a node whose kind is known.
  std::uint32_t node_below(std::int32_t parent, const std::string& name, run::PathKind kind, bool is_marked = false);
  std::size_t metric_of(const std::string& name, const char* unit);
  using Thread = std::pair<std::int64_t, std::int64_t>;  ///< rank and thread
  /// Adds to an exclusive value.
  void add(Thread thread, std::uint32_t node, std::size_t metric, double value);
  /// Nothing may be added afterwards.
  void finish();

  std::string digest_;  ///< of the files that the reader has read

 private:
  std::map<std::pair<std::int32_t, std::string>, std::uint32_t> known_;
  std::map<Thread, std::map<std::uint32_t, std::vector<double>>> values_;
  std::vector<const std::map<std::uint32_t, std::vector<double>>*> by_location_;
};

}  // namespace refrain::database

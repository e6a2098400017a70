#pragma once
/// A run of another tool's profile, all of which is in memory: what readers of such profiles fill in. Each has the
/// metrics "wall", "mpi" and "user", seconds; the last two are parts of the first, by the kind of the node.

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
  static constexpr std::size_t wall = 0, mpi = 1, user = 2;  ///< metrics

  /// `path`: of the profile; the run is called by the name of the directory that it is in.
  HeldRun(const std::string& path, const char* source);
  /// The node of this name below another one, -1: at the top; it is made when there is none. The functions of MPI are
  /// known by their names.
  std::uint32_t node_below(std::int32_t parent, const std::string& name);
  /// The same, where more is known of it than its name.
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

#pragma once
/// A hand-made run and the files that formats make of it.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <unistd.h>
#include <utility>

#include "offline/export/formats.hpp"

namespace refrain::exports::test {

/// Ranks 0 to 2, the last one with two threads; machines take turns, as some launchers place ranks.
///
///     main               1 s on each thread
///       a->b<int; "x">   0.25 s, 0.5 s in rank 1
///         MPI_Send       2 s, all of it in MPI, of which 0.5 s wait for late receivers; 3 visits, 24 bytes
///       MPI_Barrier      only in rank 0: 1 s
///     (refrain)          0.125 s
class MadeRun final : public Run {
 public:
  enum Node : std::uint32_t { Main, Inner, Send, Barrier, Own };
  enum Metric : std::size_t { Wall, InMpi, Visits, Bytes, Never, LateReceiver, metric_count };

  MadeRun() {
    facts_ = {"a.out", "Refrain test", 1'700'000'000'000'000'000, 3};
    nodes_ = {{RunNode::Function, -1, 4, "main"},
              {RunNode::Function, 0, 3, inner_name},
              {RunNode::Mpi, 1, 3, "MPI_Send"},
              {RunNode::Mpi, 0, 4, "MPI_Barrier"},
              {RunNode::Other, -1, 5, "(refrain)"}};
    locations_ = {{0, 0, "main", "red"}, {1, 0, "main", "blue"}, {2, 0, "main", "red"}, {2, 1, "helper <1>", "red"}};
    metrics_ = {{"wall", "s", -1, "wall time"},   {"mpi", "s", Wall, "time in MPI"},
                {"visits", "1", -1, "calls"},     {"bytes_sent", "B", -1, "bytes"},
                {"bytes_read", "B", -1, "bytes"}, {"late_receiver", "s", InMpi, "waiting"}};
  }

  /// Another name of the function that MPI_Send is called from.
  void call_inner(std::string name) { nodes_[Inner].name = std::move(name); }
  /// More than have written anything.
  void expect(std::int64_t processes) { facts_.processes = processes; }

  void for_each_node(std::size_t location, const TakeNode& take) override {
    const auto give = [&](std::uint32_t node, std::map<std::size_t, double> some) {
      std::vector<double> values(metric_count);
      for (const auto& [metric, value] : some) values[metric] = value;
      take(node, values);
    };
    give(Main, {{Wall, 1}});
    give(Inner, {{Wall, location == 1 ? 0.5 : 0.25}});
    give(Send, {{Wall, 2}, {InMpi, 2}, {Visits, 3}, {Bytes, 24}, {LateReceiver, 0.5}});
    if (location == 0) give(Barrier, {{Wall, 1}, {InMpi, 1}, {Visits, 1}});
    give(Own, {{Wall, 0.125}});
  }

  static constexpr const char* inner_name = "a->b<int; \"x\">";
  static constexpr double wall_s = 4 * (1 + 0.25 + 2 + 0.125) + 0.25 + 1;
};

/// A directory that goes away.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/refrain-export-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What the format makes of the run.
inline std::string written(const char* format, Run& run) {
  const Directory directory;
  OutputFile out(directory / "file");
  find_format(format)->write_run(run, out);
  out.finish();
  return contents_of(directory / "file");
}

}  // namespace refrain::exports::test

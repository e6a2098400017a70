#pragma once
/// A run as the explorer shows it, from any source; the sections of docs/explorer-format.md are written from it. Plain
/// tables; nothing here reads an experiment.
///
/// Values are exclusive on both axes: a call path excludes the call paths below it, and a metric excludes the metrics
/// below it (but see Metric::overlaps). Units are seconds, bytes and 1.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "offline/analysis/module_fold.hpp"
#include "offline/run/path_trie.hpp"

namespace refrain::explorer {

struct Metric {
  std::string name, title, unit;  ///< unit: "s", "B" or "1"
  int parent = -1;                ///< index of the parent, smaller than the own index; -1: a root
  std::string help, advice;
  bool overlaps = false;  ///< a part of its parent, whose value includes it; its own parts may overlap, too
  bool by_place = true;   ///< false: values are of all places together only
  enum Error : std::uint8_t {
    Exact,
    Samples,  ///< follows from the weights of samples
    Given     ///< comes with the values
  } error = Exact;
  bool of_run_only = false;  ///< not known for parts of loops
};

/// Time that samples divide. The `variance` of a thread is the square of its time divided by the effective number of
/// its samples, so a part p of the time has a variance of p (1 - p) times that; for several threads both are sums.
struct Samples {
  double seconds = 0, variance = 0;
};

/// Nodes are in preorder; node 0 is the root.
using Node = run::PathNode;

/// A thread, or several threads of neighbouring ranks. Places are in the order of machine, rank and thread.
struct Place {
  std::string host;
  std::int32_t rank = 0, thread = 0;
  std::int64_t locations = 1;  ///< number of threads that it stands for
  std::int32_t last_rank = 0;  ///< last rank of these threads, if larger than `rank`
  Samples samples;
};

/// The run, or a part of a loop. Times are means per iteration, over places.
struct Unit {
  enum Kind : std::uint8_t { Run, Class, Iteration } kind = Run;
  std::string name;
  std::int32_t loop = -1;
  std::int64_t count = 0, first = 0, last = 0;  ///< iterations
  double wall_s = 0, mpi_s = 0, user_s = 0;
  bool reconstructed = false;
  bool has_values = true;                                     ///< has values by call path
  bool by_place = true;                                       ///< has values by call path and place
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  ///< first and last iteration of each range
};

/// Values of one unit and metric by node, over all places; ascending by node. Extremes are over single threads, even
/// where threads share a place; a rank of -1 stands for threads without a value. Errors come from bounds and add up;
/// the errors of estimates from kept iterations are replicates (run::Replicates), a row each. Variances are those of
/// time that samples divide, computed within each thread (run::Stratum).
struct Sums {
  enum Kind : std::uint32_t {
    Values,
    Errors,
    Divided,  ///< sum over threads of the share of a thread's samples at the node times its Samples::variance
    Least,
    LeastRank,
    Greatest,
    GreatestRank,
    Replicate,
    OwnVariance,   ///< of the node by itself
    WholeVariance  ///< with all below it
  } kind = Values;
  std::uint32_t unit = 0, metric = 0;  ///< unit: for a replicate its number
  std::vector<std::uint32_t> nodes;
  std::vector<double> values;
};

/// Values of one unit, metric and node by place.
struct Cells {
  std::uint32_t unit = 0, metric = 0, node = 0;
  std::vector<float> values;
};

/// Curves over places, by bin; NaN: not known.
struct Curves {
  std::string metric;                          ///< of whole iterations; empty: of a call path
  std::string unit;                            ///< "s", "B" or "1"
  std::optional<std::uint32_t> node;           ///< the call path, with all below it
  std::int64_t width = 1;                      ///< iterations in a bin
  std::vector<float> least, median, greatest;  ///< of the mean in the bin
  std::vector<float> peak;                     ///< greatest single iteration
  std::int64_t places = 0;                     ///< number of places that were read
};

/// Places (rows) x iterations (columns), row by row; NaN: not known.
struct Map {
  std::string metric, unit;
  std::int64_t rows = 0, columns = 0, places_in_row = 1, width = 1;  ///< width: iterations in a column
  std::vector<float> mean, peak;                                     ///< peak: empty where it equals the mean
  unsigned code_step = 1;                                            ///< step to which codes are rounded (codes.hpp)
};

struct Loop {
  std::string name;
  std::uint32_t node = 0;
  std::int64_t iterations = 0;
  std::int64_t bins = 0, width = 1;    ///< width: iterations in a bin
  std::vector<std::uint32_t> classes;  ///< by bin: the unit of its most frequent class; 0: none
  std::vector<Curves> curves;
  std::vector<Map> maps;
  std::vector<std::pair<std::int32_t, std::int32_t>> locations;  ///< rank and thread, in the order of a map's rows
};

/// A finding, and what it is about.
struct Told {
  std::string rule, text;
  double share = 0, error = 0;  ///< of the elapsed time
  std::string metric = {};      ///< empty: any
  std::optional<std::uint32_t> node = {};
  std::vector<std::pair<std::int32_t, std::int32_t>> ranks = {};  ///< ranges, first and last
  std::optional<std::string> loop = {};
  std::optional<std::pair<std::int64_t, std::int64_t>> iterations = {};  ///< first and last
  std::optional<std::size_t> part_of = {};  ///< index of the finding whose cost includes this one
};

struct Property {
  std::string name, context;
  double severity = 0, confidence = 0;
  std::optional<std::uint32_t> node;
};

/// Efficiencies of the run or a loop, in the terms of POP.
struct EfficiencyTree {
  std::string loop;  ///< empty: the run
  std::string why;   ///< why serialisation and transfer are not known; empty: they are known
  struct Factor {
    std::string name, title;
    int depth = 0;                ///< in the tree of factors
    std::optional<double> value;  ///< nothing: not known
    double error = 0;             ///< 0: it is exact
  };
  std::vector<Factor> factors;
};

/// What is missing, in a sentence, and the view that says so: "overview", "trees", "iterations", "flame", "file".
struct Lack {
  std::string view, text;
};

struct Run {
  std::string name, source;
  std::int64_t ranks = 0;
  std::vector<std::pair<std::string, std::string>> facts;  ///< label and text
  std::vector<Lack> lacks;
  std::vector<Metric> metrics;
  std::vector<Node> nodes;
  std::vector<analysis::Runtime> runtimes;  ///< by node; empty: the runtimes of functions are not known
  std::vector<Place> places;
  std::vector<Unit> units{Unit{}};
  Samples samples;
  std::vector<Sums> sums;
  std::vector<Cells> cells;  ///< ascending by unit, metric and node
  std::vector<Loop> loops;
  std::vector<Told> findings;
  std::vector<Property> properties;
  std::vector<EfficiencyTree> efficiencies;  ///< the run first; empty for runs of one process
};

}  // namespace refrain::explorer

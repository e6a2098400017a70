#pragma once
/// A rank of a made-up long job, described by records as the runtime fills them. Its iterations go through the
/// runtime's own clusterer, log and store of samples, so that clusters, merges, slopes and the log agree as they do in
/// a real run.

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "measurement/iterations.hpp"
#include "record/compressor.hpp"
#include "record/rank_profile.hpp"

namespace refrain::testing {

struct JobSize {
  std::int32_t ranks = 0;
  int paths = 0;  ///< call paths with values of each thread
  int clusters = 0;
  std::int64_t iterations = 0;
  int threads = 1;
};

/// One thread: its call tree, and what it did in every iteration and outside of them.
class MadeUpThread {
 public:
  /// `variant` makes threads of one number differ: in their times, and in a few call paths.
  MadeUpThread(const JobSize& size, int variant, int thread);
  MadeUpThread(const MadeUpThread&) = delete;
  MadeUpThread& operator=(const MadeUpThread&) = delete;

  /// Lives through all iterations. Frames that the runtime would have moved to the file go to `spilled`.
  void run(platform::Bytes& spilled);
  /// Afterwards. It refers to this object.
  record::LocationRecord record();

 private:
  struct Call {
    std::uint32_t node;
    std::int64_t visits;
    double ticks;  ///< of an iteration of mean length
    std::int64_t bytes;
    bool sends, receives;
  };
  struct Work {
    std::uint32_t node;
    double up_to;  ///< sum of the shares of time up to this one
  };
  using Unit = format::UnitTotals;

  void make_tree();
  std::uint32_t node_below(std::uint32_t parent, record::NodeKind kind, std::uint64_t key);
  double length_of(std::int64_t iteration);
  void add_calls(double length, std::int64_t phase, Unit& unit);
  void add_samples(Unit& unit);
  Unit live_through(double length, std::int64_t phase);
  void live_outside();
  void spill(platform::Bytes& spilled);
  std::int64_t* new_row(std::uint32_t node, std::size_t columns);
  void add_cluster(std::uint32_t index);
  void add_slopes();

  JobSize size_;
  int variant_, thread_;
  std::mt19937_64 random_;
  std::vector<record::Node> nodes_;
  std::vector<Call> calls_;
  std::vector<Work> work_;
  double iteration_ticks_;
  double samples_due_ = 0;

  // Of the iteration in progress.
  std::vector<std::int64_t> node_values_;  ///< by node, each as wide as the widest kind
  std::vector<clustering::TouchedPath> touched_;

  measurement::Location* counted_at_;
  measurement::Iterations* iterations_ = nullptr;
  measurement::ClusteredLoop* loop_;
  record::Compressor compressor_;
  std::int64_t end_ = 0, mpi_calls_ = 0, samples_ = 0;

  // What the records refer to.
  std::vector<std::int64_t> numbers_;
  std::deque<std::vector<record::ValueRecord>> rows_;
  std::vector<record::UnitRecord> units_;
  std::vector<clustering::ClusterView> clusters_;
  std::vector<record::SlopeRecord> slopes_;
  std::vector<record::LoopRecord> loops_;
};

class MadeUpRank {
 public:
  MadeUpRank(const JobSize& size, int variant);

  /// Without what tells the process (describe_process()). It refers to this object.
  record::RankRecord record();
  /// Frames that stay in iterations-<rank>.refrain; else they are in the record.
  std::span<const std::byte> left_in_file() const;

 private:
  std::deque<MadeUpThread> threads_;
  std::vector<platform::Module> modules_;
  std::vector<record::LocationRecord> locations_;
  platform::Bytes spilled_;
};

/// When and where the process of a rank ran. `communicators` gets what the record refers to; `world` is 0, 1, ...
void describe_process(std::int32_t rank, std::span<const std::int32_t> world,
                      std::vector<record::CommunicatorRecord>& communicators, record::RankRecord& record);

}  // namespace refrain::testing

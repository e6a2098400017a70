#pragma once
/// A job whose ranks are threads of this process: messages travel through queues, receives time out.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "measurement/peers.hpp"
#include "platform/clock.hpp"
#include "record/writer.hpp"

namespace refrain::testing {

class ThreadJob {
 public:
  explicit ThreadJob(int size) {
    for (int rank = 0; rank < size; ++rank) ends_.push_back({this, rank});
  }

  measurement::Peers peers(int rank) {
    return {rank, static_cast<int>(ends_.size()), &ends_[static_cast<std::size_t>(rank)], &send, &receive};
  }

  /// Runs `body(rank)` on every rank that is not in `silent`, one thread each.
  void run(const std::function<void(int)>& body, const std::vector<int>& silent = {}) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(ends_.size()); ++rank)
      if (std::find(silent.begin(), silent.end(), rank) == silent.end()) threads.emplace_back(body, rank);
    for (auto& thread : threads) thread.join();
  }

  /// Makes the rank fail all its exchanges after `messages` more of them.
  void break_after(int rank, int messages) { ends_[static_cast<std::size_t>(rank)].left = messages; }

 private:
  struct End {
    ThreadJob* job;
    int rank;
    int left = 1'000'000;
  };

  static bool send(void* state, int peer, platform::Bytes& data, std::int64_t) {
    End& end = *static_cast<End*>(state);
    if (end.left-- <= 0) return false;
    std::lock_guard lock(end.job->mutex_);
    end.job->queues_[{end.rank, peer}].emplace_back(data.begin(), data.end());
    end.job->arrived_.notify_all();
    return true;
  }

  static bool receive(void* state, int peer, platform::Bytes& out, std::int64_t deadline) {
    End& end = *static_cast<End*>(state);
    if (end.left-- <= 0) return false;
    std::unique_lock lock(end.job->mutex_);
    auto& queue = end.job->queues_[{peer, end.rank}];
    const auto left = std::chrono::nanoseconds(deadline - platform::monotonic_ns());
    if (!end.job->arrived_.wait_for(lock, left, [&] { return !queue.empty(); })) return false;
    const std::vector<std::byte> message = std::move(queue.front());
    queue.pop_front();
    return out.append(message.data(), message.size());
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> queues_;
  std::vector<End> ends_;
};

inline std::int64_t seconds_from_now(double seconds) {
  return platform::monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

/// The profile that ranks 0 to ranks - 1 write together; `sample_of(rank)` is the data of each. False: a rank reports
/// that it has not written.
template <class SampleOf>
bool write_job(const std::string& directory, int ranks, SampleOf sample_of) {
  ThreadJob job(ranks);
  std::atomic<bool> all_written = true;
  job.run([&](int rank) {
    auto sample = sample_of(rank);
    if (!record::write_profile(sample.record(), job.peers(rank), directory.c_str(), seconds_from_now(60)).written)
      all_written = false;
  });
  return all_written;
}

}  // namespace refrain::testing

#include "offline/experiment/rank_pass.hpp"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace refrain::experiment {
namespace {

unsigned threads_for_reading() {
  constexpr unsigned usual = 8, most = 256;
  unsigned threads = 0;
  if (const char* text = std::getenv(threads_variable)) std::from_chars(text, text + std::strlen(text), threads);
  if (threads == 0) threads = std::min(std::thread::hardware_concurrency(), usual);
  return std::clamp(threads, 1U, most);
}

/// Reads ranks before they are asked for.
class ReadAhead {
 public:
  ReadAhead(const Experiment& experiment, std::span<const std::size_t> places, Depth depth, unsigned threads)
      : experiment_(experiment), places_(places), depth_(depth), slots_(slots_of_thread * threads) {
    threads_.reserve(threads);
    try {
      for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // as many as there can be
    }
  }
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// As often as there are places.
  RankHandle next() {
    if (threads_.empty()) return experiment_.rank(places_[taken_++], depth_);
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.is_read; });
    const Slot read = std::exchange(slot, {});
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    DamageLog::add(read.damage);
    if (read.error) std::rethrow_exception(read.error);
    return read.rank;
  }

 private:
  /// Enough that threads seldom wait for each other.
  static constexpr std::size_t slots_of_thread = 8;
  /// Of one place.
  struct Slot {
    bool is_read = false;
    RankHandle rank;
    std::vector<DamageLog::Entry> damage;
    std::exception_ptr error;
  };

  Slot read(std::size_t place) const {
    Slot slot{.is_read = true};
    slot.damage = DamageLog::put_aside([&] {
      try {
        slot.rank = experiment_.rank(place, depth_);
      } catch (...) {
        slot.error = std::current_exception();
      }
    });
    return slot;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_over_ || begun_ == places_.size() || begun_ < taken_ + slots_.size(); });
      if (is_over_ || begun_ == places_.size()) return;
      const std::size_t number = begun_++;
      lock.unlock();
      Slot slot = read(places_[number]);
      lock.lock();
      slots_[number % slots_.size()] = std::move(slot);
      changed_.notify_all();
    }
  }

  const Experiment& experiment_;
  const std::span<const std::size_t> places_;
  const Depth depth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;            ///< each place at its number modulo so many
  std::size_t begun_ = 0, taken_ = 0;  ///< numbers of places
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

void for_each_rank(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   const std::function<void(const RankHandle& rank)>& use) {
  constexpr std::size_t worth_a_thread = 16;
  // What is in clusters takes much memory.
  const bool is_worth_it = depth != Depth::Whole && places.size() >= worth_a_thread;
  const unsigned threads = is_worth_it ? threads_for_reading() : 1;
  ReadAhead ahead(experiment, places, depth, threads - 1);
  for (std::size_t i = 0; i < places.size(); ++i) use(ahead.next());
}

void for_each_rank(const Experiment& experiment, const std::function<bool(std::int32_t rank)>& wanted, Depth depth,
                   const std::function<void(const Rank& rank)>& use) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place)
    if (!wanted || wanted(experiment.ranks()[place])) places.push_back(place);
  for_each_rank(experiment, places, depth, [&](const RankHandle& rank) {
    if (rank) use(*rank);
  });
}

}  // namespace refrain::experiment

#include "offline/experiment/rank_pass.hpp"

#include <algorithm>
#include <atomic>
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

constexpr std::size_t worth_a_thread = 16;  ///< minimum number of ranks

using Make = std::function<std::any(const RankHandle& rank)>;

/// Reads ranks ahead and calls `make` with each.
class MakeAhead {
 public:
  /// `make` must outlive it.
  MakeAhead(const Experiment& experiment, std::span<const std::size_t> places, Depth depth, const Make& make,
            unsigned threads)
      : experiment_(experiment), places_(places), depth_(depth), make_(make), slots_(slots_of_thread * threads) {
    threads_.reserve(threads);
    try {
      for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // continue with fewer threads
    }
  }
  ~MakeAhead() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  MakeAhead(const MakeAhead&) = delete;
  MakeAhead& operator=(const MakeAhead&) = delete;

  /// The result for the next place. To be called once for each place.
  std::any next() {
    if (threads_.empty()) return make_(experiment_.rank(places_[taken_++], depth_));
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    is_waited_for_ = true;
    changed_.wait(lock, [&] { return slot.is_made; });
    is_waited_for_ = false;
    Slot read = std::exchange(slot, {});
    ++taken_;
    if (waiting_ > 0 && begun_ < taken_ + slots_.size() / 2) changed_.notify_all();
    lock.unlock();
    DamageLog::add(read.damage);
    if (read.error) std::rethrow_exception(read.error);
    return std::move(read.made);
  }

 private:
  /// Enough that threads seldom wait for each other.
  static constexpr std::size_t slots_of_thread = 8;
  /// The result for one place.
  struct Slot {
    bool is_made = false;
    std::any made;
    std::vector<DamageLog::Entry> damage;
    std::exception_ptr error;
  };

  Slot read(std::size_t place) const {
    Slot slot;
    slot.is_made = true;
    slot.damage = DamageLog::put_aside([&] {
      try {
        slot.made = make_(experiment_.rank(place, depth_));
      } catch (...) {
        slot.error = std::current_exception();
      }
    });
    return slot;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto may_go_on = [&](std::size_t most_ahead) {
        return is_over_ || begun_ == places_.size() || begun_ < taken_ + most_ahead;
      };
      // A thread that had to wait goes on when half of the slots are free: waking it takes longer than reading a rank.
      if (!may_go_on(slots_.size())) {
        ++waiting_;
        changed_.wait(lock, [&] { return may_go_on(slots_.size() / 2); });
        --waiting_;
      }
      if (is_over_ || begun_ == places_.size()) return;
      const std::size_t number = begun_++;
      lock.unlock();
      Slot slot = read(places_[number]);
      lock.lock();
      slots_[number % slots_.size()] = std::move(slot);
      if (is_waited_for_) changed_.notify_all();
    }
  }

  const Experiment& experiment_;
  const std::span<const std::size_t> places_;
  const Depth depth_;
  const Make& make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;            ///< place number n uses slot n modulo the number of slots
  std::size_t begun_ = 0, taken_ = 0;  ///< numbers of places that were begun, and taken by next()
  unsigned waiting_ = 0;               ///< threads that cannot read further ahead
  bool is_waited_for_ = false;         ///< next() waits for a slot
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

unsigned threads_for_reading() {
  constexpr unsigned usual = 8, most = 256;
  unsigned threads = 0;
  if (const char* text = std::getenv(threads_variable)) std::from_chars(text, text + std::strlen(text), threads);
  if (threads == 0) threads = std::min(std::thread::hardware_concurrency(), usual);
  return std::clamp(threads, 1U, most);
}

void for_each_in_threads(std::size_t count, unsigned threads, const std::function<void(std::size_t number)>& work) {
  if (threads < 2 || count < 2) {
    for (std::size_t number = 0; number < count; ++number) work(number);
    return;
  }
  struct Done {
    std::vector<DamageLog::Entry> damage;
    std::exception_ptr error;
  };
  std::vector<Done> all(count);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto work_on = [&] {
    for (std::size_t number; !has_failed && (number = next++) < count;)
      all[number].damage = DamageLog::put_aside([&] {
        try {
          work(number);
        } catch (...) {
          all[number].error = std::current_exception();
          has_failed = true;
        }
      });
  };
  {
    std::vector<std::jthread> others;
    try {
      for (unsigned i = 1; i < threads && i < count; ++i) others.emplace_back(work_on);
    } catch (const std::system_error&) {  // continue with fewer threads
    }
    work_on();
  }
  for (const Done& of : all) {
    DamageLog::add(of.damage);
    if (of.error) std::rethrow_exception(of.error);
  }
}

void for_each_rank(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   const std::function<void(const RankHandle& rank)>& use) {
  // The values of clusters take much memory.
  const unsigned threads = depth != Depth::Whole && places.size() >= worth_a_thread ? threads_for_reading() : 1;
  const Make make = [](const RankHandle& rank) { return std::any(rank); };
  MakeAhead ahead(experiment, places, depth, make, threads - 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::any made = ahead.next();
    use(std::any_cast<const RankHandle&>(made));
  }
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

void for_each_made(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   std::size_t most_threads, const Make& make, const std::function<void(std::any made)>& use) {
  const std::size_t threads =
      places.size() >= worth_a_thread ? std::min<std::size_t>(threads_for_reading(), most_threads) : 1;
  if (depth == Depth::Whole) static_cast<void>(experiment.pools());  // log damage of the pools first
  MakeAhead ahead(experiment, places, depth, make, threads > 1 ? static_cast<unsigned>(threads) : 0);
  for (std::size_t i = 0; i < places.size(); ++i) use(ahead.next());
}

}  // namespace refrain::experiment

#pragma once
/// Values that are made on several threads before they are asked for, one for each of the numbers from 0 on. They are
/// handed out in this order, and so is what was found to be damaged while they were made: threads change nothing.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "offline/experiment/damage.hpp"

namespace refrain::experiment {

/// As REFRAIN_THREADS says (rank_pass.hpp), or else as there are cores, 8 at most.
unsigned threads_for_reading();

template <class T>
class MadeAhead {
 public:
  /// Memory: two values for each of the `threads`. 0: a value is made by the caller's thread when it is asked for.
  MadeAhead(std::size_t count, unsigned threads, std::function<T(std::size_t number)> make)
      : make_(std::move(make)), count_(count), slots_(std::size_t{2} * threads) {
    threads_.reserve(threads);
    try {
      for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // as many as there can be
    }
  }
  ~MadeAhead() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  MadeAhead(const MadeAhead&) = delete;
  MadeAhead& operator=(const MadeAhead&) = delete;

  /// As often as there are values. Throws what has ended the making of this one.
  T next() {
    if (threads_.empty()) return make_(taken_++);
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return slot.is_made; });
    Slot made = std::exchange(slot, {});
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    DamageLog::add(made.damage);
    if (made.error) std::rethrow_exception(made.error);
    return std::move(made.value);
  }

 private:
  /// Of one number.
  struct Slot {
    bool is_made = false;
    T value{};
    std::vector<DamageLog::Entry> damage;
    std::exception_ptr error;
  };

  Slot make(std::size_t number) const {
    Slot slot{.is_made = true};
    slot.damage = DamageLog::put_aside([&] {
      try {
        slot.value = make_(number);
      } catch (...) {
        slot.error = std::current_exception();
      }
    });
    return slot;
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_over_ || begun_ == count_ || begun_ < taken_ + slots_.size(); });
      if (is_over_ || begun_ == count_) return;
      const std::size_t number = begun_++;
      lock.unlock();
      Slot slot = make(number);
      lock.lock();
      slots_[number % slots_.size()] = std::move(slot);
      changed_.notify_all();
    }
  }

  const std::function<T(std::size_t)> make_;
  const std::size_t count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;            ///< each number at its place modulo so many
  std::size_t begun_ = 0, taken_ = 0;  ///< numbers
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace refrain::experiment

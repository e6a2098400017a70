#pragma once
/// Events that a thread makes from what is read while the user of a reader looks at those before.
///
/// The order of events, of damage and of errors is that of a reader that does all by itself. Memory: two to 512 blocks
/// of 64 events of each location, eight megabytes where that is more than two blocks of each.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "offline/experiment/damage.hpp"
#include "offline/trace/event_source.hpp"

namespace refrain::trace {

class ReadAhead {
 public:
  /// Where there can be no other thread events are made when they are asked for.
  explicit ReadAhead(std::vector<std::unique_ptr<EventSource>> sources);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// What to read in their place, one for each; they must not outlive this object.
  std::vector<std::unique_ptr<EventSource>> take_sources();

 private:
  class Source;
  struct Block {
    std::vector<Event> events;
    std::size_t count = 0;  ///< 0: there are no more
    std::vector<experiment::DamageLog::Entry> damage;
    std::exception_ptr error;
  };
  using Blocks = std::vector<Block>;  ///< that follow each other: what is handed over at a time
  struct Ring {
    std::unique_ptr<EventSource> source;
    std::deque<Blocks> made;   ///< in their order
    std::vector<Blocks> free;  ///< memory for further ones
    bool is_over = false;      ///< the last ones are made
    // The reader's own.
    Blocks taken;
    std::size_t next = 0;  ///< of these
    bool is_told = false;
  };

  static void make(EventSource& source, Block& block);
  void work();
  void take(std::size_t source);
  /// Replaces `events` by the next ones of the source, as many as are returned.
  std::size_t next(std::size_t source, std::vector<Event>& events);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Ring> rings_;
  std::deque<std::size_t> wanted_;  ///< sources that have room for blocks, in the order in which it became free
  std::size_t enough_wanted_;       ///< for a thread that waits to go on
  bool is_waited_for_ = false, waits_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace refrain::trace

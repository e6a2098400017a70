#pragma once
/// The events of one location in chronological order, whatever their source. They are made in batches.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "offline/trace/event.hpp"

namespace refrain::trace {

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  /// The next event; null: there is none. No event is earlier than the one before. Valid until the next call.
  const Event* next() {
    if (next_ == count_ && !make_some_more()) [[unlikely]]
      return nullptr;
    return &events_[next_++];
  }

 protected:
  /// Appends events. Adding none means that there are no more.
  virtual void make_some() = 0;
  /// Adds an event, whose fields are left over from an earlier one. It moves when another one is added.
  Event& add() {
    Event& event = place(0);
    ++count_;
    return event;
  }
  /// The n-th event, from 0, of those that will be added from now on. Calls for further ones may move it.
  Event& place(std::size_t n) {
    if (count_ + n >= events_.size()) [[unlikely]]
      events_.resize(2 * (count_ + n) + 64);
    return events_[count_ + n];
  }
  /// Adds the events in the next `added` places.
  void add_placed(std::size_t added) { count_ += added; }
  std::size_t count() const { return count_; }
  /// Removes the events after the first `count`.
  void keep(std::size_t count) { count_ = count; }
  Event& at(std::size_t place) { return events_[place]; }

 private:
  bool make_some_more() {
    next_ = count_ = 0;
    make_some();
    return count_ > 0;
  }
  std::vector<Event> events_;  ///< those from next_ to count_ are ready
  std::size_t next_ = 0, count_ = 0;
};

}  // namespace refrain::trace

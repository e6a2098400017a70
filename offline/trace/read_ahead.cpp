#include "offline/trace/read_ahead.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace refrain::trace {

class ReadAhead::Source final : public EventSource {
 public:
  Source(ReadAhead& all, std::size_t number) : all_(all), number_(number) {}

 private:
  void make_some() override {
    take_all([this](std::vector<Event>& events) { return all_.next(number_, events); });
  }

  ReadAhead& all_;
  std::size_t number_;
};

ReadAhead::ReadAhead(std::vector<std::unique_ptr<EventSource>> sources) : rings_(sources.size()) {
  constexpr std::size_t bytes = std::size_t{8} << 20, bytes_of_block = EventSource::usual_block * sizeof(Event);
  const std::size_t blocks =
      std::clamp<std::size_t>(bytes / bytes_of_block / std::max<std::size_t>(sources.size(), 1), 2, 512);
  const std::size_t at_a_time = std::clamp<std::size_t>(blocks / 4, 1, 8);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    rings_[i].source = std::move(sources[i]);
    rings_[i].free.assign(blocks / at_a_time, Blocks(at_a_time));
  }
  for (std::size_t turn = 0; turn < blocks / at_a_time; ++turn)
    for (std::size_t i = 0; i < rings_.size(); ++i) wanted_.push_back(i);
  enough_wanted_ = (wanted_.size() + 1) / 2;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // as many as there can be
  }
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<std::unique_ptr<EventSource>> ReadAhead::take_sources() {
  std::vector<std::unique_ptr<EventSource>> sources;
  for (std::size_t i = 0; i < rings_.size(); ++i) sources.push_back(std::make_unique<Source>(*this, i));
  return sources;
}

void ReadAhead::make(EventSource& source, Block& block) {
  block.count = 0;
  block.damage = experiment::DamageLog::put_aside([&] {
    try {
      block.count = source.make_block(block.events);
    } catch (...) {
      block.error = std::current_exception();
    }
  });
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (wanted_.empty() && !ends_) {
      // To be woken takes as long as to make some events.
      waits_ = true;
      changed_.wait(lock,
                    [&] { return ends_ || wanted_.size() >= enough_wanted_ || (is_waited_for_ && !wanted_.empty()); });
      waits_ = false;
    }
    if (ends_) return;
    Ring& ring = rings_[wanted_.front()];
    wanted_.pop_front();
    if (ring.is_over) continue;
    Blocks blocks = std::move(ring.free.back());
    ring.free.pop_back();
    lock.unlock();
    bool is_over = false;
    for (Block& block : blocks) {
      if (is_over) break;
      make(*ring.source, block);
      is_over = block.count == 0;
    }
    lock.lock();
    ring.is_over = is_over;
    ring.made.push_back(std::move(blocks));
    if (is_waited_for_) changed_.notify_all();
  }
}

/// The next blocks, in place of those that were told.
void ReadAhead::take(std::size_t source) {
  Ring& ring = rings_[source];
  std::unique_lock lock(mutex_);
  if (ring.made.empty()) {
    is_waited_for_ = true;
    if (waits_) changed_.notify_all();
    changed_.wait(lock, [&] { return !ring.made.empty(); });
    is_waited_for_ = false;
  }
  const bool is_first = ring.taken.empty();
  std::swap(ring.taken, ring.made.front());
  ring.next = 0;
  if (!is_first) {
    ring.free.push_back(std::move(ring.made.front()));
    wanted_.push_back(source);
    if (waits_ && wanted_.size() >= enough_wanted_) changed_.notify_all();
  }
  ring.made.pop_front();
}

std::size_t ReadAhead::next(std::size_t source, std::vector<Event>& events) {
  Ring& ring = rings_[source];
  if (ring.is_told) return 0;
  if (!thread_.joinable()) {
    ring.taken.resize(1);
    ring.next = 0;
    make(*ring.source, ring.taken[0]);
  } else if (ring.next == ring.taken.size()) {
    take(source);
  }
  Block& block = ring.taken[ring.next++];
  ring.is_told = block.count == 0;
  experiment::DamageLog::add(block.damage);
  if (block.error) std::rethrow_exception(block.error);
  events.swap(block.events);
  return block.count;
}

}  // namespace refrain::trace

#include "offline/trace/read_ahead.hpp"

#include <gtest/gtest.h>
#include <stdexcept>

namespace refrain::trace {
namespace {

/// Tells events 0, 1, ... of its location; one in a thousand is damaged, the one at `fails_at` ends them.
class Counting final : public EventSource {
 public:
  Counting(std::uint32_t location, std::int64_t events, experiment::DamageLog* damage = nullptr,
           std::int64_t fails_at = -1)
      : location_(location), events_(events), damage_(damage), fails_at_(fails_at) {}

 private:
  void make_some() override {
    for (; count() < usual_block && made_ < events_; ++made_) {
      if (made_ == fails_at_) throw std::runtime_error("no further");
      if (damage_ && made_ % 1000 == 0) damage_->add("location " + std::to_string(location_), std::to_string(made_));
      Event& event = add();
      event.location = location_;
      event.time_ns = made_;
      event.record.value = made_ * made_;
    }
  }
  std::uint32_t location_;
  std::int64_t events_, made_ = 0;
  experiment::DamageLog* damage_;
  std::int64_t fails_at_;
};

using Sources = std::vector<std::unique_ptr<EventSource>>;

/// Locations with 0, 977, 2 x 977, ... events.
Sources counting(std::uint32_t locations, experiment::DamageLog* damage = nullptr) {
  Sources sources;
  for (std::uint32_t i = 0; i < locations; ++i) sources.push_back(std::make_unique<Counting>(i, 977 * i, damage));
  return sources;
}

/// Takes some events of each source in turn, more of later ones, and returns what it has seen.
std::vector<std::int64_t> told(const Sources& sources) {
  std::vector<std::int64_t> seen;
  for (std::size_t open = sources.size(); open > 0;) {
    open = 0;
    for (std::size_t i = 0; i < sources.size(); ++i)
      for (std::size_t n = 0; n <= 37 * i; ++n) {
        const Event* event = sources[i]->next();
        if (!event) break;
        open = sources.size();
        seen.push_back(event->location * 1'000'000'000 + event->record.value - event->time_ns);
      }
  }
  return seen;
}

TEST(ReadAhead, tells_what_the_sources_tell) {
  for (const std::uint32_t locations : {1U, 2U, 16U, 40U}) {
    const std::vector<std::int64_t> expected = told(counting(locations));
    ReadAhead ahead(counting(locations));
    EXPECT_EQ(expected, told(ahead.take_sources())) << locations;
  }
}

TEST(ReadAhead, damage_is_told_in_the_order_in_which_events_are_taken) {
  experiment::DamageLog alone, ahead_of;
  (void)told(counting(16, &alone));
  ReadAhead ahead(counting(16, &ahead_of));
  (void)told(ahead.take_sources());
  EXPECT_LT(16U, alone.count());
  EXPECT_EQ(alone.lines(), ahead_of.lines());
}

TEST(ReadAhead, source_that_fails_does_so_where_its_events_would_be_told_and_the_others_go_on) {
  Sources sources = counting(3);
  sources.push_back(std::make_unique<Counting>(3, 100'000, nullptr, 50'000));
  ReadAhead ahead(std::move(sources));
  const Sources instead = ahead.take_sources();
  std::int64_t told = 0;
  EXPECT_THROW(while (instead[3]->next())++ told, std::runtime_error);
  EXPECT_LE(49'000, told);
  EXPECT_GE(50'000, told);
  EXPECT_EQ(nullptr, instead[3]->next());
  for (told = 0; instead[2]->next();) ++told;
  EXPECT_EQ(2 * 977, told);
}

TEST(ReadAhead, can_be_left_at_any_time) {
  for (std::int64_t taken = 0; taken < 5000; taken += 250) {
    ReadAhead ahead(counting(5));
    const Sources instead = ahead.take_sources();
    for (std::int64_t i = 0; i < taken; ++i) (void)instead[4]->next();
  }
}

}  // namespace
}  // namespace refrain::trace

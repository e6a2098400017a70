// The record of a finding: its sentence, how findings are parts of each other, and how it is stored.
#include <algorithm>
#include <gtest/gtest.h>

#include "offline/findings/record.hpp"
#include "offline/findings/sentence.hpp"

namespace refrain::findings {
namespace {

TEST(IsCertain, what_is_within_three_standard_errors_is_not) {
  EXPECT_TRUE(is_certain({.share = 0.10, .error = 0.03}));
  EXPECT_FALSE(is_certain({.share = 0.10, .error = 0.04}));
  EXPECT_TRUE(is_certain({.share = 0.10, .error = -1}));  // not known: "about"
}

TEST(Rules, have_names_and_say_what_they_find) {
  std::vector<std::string> names;
  for (const Rule& rule : rules()) {
    EXPECT_GT(std::string(rule.help).size(), 20u);
    EXPECT_EQ(std::ranges::find(names, rule.id), names.end());
    names.emplace_back(rule.id);
    EXPECT_GT(sentence_of({.rule = rule.id}).size(), 10u) << "a record without anything has a sentence, too";
  }
  EXPECT_EQ("ranks wait for others", sentence_of({.rule = "of_a_plugin"}));
}

TEST(LineOfFinding, has_share_and_error) {
  EXPECT_EQ("12.3 +- 0.4 % of the time: user code was blocked (sleep, locks, files or page faults)",
            line_of({.rule = "blocked", .share = 0.123, .error = 0.004}));
  EXPECT_EQ("12.3 %", share_text({.share = 0.123}));
  EXPECT_EQ("about 10.0 %", share_text({.share = 0.10, .error = -1}));
  EXPECT_EQ("user code was blocked, mostly on rank 3 (sleep, locks, files or page faults)",
            line_of({.rule = "blocked", .ranks = Ranks({3})}));
  EXPECT_EQ("5.0 % of the time: no call path is known of this part of all threads' time: a, b",
            line_of({.rule = "unseen", .share = 0.05, .names = {"a", "b"}}));
}

/// Of a call path that some ranks wait in.
Finding waiting_in(const std::string& function, double share, std::vector<std::int32_t> because_of) {
  return {.rule = "late_sender",
          .share = share,
          .error = 0.01,
          .paths = {{"main", function, "MPI_Recv"}, {"main", "other", "MPI_Wait"}},
          .cause = {.path = {"main", "smooth"}, .is_user = true, .ranks = Ranks(std::move(because_of)), .share = 0.78},
          .method = "sampled"};
}

TEST(SentenceOfFinding, tells_who_waits_where_and_why) {
  Finding of = waiting_in("exchange", 0.5, {0, 1, 2, 3, 7});
  EXPECT_EQ(
      "ranks wait in exchange > MPI_Recv and 1 more call path for late senders; 78 % of it because of main > "
      "smooth on ranks 0-3, 7",
      sentence_of(of));
  of.paths.resize(1);
  of.ranks = Ranks({2});
  of.cause = {.is_many = true};
  EXPECT_EQ("rank 2 waits in exchange > MPI_Recv for late senders; many causes", sentence_of(of));
  of.cause = {.path = {"main", "write"}, .is_user = true, .off_cpu = OffCpu::Blocked};
  EXPECT_EQ(
      "rank 2 waits in exchange > MPI_Recv for late senders; because of main > write and time spent blocked "
      "(sleep, locks or files)",
      sentence_of(of));
  of.cause = {.path = {"main", "MPI_Reduce"}, .off_cpu = OffCpu::Unknown};
  EXPECT_EQ("rank 2 waits in exchange > MPI_Recv for late senders; because of time not on a CPU in main > MPI_Reduce",
            sentence_of(of));
  of.cause = {};
  of.method = "minimum";
  EXPECT_EQ("rank 2 waits in exchange > MPI_Recv for late senders, as durations of calls tell", sentence_of(of));
}

TEST(Relate, what_others_wait_for_is_a_part_of_their_waiting) {
  std::vector<Finding> all{{.rule = "moving_hot_spot",
                            .share = 0.4,
                            .ranks = Ranks({0, 1}),
                            .iterations = Iterations{.loop = "step", .of = 100, .last = 99},
                            .cause = {.path = {"main", "step", "smooth"}, .is_user = true}},
                           waiting_in("exchange", 0.5, {0, 1}),
                           waiting_in("other", 0.3, {5}),
                           {.rule = "blocked", .share = 0.2}};
  relate(all);
  EXPECT_EQ("late_sender", all[0].rule);
  EXPECT_FALSE(all[0].part_of);
  EXPECT_TRUE(all[0].cause.is_in_turn);
  EXPECT_EQ(std::optional<std::size_t>(0), all[1].part_of);
  EXPECT_FALSE(all[2].part_of) << "another rank has caused it";
  EXPECT_FALSE(all[3].part_of);
}

TEST(SameKind, is_by_rule_and_place_whatever_the_figures) {
  const Finding one = waiting_in("exchange", 0.5, {0});
  EXPECT_TRUE(is_same_kind(one, waiting_in("exchange", 0.2, {1})));
  EXPECT_FALSE(is_same_kind(one, waiting_in("halo", 0.5, {0})));
  const Finding late{.rule = "late_rank", .share = 0.1, .ranks = Ranks({3}), .figures = {{Figure::Mean, 2}}};
  Finding other = late;
  other.figures[Figure::Mean] = 3;
  EXPECT_TRUE(is_same_kind(late, other));
  other.ranks = Ranks({4});
  EXPECT_FALSE(is_same_kind(late, other));
}

std::string stored(const Finding& of) {
  experiment::Packer packer;
  packer(of);
  return packer.bytes();
}

std::optional<Finding> read(const std::string& bytes) {
  experiment::Unpacker unpacker(std::as_bytes(std::span(bytes)));
  Finding of;
  unpacker(of);
  return unpacker.is_good() ? std::optional(of) : std::nullopt;
}

TEST(RecordOfFinding, is_read_as_it_was_written) {
  Finding of = waiting_in("f(int)", 1.0 / 3, {0, 1, 2});
  of.ranks = Ranks({5, 9});
  of.iterations = Iterations{.loop = "step", .of = 100, .first = 3, .last = 99, .count = 2, .numbers = {3, 99}};
  of.cause.parts = {{"a", 0.5}, {"b", 0.25}};
  of.cause.off_cpu = OffCpu::Either;
  of.figures = {{Figure::Mean, 0.1}, {Figure::Measured, 1e-9}};
  of.cores = analysis::SharedCores{"node1", 4, 0, 2, 1.5};
  of.names = {"x", ""};
  of.part_of = 3;
  const std::string bytes = stored(of);
  const auto again = read(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(sentence_of(of), sentence_of(*again));
  EXPECT_EQ(bytes, stored(*again));
  EXPECT_EQ(of.share, again->share);
  EXPECT_EQ(of.part_of, again->part_of);
  EXPECT_EQ(stored({}), stored(read(stored({})).value()));
}

TEST(RecordOfFinding, what_is_no_record_is_none) {
  const std::string bytes = stored(waiting_in("f", 0.5, {0}));
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read(bytes.substr(0, size))) << size;
}

TEST(RecordOfFinding, numbers_that_stand_for_nothing_are_not_sound) {
  std::vector<Finding> all(2);
  EXPECT_TRUE(are_sound(all));
  all[0].part_of = 1;
  EXPECT_TRUE(are_sound(all));
  all[0].part_of = 2;
  EXPECT_FALSE(are_sound(all));
  all[0] = {.figures = {{static_cast<Figure>(figure_names().size()), 1}}};
  EXPECT_FALSE(are_sound(all));
  all[0] = {.cause = {.off_cpu = static_cast<OffCpu>(99)}};
  EXPECT_FALSE(are_sound(all));
}

TEST(RanksOfFinding, are_ranges) {
  EXPECT_EQ("", Ranks().text());
  EXPECT_EQ("0, 1, 4-6, 9", Ranks({9, 5, 4, 6, 1, 0, 5}).text());
  EXPECT_EQ(6, Ranks({9, 5, 4, 6, 1, 0, 5}).count());
  EXPECT_TRUE(Ranks({1, 2}).overlaps(Ranks({2, 3})));
  EXPECT_FALSE(Ranks({1, 3}).overlaps(Ranks({2, 4})));
}

}  // namespace
}  // namespace refrain::findings

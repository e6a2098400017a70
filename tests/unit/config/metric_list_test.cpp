#include "config/metric_list.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "config/near_names.hpp"

namespace refrain::config {
namespace {

std::vector<std::string> names_in(const std::string& text) {
  const MetricList list = parse_metric_list(text);
  if (!list.good) return {"(bad)"};
  return {list.name, list.name + list.count};
}

using Names = std::vector<std::string>;

TEST(MetricList, names_stand_between_commas) {
  EXPECT_EQ(names_in("ru_utime"), Names{"ru_utime"});
  EXPECT_EQ(names_in("perf::PAGE-FAULTS,PAPI_TOT_INS,rapl:::PACKAGE_ENERGY:PACKAGE0"),
            (Names{"perf::PAGE-FAULTS", "PAPI_TOT_INS", "rapl:::PACKAGE_ENERGY:PACKAGE0"}));
}

TEST(MetricList, what_no_name_can_be_is_refused) {
  for (const char* text : {"", ",", "a,", ",a", "a,,b", "a, b", "a\tb", "a,b,a", "\xc3\xa4"})
    EXPECT_EQ(names_in(text), Names{"(bad)"}) << text;
  EXPECT_EQ(names_in(std::string(longest_metric_name, 'x')).front().size(), longest_metric_name);
  EXPECT_EQ(names_in(std::string(longest_metric_name + 1, 'x')), Names{"(bad)"});
}

TEST(MetricList, more_than_there_is_room_for_is_refused) {
  std::string text = "m0";
  for (std::size_t i = 1; i < max_metrics; ++i) text += ",m" + std::to_string(i);
  EXPECT_EQ(names_in(text).size(), max_metrics);
  EXPECT_EQ(names_in(text + ",one_more"), Names{"(bad)"});
}

Names near(const std::string& wanted, const Names& there) {
  NearNames names(wanted);
  for (const std::string& name : there) names.consider(name);
  Names found;
  for (std::size_t i = 0; i < names.count(); ++i) found.emplace_back(names.name(i));
  return found;
}

TEST(NearNames, are_the_nearest_first_whatever_their_case) {
  EXPECT_EQ(near("PAPI_TOT_IN", {"PAPI_TOT_CYC", "PAPI_L1_DCM", "PAPI_TOT_INS", "PAPI_TOT_IIS"}),
            (Names{"PAPI_TOT_INS", "PAPI_TOT_IIS", "PAPI_TOT_CYC"}));
  EXPECT_EQ(near("papi_tot_ins", {"PAPI_TOT_INS"}), Names{"PAPI_TOT_INS"});
}

TEST(NearNames, never_repeat_what_was_asked_or_each_other) {
  EXPECT_EQ(near("PAPI_TOT_INS", {"PAPI_TOT_INS", "PAPI_TOT_IIS", "PAPI_TOT_IIS"}), Names{"PAPI_TOT_IIS"});
  NearNames names("PAPI_TOT_INS");
  EXPECT_FALSE(names.is_known());
  names.consider("PAPI_TOT_INS");
  EXPECT_TRUE(names.is_known());
}

TEST(NearNames, leave_out_what_cannot_have_been_meant) {
  EXPECT_EQ(near("PAPI_TOT_INS", {"ru_utime", "perf::TASK-CLOCK"}), Names{});
  EXPECT_EQ(near("x", {"", std::string(500, 'x')}), Names{});
}

TEST(NearNames, are_three_at_most) {
  EXPECT_EQ(near("event_a", {"event_b", "event_c", "event_d", "event_e", "event_a1"}),
            (Names{"event_b", "event_c", "event_d"}));
}

}  // namespace
}  // namespace refrain::config

#include "offline/report/units.hpp"

#include <gtest/gtest.h>

namespace refrain::report {
namespace {

TEST(Units, times_have_three_digits) {
  EXPECT_EQ(human_time(0), "0 s");
  EXPECT_EQ(human_time(12e-9), "12 ns");
  EXPECT_EQ(human_time(999.6e-9), "1.00 us");
  EXPECT_EQ(human_time(4.5e-3), "4.50 ms");
  EXPECT_EQ(human_time(0.9996), "1.00 s");
  EXPECT_EQ(human_time(12.345), "12.3 s");
  EXPECT_EQ(human_time(99.97), "100 s");
  EXPECT_EQ(human_time(5999), "5999 s");
  EXPECT_EQ(human_time(3 * 3600 + 5 * 60 + 12), "3:05:12 h");
}

TEST(Units, several_times_have_the_unit_and_digits_of_the_largest) {
  const auto text = [](const std::vector<double>& seconds) {
    const auto [numbers, unit] = analysis::human_times(seconds);
    std::string all;
    for (const std::string& number : numbers) all += number + " ";
    return all + unit;
  };
  EXPECT_EQ(text({0.8, 4.911, 4.99}), "0.80 4.91 4.99 s");
  EXPECT_EQ(text({0, 0.004, 4.99}), "0 <0.01 4.99 s");
  EXPECT_EQ(text({0.0076, 0.0249, 0.0513}), "7.6 24.9 51.3 ms");
  EXPECT_EQ(text({4e-9, 12e-9}), "4 12 ns");
  EXPECT_EQ(text({0.1e-3, 0.5}), "<1 500 ms");
  EXPECT_EQ(text({5, 3 * 3600 + 5 * 60 + 12}), "0:00:05 3:05:12 h");
  EXPECT_EQ(text({0, 0}), "0 0 s");
}

TEST(Units, bytes_are_binary) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1.00 KiB");
  EXPECT_EQ(human_bytes(1023 * 1024), "1.00 MiB");
  EXPECT_EQ(human_bytes(INT64_MAX), "8.00 EiB");
}

TEST(Units, counts_are_grouped) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(12345678), "12,345,678");
  EXPECT_EQ(human_count(-1234), "-1,234");
  EXPECT_EQ(human_count(123456789), "123 M");
}

TEST(Units, shares_never_look_like_nothing_when_there_is_something) {
  EXPECT_EQ(percent(0, 10), "");
  EXPECT_EQ(percent(1, 3), "33.3");
  EXPECT_EQ(percent(1, 2000), "0.05");
  EXPECT_EQ(percent(1, 1e9), "<0.01");
  EXPECT_EQ(percent(1, 0), "");
}

TEST(Units, ranks_are_ranges) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({0, 1, 3, 5, 6, 7}), "0, 1, 3, 5-7");
}

TEST(Units, no_digit_comes_after_the_first_one_of_the_error) {
  EXPECT_EQ(human_time(12.34, 0), human_time(12.34));
  EXPECT_EQ(human_time(12.34, .24), "12.3 s");
  EXPECT_EQ(human_time(12.34, 1.5), "12 s");
  EXPECT_EQ(human_time(1.234e-3, 40e-6), "1.23 ms");
  EXPECT_EQ(human_time(1.234e-3, 400e-6), "1.2 ms");
  EXPECT_EQ(percent(63.4, 100, .8), "63.4");
  EXPECT_EQ(percent(63.4, 100, 1.2), "63");
  EXPECT_EQ(percent(.06, 100, .2), "0.1");
  EXPECT_EQ(percent(.06, 100, .02), "0.06");
  EXPECT_EQ(error_in_percent(0, 100), "");
  EXPECT_EQ(error_in_percent(.02, 100), "<0.1");
  EXPECT_EQ(error_in_percent(.84, 100), "0.8");
  EXPECT_EQ(error_in_percent(12.3, 100), "12");
}

TEST(Units, names_lose_parameters_first) {
  EXPECT_EQ(fit_name("ns::Class<int>::run(int, char)", 40, "…"), "ns::Class<int>::run(int, char)");
  EXPECT_EQ(fit_name("ns::Class<int>::run(int, char)", 25, "…"), "ns::Class<int>::run(…)");
  EXPECT_EQ(fit_name("ns::Class<int, long>::run(int)", 20, "…"), "ns::Class<…>::run(…)");
  EXPECT_EQ(fit_name("ns::Class<int, long>::run(int)", 10, "…"), "ns::Class…");
  EXPECT_EQ(fit_name("A::operator()(int, std::pair<int, int>) const", 24, "..."), "A::operator()(...) const");
  EXPECT_EQ(fit_name("operator<< <char>(std::ostream&)", 22, "…"), "operator<< <char>(…)");
  EXPECT_EQ(fit_name("(not on CPU)", 5, "…"), "(not…");
}

TEST(Units, width_is_counted_in_columns_of_a_terminal) {
  EXPECT_EQ(display_width("├ é"), 3u);
  EXPECT_EQ(cut_to("├ é", 1), "├");
  EXPECT_EQ(display_width("温度"), 4u) << "wide";
  EXPECT_EQ(display_width("e\u0301"), 1u) << "with a mark that combines";
  EXPECT_EQ(display_width("\U0001f680"), 2u) << "a rocket";
  EXPECT_EQ(display_width("\xff"), 1u) << "no UTF-8";
  EXPECT_EQ(cut_to("温度", 3), "温");
  EXPECT_EQ(cut_to("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(end_of("温度", 3), "度");
  EXPECT_EQ(end_of("abc", 2), "bc");
  EXPECT_EQ(end_of("abc", 5), "abc");
  EXPECT_EQ(fit_words("温度温度", 6, "…"), "温度…");
}

TEST(Units, sentences_shorten_the_call_paths_in_them) {
  const std::vector<std::string> parts{"rank 0: smooth between ", "main > timestep > exchange > MPI_Sendrecv", " and ",
                                       "main > timestep > MPI_Win_fence"};
  EXPECT_EQ(fit_sentence(parts, 200, "…"),
            "rank 0: smooth between main > timestep > exchange > MPI_Sendrecv and main > "
            "timestep > MPI_Win_fence");
  EXPECT_EQ(fit_sentence(parts, 74, "…"), "rank 0: smooth between …> MPI_Sendrecv and …> MPI_Win_fence");
}

TEST(Units, terminals_without_utf8_get_question_marks) { EXPECT_EQ(as_ascii("é温."), "???."); }

}  // namespace
}  // namespace refrain::report

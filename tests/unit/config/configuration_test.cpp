#include "config/configuration.hpp"

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace refrain::config {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// The configuration that a process reads from these variables, without any other of Refrain's.
struct Outcome {
  explicit Outcome(const Settings& settings) {
    std::vector<std::string> old;
    for (char** entry = environ; *entry; ++entry)
      if (std::string text = *entry; text.starts_with("REFRAIN_")) old.push_back(text.substr(0, text.find('=')));
    for (const std::string& name : old) unsetenv(name.c_str());
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    good = read_configuration(configuration, error);
    for (const auto& [name, value] : settings) unsetenv(name.c_str());
  }
  bool good;
  Configuration configuration;
  ConfigurationError error = {};
};

std::string line_of(const Settings& settings) {
  Outcome outcome{settings};
  return outcome.good ? "(accepted)" : outcome.error.line;
}

std::string in_force(const Settings& settings, const std::string& variable) {
  Outcome outcome{settings};
  if (!outcome.good) return outcome.error.line;
  for (std::size_t row = 0; row < option_count; ++row)
    if (variable == option_table[row].variable) {
      char text[1100];
      format_option(outcome.configuration, row, text, sizeof text);
      return text;
    }
  return "(no such option)";
}

TEST(Configuration, an_empty_environment_gives_the_defaults_of_the_table) {
  for (std::size_t row = 0; row < option_count; ++row)
    EXPECT_EQ(in_force({}, option_table[row].variable), option_table[row].default_value) << option_table[row].variable;
}

TEST(Configuration, the_defaults_are_those_of_the_documentation) {
  Outcome outcome{{}};
  ASSERT_TRUE(outcome.good);
  const Configuration& c = outcome.configuration;
  EXPECT_TRUE(c.enable);
  EXPECT_EQ(c.sampling_frequency, 100);
  EXPECT_EQ(c.sampling_clock, SamplingClock::Cpu);
  EXPECT_EQ(c.sampling_signal, 0);
  EXPECT_EQ(c.unwinder, Unwinder::Incremental);
  EXPECT_EQ(c.callpath_depth, 1024);
  EXPECT_EQ(c.memory, 32 << 20);
  EXPECT_STREQ(c.experiment_directory, "");
  EXPECT_EQ(c.finalize_timeout, 60);
  EXPECT_FALSE(c.verbose);
}

TEST(Configuration, an_empty_value_is_the_default) {
  for (std::size_t row = 0; row < option_count; ++row)
    EXPECT_EQ(in_force({{option_table[row].variable, ""}}, option_table[row].variable),
              option_table[row].default_value);
}

struct Case {
  const char* variable;
  const char* good;
  const char* in_force;
  const char* bad;
  const char* line;
};

TEST(Configuration, of_each_option_a_good_value_is_in_force_and_a_bad_one_is_named) {
  const Case cases[] = {
      {"REFRAIN_ENABLE", "yes", "on", "perhaps",
       "refrain: REFRAIN_ENABLE=perhaps is neither on nor off; allowed: on | off | true | false | yes | no | 1 | 0. "
       "The program "
       "runs unmeasured."},
      {"REFRAIN_SAMPLING_FREQUENCY", "1000", "1000", "banana",
       "refrain: REFRAIN_SAMPLING_FREQUENCY=banana is not a number; allowed: 0 to 10000 (Hz). The program runs "
       "unmeasured."},
      {"REFRAIN_SAMPLING_FREQUENCY", "0", "0", "10001",
       "refrain: REFRAIN_SAMPLING_FREQUENCY=10001 is out of range; allowed: 0 to 10000 (Hz). The program runs "
       "unmeasured."},
      {"REFRAIN_SAMPLING_FREQUENCY", "10000", "10000", "-1",
       "refrain: REFRAIN_SAMPLING_FREQUENCY=-1 is out of range; allowed: 0 to 10000 (Hz). The program runs "
       "unmeasured."},
      {"REFRAIN_SAMPLING_FREQUENCY", "007", "7", "1e3",
       "refrain: REFRAIN_SAMPLING_FREQUENCY=1e3 is not a number; allowed: 0 to 10000 (Hz). The program runs "
       "unmeasured."},
      {"REFRAIN_SAMPLING_CLOCK", "wall", "wall", "CPU",
       "refrain: REFRAIN_SAMPLING_CLOCK=CPU is not a valid choice; allowed: cpu | wall. The program runs unmeasured."},
      {"REFRAIN_SAMPLING_SIGNAL", "34", "34", "33",
       "refrain: REFRAIN_SAMPLING_SIGNAL=33 is out of range; allowed: 0, 34 to 64. The program runs unmeasured."},
      {"REFRAIN_UNWINDER", "libunwind", "libunwind", "gdb",
       "refrain: REFRAIN_UNWINDER=gdb is not a valid choice; allowed: incremental | libunwind. The program runs "
       "unmeasured."},
      {"REFRAIN_CALLPATH_DEPTH", "8", "8", "7",
       "refrain: REFRAIN_CALLPATH_DEPTH=7 is out of range; allowed: 8 to 16384 (frames). The program runs unmeasured."},
      {"REFRAIN_MEMORY", "2048K", "2M", "1025Q",
       "refrain: REFRAIN_MEMORY=1025Q is not a size; allowed: 1M to 64G (bytes; K, M, G: 1024, 1024^2, 1024^3). The "
       "program runs "
       "unmeasured."},
      {"REFRAIN_MEMORY", "64g", "64G", "65G",
       "refrain: REFRAIN_MEMORY=65G is out of range; allowed: 1M to 64G (bytes; K, M, G: 1024, 1024^2, 1024^3). The "
       "program runs "
       "unmeasured."},
      {"REFRAIN_FINALIZE_TIMEOUT", "86400", "86400", "60s",
       "refrain: REFRAIN_FINALIZE_TIMEOUT=60s is not a number; allowed: 1 to 86400 (s). The program runs unmeasured."},
      {"REFRAIN_VERBOSE", "1", "on", "2",
       "refrain: REFRAIN_VERBOSE=2 is neither on nor off; allowed: on | off | true | false | yes | no | 1 | 0. The "
       "program runs "
       "unmeasured."},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(in_force({{c.variable, c.good}}, c.variable), c.in_force);
    EXPECT_EQ(line_of({{c.variable, c.bad}}), c.line);
  }
}

TEST(Configuration, numbers_beyond_64_bits_are_out_of_range) {
  for (const char* value :
       {"9223372036854775808", "99999999999999999999999999", "9223372036854775807G", "-9223372036854775808K"})
    EXPECT_NE(line_of({{"REFRAIN_MEMORY", value}}).find("is out of range"), std::string::npos) << value;
}

TEST(Configuration, blanks_and_signs_are_no_numbers) {
  for (const char* value : {" 100", "100 ", "+100", "0x10", "-", "K", "1.5", "100\n"})
    EXPECT_NE(line_of({{"REFRAIN_SAMPLING_FREQUENCY", value}}).find("is not a number"), std::string::npos) << value;
}

TEST(Configuration, an_enormous_value_is_cut_and_stays_one_line) {
  std::string line = line_of({{"REFRAIN_SAMPLING_FREQUENCY", std::string(1 << 20, 'x')}});
  EXPECT_LT(line.size(), sizeof(ConfigurationError::line));
  EXPECT_TRUE(line.starts_with("refrain: REFRAIN_SAMPLING_FREQUENCY=xxxx"));
  EXPECT_NE(line.find("xxx... is not a number"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("allowed: 0 to 10000 (Hz). The program runs unmeasured.")) << line;
}

TEST(Configuration, control_characters_do_not_reach_the_terminal) {
  std::string line = line_of({{"REFRAIN_UNWINDER", "a\nb\x1b[2J"}});
  EXPECT_NE(line.find("a?b?[2J"), std::string::npos) << line;
}

TEST(Configuration, a_path_fits_or_is_refused_never_cut) {
  std::string longest = "/" + std::string(1022, 'd');
  Outcome fits{{{"REFRAIN_EXPERIMENT_DIRECTORY", longest}}};
  ASSERT_TRUE(fits.good);
  EXPECT_EQ(fits.configuration.experiment_directory, longest);
  EXPECT_NE(line_of({{"REFRAIN_EXPERIMENT_DIRECTORY", longest + "d"}}).find("is too long"), std::string::npos);
}

TEST(Configuration, an_unknown_name_is_an_error_that_suggests_the_nearest) {
  EXPECT_EQ(
      line_of({{"REFRAIN_SAMPLING_FREQUENZY", "5"}}),
      "refrain: REFRAIN_SAMPLING_FREQUENZY is not an option; did you mean REFRAIN_SAMPLING_FREQUENCY? The program runs "
      "unmeasured.");
  EXPECT_EQ(line_of({{"REFRAIN_XYZZY_PLUGH", "5"}}),
            "refrain: REFRAIN_XYZZY_PLUGH is not an option; see refrain info config. The program runs unmeasured.");
  std::string enormous = line_of({{"REFRAIN_" + std::string(1 << 20, 'A'), "5"}});
  EXPECT_TRUE(enormous.ends_with("... is not an option; see refrain info config. The program runs unmeasured."))
      << enormous;
}

TEST(Configuration, names_of_others_are_left_alone) {
  for (const char* name : {"REFRAIN_INTERNAL_MODE", "REFRAIN_WRAPPER", "REFRAIN_MPICC", "REFRAINED", "MY_REFRAIN_X"})
    EXPECT_EQ(line_of({{name, "banana"}}), "(accepted)") << name;
}

TEST(Configuration, switched_off_nothing_else_matters) {
  Outcome outcome{{{"REFRAIN_ENABLE", "off"}, {"REFRAIN_SAMPLING_FREQUENCY", "banana"}}};
  EXPECT_TRUE(outcome.good);
  EXPECT_FALSE(outcome.configuration.enable);
}

TEST(Configuration, errno_is_kept) {
  errno = 4711;
  Outcome outcome{{{"REFRAIN_MEMORY", "99999999999999999999999999"}}};
  EXPECT_EQ(errno, 4711);
}

TEST(Configuration, a_short_buffer_cuts_the_text) {
  Outcome outcome{{}};
  char text[4] = "zzz";
  for (std::size_t row = 0; row < option_count; ++row) {
    format_option(outcome.configuration, row, text, sizeof text);
    EXPECT_LT(std::strlen(text), sizeof text);
  }
}

}  // namespace
}  // namespace refrain::config

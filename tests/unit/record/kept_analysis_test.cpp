// The results of a search that are kept in an experiment are read as they were written, or not at all.
#include "offline/experiment/kept_analysis.hpp"

#include <array>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <optional>

#include "format/bytes.hpp"
#include "format/checksum.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/packed.hpp"
#include "offline/report/found.hpp"
#include "tests/unit/record/golden_copy.hpp"

namespace refrain::experiment {

struct Several {
  std::int64_t number = 0;
  double real = 0;
  std::vector<std::string> texts;
  std::optional<std::uint32_t> maybe;
  std::map<std::int32_t, double> map;
  bool operator==(const Several&) const = default;
};
template <class Io, Is<Several> T>
void describe(Io& io, T& of) {
  io(of.number, of.real, of.texts, of.maybe, of.map);
}

namespace {

namespace fs = std::filesystem;
using refrain::testing::GoldenCopy;
using refrain::testing::read_file;
using refrain::testing::write_file;

TEST(Packed, comes_back_to_the_last_bit) {
  using limits = std::numeric_limits<double>;
  const std::vector<Several> values = {{},
                                       {INT64_MIN, 0.1, {"", "one"}, 7, {{-1, limits::denorm_min()}}},
                                       {INT64_MAX, limits::infinity(), {}, UINT32_MAX, {{0, -0.0}, {3, 1 / 3.0}}}};
  Packer packer;
  packer(values);
  Unpacker unpacker(std::as_bytes(std::span(packer.bytes())));
  std::vector<Several> read;
  unpacker(read);
  EXPECT_TRUE(unpacker.is_good());
  EXPECT_EQ(values, read);
  for (std::size_t size = 0; size < packer.bytes().size(); ++size) {
    Unpacker cut(std::as_bytes(std::span(packer.bytes()).first(size)));
    cut(read);
    EXPECT_FALSE(cut.is_good()) << size;
  }
}

class KeptAnalysisTest : public ::testing::Test {
 protected:
  static NewAnalysis made(const std::string& parameters, std::uint32_t level, const std::string& found) {
    SavedMetric metric{"late_sender", "p2p", "help", true, {{0, 1, 0, 0.25}, {-1, 0, 0, 0.5}}, {{1, 0, 0.25, -1}}};
    metric.ranks_in_block = 1;
    metric.replicates = {{0, 1, {1, -2, INT64_MAX, INT64_MIN}}, {-1, 0, {}}};
    return {{.parameters = parameters, .level = level}, "0.1.0", std::uint64_t{1000} >> level, {metric}, found};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(scratch_.path))
      if (entry.path().filename().string().starts_with("analysis-")) all.push_back(entry.path());
    return all;
  }
  GoldenCopy scratch_{"events-4"};
  std::shared_ptr<const Experiment> experiment_ = Experiment::open(scratch_.path);
};

TEST_F(KeptAnalysisTest, is_read_as_it_was_written) {
  EXPECT_TRUE(kept_analyses(*experiment_).empty());
  keep(*experiment_, made("", 0, "bytes"));
  ASSERT_EQ(files().size(), 1U);
  const auto kept = kept_analysis(*experiment_, AnalysisKey{});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->version(), "0.1.0");
  EXPECT_EQ(kept->records(), 1000U);
  EXPECT_EQ(kept->found(), "bytes");
  const auto metrics = experiment_->saved_metrics();
  ASSERT_EQ(metrics.size(), 1U);
  EXPECT_EQ(metrics[0].name, "late_sender");
  EXPECT_TRUE(metrics[0].is_sampled);
  ASSERT_EQ(metrics[0].values.size(), 2U);
  EXPECT_EQ(metrics[0].values[1].path, -1);
  EXPECT_EQ(metrics[0].values[1].seconds, 0.5);
  EXPECT_EQ(metrics[0].locations[0].error_s, -1);
  EXPECT_EQ(metrics[0].ranks_in_block, 1);
  ASSERT_EQ(metrics[0].replicates.size(), 2U);
  EXPECT_EQ(metrics[0].replicates[0].path, 0);
  EXPECT_EQ(metrics[0].replicates[0].rank, 1);
  EXPECT_EQ(metrics[0].replicates[0].ns, (std::array<std::int64_t, 16>{1, -2, INT64_MAX, INT64_MIN}));
  EXPECT_EQ(experiment_->damages(), 0U);
}

TEST_F(KeptAnalysisTest, waits_have_the_replicates_that_were_kept) {
  report::Found found;
  found.may_be_kept = found.has_events = true;
  found.by_name.ranks_in_block = 2;
  patterns::PathWaits::Of& wait = found.by_name.paths.emplace_back();
  wait.seconds = 0.75;
  wait.by_rank = {{3, 0.75}};
  wait.replicates[2].add(run::signs_of(7, 40), 123'456'789);
  wait.matched.emplace().replicates.add(run::signs_of(8, 41), -5);
  report::keep_found(*experiment_, found, "", "0.1.0");
  const auto kept = report::kept_found(*experiment_);
  ASSERT_TRUE(kept && kept->by_name.paths.size() == 1);
  EXPECT_EQ(kept->by_name.ranks_in_block, 2);
  EXPECT_EQ(kept->by_name.paths[0].replicates, wait.replicates);
  EXPECT_EQ(kept->by_name.paths[0].matched->replicates, wait.matched->replicates);
}

TEST_F(KeptAnalysisTest, of_the_version_before_has_metrics_without_replicates) {
  const auto checksum = [](const std::string& bytes) { return format::checksum(bytes.data(), bytes.size()); };
  const auto fixed = [](auto value) {
    std::array<std::byte, sizeof value> raw;
    format::store_little_endian(raw.data(), value);
    return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
  };
  using Number = std::uint64_t;
  using Text = std::string;
  Packer metrics, head;
  // One metric, with one value and without locations.
  metrics(Number{1}, Text("late_sender"), Text("p2p"), Text("help"), true);
  metrics(Number{1}, std::int64_t{0}, std::int32_t{1}, std::int32_t{0}, 0.25, Number{0});
  const AnalysisKey key{.rules = 2};
  head(key.rules, key.parameters, key.level, Text("0.1.0"), Number{1000}, Number{experiment_->fingerprint()},
       Number{metrics.bytes().size()}, checksum(metrics.bytes()), Number{0}, checksum(""));
  const Text begin =
      "RTanlyss" + fixed(std::uint32_t{1}) + fixed(static_cast<std::uint32_t>(head.bytes().size())) + head.bytes();
  write_file(fs::path(scratch_.path) / "analysis-0123456789abcdef.refrain",
             begin + fixed(checksum(begin)) + metrics.bytes());
  const auto kept = kept_analysis(*experiment_, key);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->metrics().size(), 1U);
  EXPECT_EQ(kept->metrics()[0].values[0].seconds, 0.25);
  EXPECT_EQ(kept->metrics()[0].ranks_in_block, 0);
  EXPECT_EQ(experiment_->damages(), 0U);
}

TEST_F(KeptAnalysisTest, the_default_has_the_usual_parameters_and_has_seen_most) {
  keep(*experiment_, made("--big 1", 0, "other"));
  keep(*experiment_, made("", 3, "few"));
  EXPECT_EQ(kept_analyses(*experiment_)[0].found(), "few");
  keep(*experiment_, made("", 0, "all"));
  keep(*experiment_, made("", 1, "half"));
  EXPECT_EQ(kept_analyses(*experiment_)[0].found(), "all");
  EXPECT_EQ(kept_analyses(*experiment_).size(), 4U);
  EXPECT_EQ(kept_analysis(*experiment_, {.parameters = "--big 1"})->found(), "other");
  NewAnalysis old = made("", 0, "old");
  old.key.rules = analysis_rules + 1;
  keep(*experiment_, old);
  EXPECT_EQ(kept_analyses(*experiment_)[0].found(), "all");
  forget_old_analyses(*experiment_);
  EXPECT_EQ(kept_analyses(*experiment_).size(), 4U);
}

TEST_F(KeptAnalysisTest, every_damage_is_noticed) {
  keep(*experiment_, made("", 0, "bytes"));
  const fs::path file = files()[0];
  const std::string good = read_file(file);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 16);
    write_file(file, bad);
    const auto opened = Experiment::open(scratch_.path);
    std::string found;
    std::size_t metrics = 0;
    for (const KeptAnalysis& kept : kept_analyses(*opened))
      opened->damage_log()->survives("", [&] {
        metrics = kept.metrics().size();
        found = kept.found();
      });
    EXPECT_TRUE(opened->damages() == 1 && (metrics == 0 || found.empty())) << at;
  }
}

TEST_F(KeptAnalysisTest, of_another_experiment_is_not_taken) {
  keep(*experiment_, made("", 0, "bytes"));
  const GoldenCopy other("profile-1.10");
  fs::copy(files()[0], other.path);
  const auto opened = Experiment::open(other.path);
  EXPECT_TRUE(kept_analyses(*opened).empty());
  EXPECT_EQ(opened->damages(), 1U);
}

TEST_F(KeptAnalysisTest, files_that_have_become_others_tell_nothing_of_call_paths) {
  const report::Found before = report::found_in(*experiment_);
  EXPECT_TRUE(before.has_events);
  EXPECT_EQ(before.fingerprint, experiment_->fingerprint());
  const fs::path manifest = fs::path(scratch_.path) / "manifest.json";
  std::string text = read_file(manifest);
  const std::string year = "\"1970-";
  ASSERT_NE(text.find(year), text.npos);
  write_file(manifest, text.replace(text.find(year), year.size(), "\"1971-"));
  const report::Found found = report::found_in(*experiment_);
  EXPECT_FALSE(found.has_events);
  EXPECT_NE(found.not_searched, "");
  EXPECT_TRUE(found.by_path.paths.empty());
  EXPECT_TRUE(experiment_->saved_metrics().empty());
}

TEST_F(KeptAnalysisTest, of_call_paths_that_there_are_not_is_not_taken) {
  report::Found found;
  found.may_be_kept = true;
  patterns::PatternResult& pattern = found.analysis.patterns.emplace_back();
  pattern.by_node.push_back({.node = 3});  // the first call path
  report::keep_found(*experiment_, found, "", "0.1.0");
  EXPECT_TRUE(report::kept_found(*experiment_));
  pattern.by_node[0].node += static_cast<std::uint32_t>(experiment_->definitions().paths.size());
  report::keep_found(*experiment_, found, "", "0.1.0");
  EXPECT_FALSE(report::kept_found(*experiment_));
  EXPECT_EQ(experiment_->damages(), 1U);
}

TEST_F(KeptAnalysisTest, that_another_tool_removes_is_no_damage) {
  keep(*experiment_, made("", 0, "bytes"));
  fs::create_symlink(scratch_.path + "/nowhere", scratch_.path + "/analysis-0123456789abcdef.refrain");
  EXPECT_EQ(kept_analyses(*experiment_).size(), 1U);
  EXPECT_EQ(experiment_->damages(), 0U);
}

}  // namespace
}  // namespace refrain::experiment

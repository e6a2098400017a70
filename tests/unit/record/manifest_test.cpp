// manifest.json: written by the runtime half, read by the offline half.

#include "record/manifest.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "offline/experiment/manifest_reader.hpp"
#include "tests/unit/record/sample_job.hpp"

namespace refrain::testing {
namespace {

using experiment::Manifest;
using experiment::ReadError;

Manifest parse(const std::string& text) {
  return experiment::parse_manifest(experiment::InputFile("manifest.json", std::as_bytes(std::span(text))));
}

std::string write(const record::ManifestRecord& record) {
  ScratchDirectory directory;
  char line[256];
  EXPECT_TRUE(record::write_manifest(directory.c_str(), record, line, sizeof line)) << line;
  EXPECT_FALSE(std::filesystem::exists(directory.path + "/manifest.json.new"));
  return read_file(directory.path + "/manifest.json");
}

TEST(Manifest, keeps_what_it_is_given) {
  const char* const command[] = {"./a \"b\\c\"", "tab\there", "bad \xff\xc0\x80 bytes", "na\xc3\xafve \xf0\x9f\x8c\x8d",
                                 ""};
  const record::NameValue configuration[] = {{"REFRAIN_SAMPLING_FREQUENCY", "100"},
                                             {"REFRAIN_UNWINDER", "incremental"}};
  record::ManifestRecord record{};
  record.state = record::ExperimentState::Complete;
  record.command = command;
  record.executable = "/opt/a";
  record.working_directory = "/home/me";
  record.configuration = configuration;
  record.ranks = 64;
  record.host = "node1";
  record.mpi_library = "Open MPI v4.1.4\n, and more";
  record.started_epoch_ns = 1'709'251'199'000'000'000;
  record.ended_epoch_ns = 1'709'251'200'000'000'000;
  record.ticks_per_second = 2e9;
  record.call_cost = {81, 60.1, 100};
  record.tick_cost = {3000, 2000, 1e300};
  const std::string text = write(record);
  const Manifest manifest = parse(text);
  EXPECT_EQ(manifest.version, REFRAIN_VERSION);
  EXPECT_EQ(manifest.state, "complete");
  EXPECT_EQ(manifest.command, (std::vector<std::string>{"./a \"b\\c\"", "tab\uFFFDhere", "bad \uFFFD\uFFFD\uFFFD bytes",
                                                        "na\u00efve \U0001F30D", ""}));
  EXPECT_EQ(manifest.executable, "/opt/a");
  EXPECT_EQ(manifest.working_directory, "/home/me");
  EXPECT_EQ(manifest.ranks, 64);
  EXPECT_EQ(manifest.host, "node1");
  EXPECT_EQ(manifest.mpi_library, "Open MPI v4.1.4\uFFFD, and more");
  EXPECT_EQ(manifest.started, "2024-02-29T23:59:59Z");
  EXPECT_EQ(manifest.ended, "2024-03-01T00:00:00Z");
  ASSERT_EQ(manifest.configuration.size(), 2u);
  EXPECT_EQ(manifest.configuration[0], (std::pair<std::string, std::string>{"REFRAIN_SAMPLING_FREQUENCY", "100"}));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["command"][1], "tab\there");
  EXPECT_EQ(json["overhead_ns"]["mpi_call"]["median"], 40.5);
  EXPECT_EQ(json["overhead_ns"]["mpi_call"]["low"], 30.1);
  EXPECT_TRUE(json["overhead_ns"]["tick"]["high"].is_null());
}

TEST(Manifest, of_a_run_in_progress_has_no_end) {
  record::ManifestRecord record{};
  record.state = record::ExperimentState::Running;
  record.ranks = 1;
  const Manifest manifest = parse(write(record));
  EXPECT_EQ(manifest.state, "running");
  EXPECT_EQ(manifest.ended, "");
  EXPECT_TRUE(manifest.command.empty());
}

TEST(Manifest, that_cannot_be_written_leaves_the_old_one) {
  ScratchDirectory directory;
  put_manifest(directory.path, 3);
  std::filesystem::create_directory(directory.path + "/manifest.json.new");
  record::ManifestRecord record{};
  char line[256];
  EXPECT_FALSE(record::write_manifest(directory.c_str(), record, line, sizeof line));
  EXPECT_EQ(line, "'" + directory.path + "/manifest.json' cannot be written: Is a directory");
  EXPECT_EQ(parse(read_file(directory.path + "/manifest.json")).ranks, 3);
}

TEST(Manifest, that_is_damaged_is_refused_with_the_place) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse(text);
    } catch (const ReadError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(error_of(R"({"state": "running"})"), "accepted");
  EXPECT_EQ(error_of(""), "manifest.json: at byte 0: the file is empty");
  EXPECT_EQ(error_of(R"({"state": "running")"), "manifest.json: at byte 19: not JSON");
  EXPECT_EQ(error_of(R"({"state": running})"), "manifest.json: at byte 10: not JSON");
  EXPECT_EQ(error_of("[]"), "manifest.json: at byte 0: not a JSON object");
  EXPECT_EQ(error_of("{}"), "manifest.json: at byte 0: unknown state");
  EXPECT_EQ(error_of(R"({"state": "running", "ranks": "4"})"),
            "manifest.json: at byte 0: member 'ranks' is not what it should be");
  EXPECT_EQ(error_of(R"({"state": "running", "ranks": 1e300})"),
            "manifest.json: at byte 0: member 'ranks' is not what it should be");
  EXPECT_EQ(error_of(R"({"state": "running", "format": 2})"),
            "manifest.json: at byte 0: written by a newer Refrain (format 2; this one reads 1)");
  EXPECT_EQ(error_of(std::string(100'000, '[')), "manifest.json: at byte 100000: not JSON");
}

}  // namespace
}  // namespace refrain::testing

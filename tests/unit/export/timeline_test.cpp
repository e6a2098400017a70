/// Slices nest whatever is missing: formats of timelines drop what does not, or refuse the file.

#include "offline/export/timeline.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "offline/export/sorted_lines.hpp"
#include "tests/unit/export/made_run.hpp"
#include "tests/unit/trace/archive_writer.hpp"

namespace refrain::exports {
namespace {

/// Slices as "B main", with their times.
class Recorded final : public Timeline {
 public:
  void begin_slice(TimelinePoint at, const trace::RegionOfTrace& region) override { add("B ", at, region); }
  void end_slice(TimelinePoint at, const trace::RegionOfTrace& region, std::int64_t) override { add("E ", at, region); }
  void iteration(TimelinePoint, TimelinePoint, const std::string&, std::int64_t) override {}
  void gap(TimelinePoint) override {}
  void message(const TimelineMessage&) override {}

  std::vector<std::string> words;
  std::vector<std::int64_t> times;

 private:
  void add(const char* what, TimelinePoint at, const trace::RegionOfTrace& region) {
    words.push_back(what + region.name);
    times.push_back(at.time_ns);
  }
};

class TimelineTest : public testing::Test {
 protected:
  enum Region : OTF2_RegionRef { Main, Send, Step };

  TimelineTest() {
    trace::ArchiveWriter archive(directory_ / "archive");
    archive.events(0, [](OTF2_EvtWriter* writer) {
      OTF2_EvtWriter_Enter(writer, nullptr, 100, Main);
      OTF2_EvtWriter_Enter(writer, nullptr, 200, Send);
      OTF2_EvtWriter_Leave(writer, nullptr, 300, Send);
      OTF2_EvtWriter_Leave(writer, nullptr, 400, Main);
      OTF2_EvtWriter_Enter(writer, nullptr, 500, Step);
      OTF2_EvtWriter_Enter(writer, nullptr, 600, Send);
    });
    archive.close([&](OTF2_GlobalDefWriter* writer) {
      archive.region(writer, Main, "main");
      archive.region(writer, Send, "MPI_Send", OTF2_PARADIGM_MPI, OTF2_REGION_ROLE_POINT2POINT);
      archive.region(writer, Step, "step \"1\"");
    });
    trace_ = trace::Trace::open_archive(archive.anchor());
  }
  Recorded read(const EventChoice& choice) const {
    Recorded recorded;
    read_timeline(*trace_, choice, recorded);
    return recorded;
  }

  test::Directory directory_;
  std::shared_ptr<const trace::Trace> trace_;
};

TEST_F(TimelineTest, slices_that_are_open_in_the_end_are_closed) {
  EXPECT_EQ(read({}).words, (std::vector<std::string>{"B main", "B MPI_Send", "E MPI_Send", "E main", "B step \"1\"",
                                                      "B MPI_Send", "E MPI_Send", "E step \"1\""}));
}

TEST_F(TimelineTest, a_slice_that_began_before_the_chosen_time_is_left_out) {
  const std::vector<std::int64_t> times = read({}).times;
  const Recorded some = read({.from_ns = times[1], .until_ns = times[3]});
  EXPECT_EQ(some.words, (std::vector<std::string>{"B MPI_Send", "E MPI_Send"}));
  const Recorded begin = read({.until_ns = times[1]});
  EXPECT_EQ(begin.words, (std::vector<std::string>{"B main", "B MPI_Send", "E MPI_Send", "E main"}));
  EXPECT_EQ(begin.times.back(), times[1]);
}

TEST_F(TimelineTest, an_iteration_that_was_not_kept_is_an_error) { EXPECT_THROW(read({.iteration = 3}), ExportError); }

TEST(Timeline, iterations_that_lie_in_each_other_are_there_once) {
  enum : std::uint32_t { Outer, Inner, Send };
  const test::Directory directory;
  trace::ArchiveWriter archive(directory / "archive");
  archive.creator("Refrain");
  archive.events(0, [](OTF2_EvtWriter* writer) {
    OTF2_EvtWriter_Enter(writer, nullptr, 100, Outer);
    OTF2_EvtWriter_Enter(writer, nullptr, 110, Inner);
    for (std::uint32_t iteration = 0; iteration < 2; ++iteration) {
      OTF2_EvtWriter_Enter(writer, nullptr, 120 + 50 * iteration, Send);
      OTF2_EvtWriter_Leave(writer, nullptr, 130 + 50 * iteration, Send);
      OTF2_EvtWriter_ParameterInt(writer, nullptr, 140 + 50 * iteration, Inner, iteration);
    }
    OTF2_EvtWriter_Leave(writer, nullptr, 200, Inner);
    OTF2_EvtWriter_ParameterInt(writer, nullptr, 210, Outer, 0);
    OTF2_EvtWriter_Leave(writer, nullptr, 220, Outer);
  });
  archive.close([&](OTF2_GlobalDefWriter* writer) {
    archive.region(writer, Outer, "outer");
    archive.region(writer, Inner, "inner");
    archive.region(writer, Send, "MPI_Send", OTF2_PARADIGM_MPI, OTF2_REGION_ROLE_POINT2POINT);
    for (const auto& [parameter, name] :
         {std::pair(Outer, "iteration of outer"), std::pair(Inner, "iteration of inner")})
      OTF2_GlobalDefWriter_WriteParameter(writer, parameter, archive.text(writer, name), OTF2_PARAMETER_TYPE_INT64);
  });
  Recorded recorded;
  read_timeline(*trace::Trace::open_archive(archive.anchor()), {.iteration = 0}, recorded);
  EXPECT_EQ(recorded.words, (std::vector<std::string>{"B outer", "B inner", "B MPI_Send", "E MPI_Send", "B MPI_Send",
                                                      "E MPI_Send", "E inner", "E outer"}));
}

TEST_F(TimelineTest, chrome_has_begins_and_ends_with_names) {
  OutputFile out(directory_ / "chrome");
  write_chrome(*trace_, {}, out);
  out.finish();
  const auto file = nlohmann::json::parse(test::contents_of(directory_ / "chrome"));
  std::vector<std::string> words;
  for (const auto& event : file["traceEvents"]) {
    EXPECT_TRUE(event["name"].is_string()) << event;
    const std::string phase = event["ph"];
    if (phase != "M") words.push_back(phase + " " + event["name"].get<std::string>());
  }
  EXPECT_EQ(words, read({}).words);
}

TEST_F(TimelineTest, paraver_has_events_and_states_in_the_order_of_time) {
  OutputFile out(directory_ / "trace.prv");
  write_paraver(*trace_, {}, out);
  out.finish();
  std::istringstream file(test::contents_of(directory_ / "trace.prv"));
  std::string line;
  std::getline(file, line);
  EXPECT_TRUE(line.starts_with("#Paraver (")) << line;
  EXPECT_TRUE(line.ends_with("_ns:1(1):1:1(1:1)")) << line;
  std::vector<std::string> events;
  std::int64_t last = 0;
  while (std::getline(file, line)) {
    std::vector<std::int64_t> numbers;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ':');) numbers.push_back(std::stoll(word));
    ASSERT_GE(numbers.size(), 8U) << line;
    EXPECT_GE(numbers[5], last) << line;
    last = numbers[5];
    if (numbers[0] != 2) continue;
    const auto value = static_cast<std::size_t>(numbers[7]);
    events.push_back(std::to_string(numbers[6]) + " " + (value == 0 ? "end" : trace_->regions().at(value - 1).name));
  }
  const std::string mark = "60000019 ", call = "50000001 ";
  EXPECT_EQ(events, (std::vector<std::string>{mark + "main", call + "MPI_Send", call + "end", mark + "end",
                                              mark + "step \"1\"", call + "MPI_Send", call + "end", mark + "end"}));
  const std::string words = test::contents_of(directory_ / "trace.pcf");
  EXPECT_NE(words.find("   MPI_Send\n"), words.npos);
  EXPECT_NE(test::contents_of(directory_ / "trace.row").find("LEVEL THREAD SIZE 1\n"), words.npos);
}

TEST(SortedLines, many_runs_become_one_and_equal_times_stay_in_their_order) {
  const test::Directory directory;
  OutputFile out(directory / "sorted");
  std::string wanted;
  {
    SortedLines lines(out.open_scratch(), 64);
    for (int round = 0; round < 100; ++round)
      for (int time = 9; time >= 0; --time)
        lines.add(time, std::to_string(time) + " of round " + std::to_string(round));
    lines.add(5, std::string(100'000, 'x'));
    lines.write(out);
  }
  for (int time = 0; time < 10; ++time) {
    for (int round = 0; round < 100; ++round)
      wanted += std::to_string(time) + " of round " + std::to_string(round) + "\n";
    if (time == 5) wanted += std::string(100'000, 'x') + "\n";
  }
  out.finish();
  EXPECT_EQ(test::contents_of(directory / "sorted"), wanted);
}

}  // namespace
}  // namespace refrain::exports

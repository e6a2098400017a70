// Codes, sections, and the file as a whole.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "offline/explorer/anonymous.hpp"
#include "offline/explorer/codes.hpp"
#include "offline/explorer/pack.hpp"
#include "offline/explorer/page.hpp"
#include "offline/explorer/sections.hpp"

namespace refrain::explorer {
namespace {

std::string unpacked(const std::string& data) {
  z_stream stream{};
  EXPECT_EQ(Z_OK, inflateInit2(&stream, 16 + MAX_WBITS));
  std::string out(1 << 22, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(Z_STREAM_END, inflate(&stream, Z_FINISH));
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

template <class Number>
Number number_at(const std::string& data, std::size_t at) {
  Number number;
  std::memcpy(&number, data.data() + at, sizeof number);
  return number;
}

/// main > MPI_Barrier on two ranks.
explorer::Run small_run() {
  explorer::Run run;
  run.name = "small";
  run.source = "refrain";
  run.ranks = 2;
  run.metrics = {{"wall", "Time", "s"}, {"mpi", "MPI", "s", 0}};
  run.nodes = {{-1, ""}, {0, "main"}, {1, "MPI_Barrier", run::PathKind::Mpi}};
  run.places = {{"one", 0}, {"two", 1, 0, 1, 1}};
  run.sums = {{Sums::Values, 0, 1, {2}, {3.5}}, {Sums::Divided, 0, 0, {1, 2}, {1, 2}}};
  run.cells = {{0, 1, 2, {1.5F, 2}}};
  return run;
}

TEST(Codes, keep_two_parts_in_ten_thousand) {
  for (double share = 1; share > 1e-11; share *= 0.37)
    EXPECT_NEAR(1, share_of(code_of(share)) / share, 2.2e-4) << share;
  EXPECT_EQ(0, share_of(code_of(0)));
  EXPECT_EQ(1, share_of(code_of(1)));
  EXPECT_EQ(2, code_of(1e-30)) << "what is there does not become nothing";
}

TEST(Codes, of_maps_are_multiples_of_a_step_that_keep_a_third_of_a_percent) {
  constexpr unsigned step = 16;
  for (double share = 1; share > 1e-11; share *= 0.37) {
    EXPECT_NEAR(1, share_of(code_of(share, step)) / share, 3.4e-3) << share;
    EXPECT_EQ(0, (65535 - code_of(share, step)) % step) << share;
  }
  EXPECT_EQ(65535, code_of(1, step));
  EXPECT_EQ(2, code_of(1e-30, step)) << "what is there does not become nothing";
  EXPECT_EQ(0, code_of(0, step));
  EXPECT_EQ(1, code_of(NAN, step));
  explorer::Run run = small_run();
  run.loops = {{"step", 1, 2, 2, 1, {}, {}, {{"Time", "s", 1, 2, 1, 1, {1, 0.95F}, {}, step}}, {}}};
  const std::string maps = maps_section(run);
  // -ln(0.95) / 4.2164e-4 = 121.7 codes, of which 128 are a multiple of 16.
  EXPECT_EQ(65535, static_cast<unsigned char>(maps[0]) << 8 | static_cast<unsigned char>(maps[2]));
  EXPECT_EQ(65535 - 128, static_cast<unsigned char>(maps[1]) << 8 | static_cast<unsigned char>(maps[3]));
}

TEST(Codes, keep_apart_nothing_and_what_is_not_known) {
  EXPECT_EQ(0, code_of(0));
  EXPECT_TRUE(std::isnan(share_of(code_of(NAN))));
  std::string codes;
  append_codes(std::vector<float>{0, NAN}, 0, codes);
  EXPECT_EQ(std::string("\0\0\0\1", 4), codes) << "whatever the scale";
}

TEST(Pack, base64_is_that_of_rfc_4648) {
  EXPECT_EQ("", base64(""));
  EXPECT_EQ("Zg==", base64("f"));
  EXPECT_EQ("Zm8=", base64("fo"));
  EXPECT_EQ("Zm9vYmFy", base64("foobar"));
  EXPECT_EQ("/+8A", base64(std::string("\xff\xef\0", 3)));
}

TEST(Pack, gzip_comes_back) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += static_cast<char>(i * i >> 3);
  EXPECT_EQ(text, unpacked(compressed(text)));
  EXPECT_EQ(text, unpacked(compressed(text, Repeats::Bytes)));
  EXPECT_EQ("", unpacked(compressed("")));
}

TEST(Sections, sums_are_aligned_rows) {
  const std::string sums = sums_section(small_run());
  // 16 bytes and one node, up to a multiple of 8, one value.
  EXPECT_EQ(1U, number_at<std::uint32_t>(sums, 8));
  EXPECT_EQ(2U, number_at<std::uint32_t>(sums, 16));
  EXPECT_EQ(3.5, number_at<double>(sums, 24));
  EXPECT_EQ(2U, number_at<std::uint32_t>(sums, 32)) << "kind of the next row";
  EXPECT_EQ(2.0, number_at<double>(sums, 32 + 24 + 8));
  EXPECT_EQ(32U + 24 + 16, sums.size());
}

TEST(Sections, cells_are_planes_of_bytes) {
  const std::string cells = cells_section(small_run());
  EXPECT_EQ(1U, number_at<std::uint32_t>(cells, 0));
  EXPECT_EQ(2U, number_at<std::uint32_t>(cells, 4));
  EXPECT_EQ(2.0, number_at<double>(cells, 24)) << "the scale is the largest value";
  const auto code = [&](std::size_t place) {
    return static_cast<std::uint16_t>(static_cast<unsigned char>(cells[32 + place]) << 8 |
                                      static_cast<unsigned char>(cells[34 + place]));
  };
  EXPECT_NEAR(1.5, 2 * share_of(code(0)), 1.5 * 2.2e-4);
  EXPECT_EQ(65535, code(1));
  explorer::Run empty = small_run();
  empty.cells.clear();
  EXPECT_EQ("", cells_section(empty));
}

TEST(Sections, the_head_says_where_curves_and_maps_are) {
  explorer::Run run = small_run();
  Curves wall{"Time", "s", {}, 1, {1, 2}, {2, 3}, {3, 4}, {5, 6}, 2};
  Curves path{"", "s", 2, 2, {1}, {2}, {3}, {4}, 1};
  Map map{"Time", "s", 1, 2, 2, 1, {1, 2}, {3, 4}};
  run.loops = {{"step", 1, 2, 2, 1, {1, 1}, {wall, path}, {map, map}, {{0, 0}, {7, 1}}},
               {"other", 1, 2, 2, 1, {}, {wall}, {map}, {}}};
  const auto head = nlohmann::json::parse(head_section(run));
  const std::string series = series_section(run), maps = maps_section(run);
  const auto& first = head["loops"][0]["series"];
  EXPECT_EQ(0, first["rows"][0]["offset"]);
  EXPECT_EQ(8, first["rows"][1]["offset"]);
  EXPECT_EQ(2, first["rows"][1]["node"]);
  EXPECT_EQ(2, first["rows"][0]["places"]);
  EXPECT_EQ(1, first["rows"][1]["places"]);
  EXPECT_EQ(12, first["classes"]);
  const std::size_t second = head["loops"][1]["series"]["rows"][0]["offset"];
  EXPECT_EQ(14U, second);
  EXPECT_EQ(2, number_at<float>(series, 4 * (second + 2))) << "median";
  EXPECT_EQ(4 * (second + 8 + 2), series.size());
  EXPECT_EQ((std::vector<int>{0, 7}), head["loops"][0]["ranks"].get<std::vector<int>>());
  EXPECT_EQ((std::vector<int>{0, 1}), head["loops"][0]["threads"].get<std::vector<int>>());
  EXPECT_EQ(8, head["loops"][0]["maps"][1]["offset"]);
  EXPECT_EQ(4.0, head["loops"][0]["maps"][0]["peak_scale"]);
  EXPECT_EQ(maps.size(), head["loops"][1]["maps"][0]["offset"].get<std::size_t>() + 8);
}

TEST(Sections, the_head_says_which_metrics_parts_of_loops_lack) {
  explorer::Run run = small_run();
  run.metrics[1].of_run_only = true;
  const auto head = nlohmann::json::parse(head_section(run));
  EXPECT_FALSE(head["metrics"][0]["of_run_only"]);
  EXPECT_TRUE(head["metrics"][1]["of_run_only"]);
}

TEST(Sections, the_head_says_which_runtimes_functions_are_of_where_that_is_known) {
  explorer::Run run = small_run();
  EXPECT_FALSE(nlohmann::json::parse(head_section(run))["nodes"].contains("runtime"));
  run.runtimes = {analysis::Runtime::None, analysis::Runtime::OpenMp, analysis::Runtime::C};
  EXPECT_EQ((std::vector<int>{0, 2, 4}), nlohmann::json::parse(head_section(run))["nodes"]["runtime"]);
}

TEST(Sections, unknown_efficiencies_are_null) {
  explorer::Run run = small_run();
  run.efficiencies = {{"step",
                       "no waits",
                       {{"parallel", "parallel efficiency", 0, .5, .1}, {"transfer", "transfer", 2, std::nullopt, 0}}}};
  const auto head = nlohmann::json::parse(head_section(run));
  const auto& of = head["efficiencies"][0];
  EXPECT_EQ("step", of["loop"]);
  EXPECT_EQ("no waits", of["why"]);
  EXPECT_EQ(.5, of["factors"][0]["value"]);
  EXPECT_TRUE(of["factors"][1]["value"].is_null());
  EXPECT_EQ(2, of["factors"][1]["depth"]);
}

TEST(Page, names_are_data) {
  explorer::Run run = small_run();
  run.nodes[1].name = "</script><img src=x onerror=alert(1)>";
  run.name = "<!-- \xe2\x80\xa8 \xff \x01 \"'";
  run.nodes[2].name = std::string(10'000, 'x');
  std::string page;
  write_page("<body><!--refrain:payload--></body>", {&run, 1}, [&](std::string_view text) { page += text; });
  EXPECT_EQ(std::string::npos, page.find("onerror"));
  EXPECT_TRUE(
      page.starts_with("<body><script type=\"application/octet-stream\" data-run=\"0\" data-section=\"head\">"));
  EXPECT_TRUE(page.ends_with("</script>\n</body>"));
  const auto letters = std::ranges::count_if(page, [](char c) { return c == '<'; });
  EXPECT_EQ(2 + 2 * 3, letters) << "body, and three sections";
  const auto head = nlohmann::json::parse(head_section(run));
  EXPECT_EQ("<!-- \u2028 \ufffd \u0001 \"'", head["name"]);
  EXPECT_EQ(10'000U, head["strings"][head["nodes"]["name"][2].get<std::size_t>()].get<std::string>().size());
}

TEST(Page, a_page_without_a_place_for_data_is_refused) {
  const explorer::Run run = small_run();
  EXPECT_THROW(write_page("<body></body>", {&run, 1}, [](std::string_view) {}), std::logic_error);
}

TEST(Anonymous, names_go_and_what_they_tell_apart_stays) {
  std::vector<explorer::Run> runs{small_run(), small_run()};
  for (explorer::Run& run : runs) {
    run.nodes = {{-1, ""},
                 {0, "main"},
                 {1, "secret"},
                 {2, "MPI_Barrier", run::PathKind::Mpi},
                 {1, "(blocked)", run::PathKind::Other},
                 {1, "(anonymous namespace)::secret(double*)"},
                 {1, "(MPI without call path)", run::PathKind::Mpi},
                 {1, "(truncated)"}};
    run.facts = {{"Command", "./secret --key"}, {"Ranks", "2"}};
    run.findings = {{"late_rank", "rank 1 computes longer, in secret"}};
    run.lacks = {{"trees", "secret was cut"}};
    run.efficiencies = {{"", "", {}}, {"secret loop", "", {}}};
  }
  runs[1].nodes[2].name = "other secret";
  make_anonymous(runs);
  std::string all;
  for (const explorer::Run& run : runs) all += head_section(run);
  EXPECT_EQ(std::string::npos, all.find("secret"));
  EXPECT_EQ(std::string::npos, all.find("one\""));
  EXPECT_EQ("main", runs[0].nodes[1].name);
  EXPECT_EQ("MPI_Barrier", runs[0].nodes[3].name);
  EXPECT_EQ("(blocked)", runs[0].nodes[4].name);
  EXPECT_EQ("(MPI without call path)", runs[0].nodes[6].name);
  EXPECT_EQ("(truncated)", runs[0].nodes[7].name);
  EXPECT_NE(runs[0].nodes[2].name, runs[1].nodes[2].name);
  EXPECT_EQ("machine 1", runs[1].places[0].host);
  EXPECT_EQ("Ranks", runs[0].facts.at(0).first);
}

}  // namespace
}  // namespace refrain::explorer

/// Formats of profiles, read back: values are those of the run, names are what they were.

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <system_error>
#include <zlib.h>

#include "offline/database/cubex_file.hpp"
#include "offline/export/protobuf.hpp"
#include "offline/export/value_scratch.hpp"
#include "tests/unit/export/made_run.hpp"

namespace refrain::exports {
namespace {

using nlohmann::json;
using test::MadeRun;
using test::written;

TEST(Formats, every_row_can_be_found_and_says_what_it_holds) {
  std::set<std::string> endings;
  for (const Format& format : formats()) {
    EXPECT_EQ(find_format(format.name), &format);
    EXPECT_TRUE(endings.insert(format.ending).second) << format.ending;
    EXPECT_STRNE(format.holds, "");
    EXPECT_LE(int{format.write_run != nullptr} + int{format.write_events != nullptr} +
                  int{format.write_efficiencies != nullptr},
              1)
        << format.name;
    EXPECT_EQ(!format.is_directory(), *format.cannot != '\0') << format.name;
  }
  EXPECT_EQ(find_format("nonsense"), nullptr);
}

TEST(Cubex, values_are_those_of_the_run) {
  MadeRun run;
  const std::string bytes = written("cubex", run);
  const experiment::InputFile input("made.cubex", std::as_bytes(std::span(bytes)));
  const database::CubexFile file = database::parse_cubex(input);
  EXPECT_EQ(file.creator, "Refrain test");
  ASSERT_EQ(file.nodes.size(), 6u);
  EXPECT_EQ(file.nodes[0].name, "a.out") << "one root";
  EXPECT_EQ(file.nodes[0].parent, -1);
  for (std::size_t i = 0; i < run.nodes().size(); ++i) {
    EXPECT_EQ(file.nodes[i + 1].name, run.nodes()[i].name);
    EXPECT_EQ(file.nodes[i + 1].parent, run.nodes()[i].parent + 1);
  }
  EXPECT_EQ(file.nodes[3].paradigm, "mpi");
  // Those of a machine stand together.
  ASSERT_EQ(file.locations.size(), 4u);
  const std::int64_t ranks[] = {0, 2, 2, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(file.locations[i].rank, ranks[i]);
  EXPECT_EQ(file.locations[2].thread, 1);
  EXPECT_EQ(file.locations[2].name, "helper <1>");
  std::map<std::string, const database::CubexMetric*> metrics;
  for (const auto& metric : file.metrics) metrics[metric.name] = &metric;
  EXPECT_EQ(metrics.count("bytes_read"), 0u) << "nothing was read";
  ASSERT_TRUE(metrics.contains("time") && metrics.contains("mpi_latereceiver") && metrics.contains("bytes_sent"));
  EXPECT_EQ(metrics["time"]->unit, "sec");
  EXPECT_EQ(metrics["bytes_sent"]->unit, "bytes");
  double sum = 0;
  for (const auto& row : metrics["time"]->values)
    for (const double value : row) sum += value;
  EXPECT_DOUBLE_EQ(sum, MadeRun::wall_s);
  EXPECT_EQ(metrics["time"]->values[MadeRun::Inner + 1], (std::vector<double>{0.25, 0.25, 0.25, 0.5}));
  EXPECT_EQ(metrics["mpi"]->values[MadeRun::Barrier + 1], (std::vector<double>{1, 0, 0, 0}));
  EXPECT_EQ(metrics["mpi_latereceiver"]->values[MadeRun::Send + 1], (std::vector<double>(4, 0.5)));
}

/// The member that comes first.
std::string anchor_of(const std::string& bytes) {
  return bytes.substr(512, std::stoul(bytes.substr(124, 11), nullptr, 8));
}

TEST(Cubex, topologies_are_those_of_the_system) {
  MadeRun run;
  run.expect(4);
  const std::string anchor = anchor_of(written("cubex", run));
  // Columns are rank 0, both threads of rank 2, rank 1; nothing was written by rank 3.
  EXPECT_NE(anchor.find("</systemtreenode>\n</systemtreenode>\n<topologies>\n"
                        "<cart name=\"Process x Thread\" ndims=\"2\">\n"
                        "<dim name=\"Process\" size=\"4\" periodic=\"false\"/>\n"
                        "<dim name=\"Thread\" size=\"2\" periodic=\"false\"/>\n"
                        "<coord locId=\"0\">0 0</coord>\n<coord locId=\"1\">2 0</coord>\n"
                        "<coord locId=\"2\">2 1</coord>\n<coord locId=\"3\">1 0</coord>\n</cart>\n"
                        "<cart name=\"Node x Process x Thread\" ndims=\"3\">\n"
                        "<dim name=\"Node\" size=\"2\" periodic=\"false\"/>\n"
                        "<dim name=\"Process\" size=\"2\" periodic=\"false\"/>\n"
                        "<dim name=\"Thread\" size=\"2\" periodic=\"false\"/>\n"
                        "<coord locId=\"0\">0 0 0</coord>\n<coord locId=\"1\">0 1 0</coord>\n"
                        "<coord locId=\"2\">0 1 1</coord>\n<coord locId=\"3\">1 0 0</coord>\n</cart>\n"
                        "</topologies>\n</system>"),
            std::string::npos)
      << anchor;
}

TEST(Cubex, headers_of_tar_have_the_right_checksum) {
  MadeRun run;
  const std::string bytes = written("cubex", run);
  std::size_t members = 0;
  for (std::size_t at = 0; bytes[at] != '\0'; ++members) {
    const std::string head = bytes.substr(at, 512);
    unsigned sum = 0;
    for (std::size_t i = 0; i < head.size(); ++i)
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(head[i]);
    EXPECT_EQ(std::stoul(head.substr(148, 6), nullptr, 8), sum);
    at += 512 + (std::stoul(head.substr(124, 11), nullptr, 8) + 511) / 512 * 512;
  }
  EXPECT_EQ(members, 1u + 2 * 5);
  EXPECT_EQ(bytes.size() % 512, 0u);
}

TEST(Cubex, names_have_no_characters_that_xml_lacks) {
  MadeRun run;
  run.call_inner("a \xef\xbf\xbe\xef\xbf\xbf \xff\x01 \xef\xbf\xbd <&]]>");
  const std::string bytes = written("cubex", run);
  EXPECT_EQ(bytes.find("\xef\xbf\xbe"), bytes.npos);
  EXPECT_EQ(bytes.find("\xef\xbf\xbf"), bytes.npos);
  const experiment::InputFile input("made.cubex", std::as_bytes(std::span(bytes)));
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(database::parse_cubex(input).nodes[2].name, "a " + bad + bad + " " + bad + bad + " " + bad + " <&]]>");
}

TEST(Speedscope, all_ranks_come_first_and_each_has_its_profile) {
  MadeRun run;
  const json file = json::parse(written("speedscope", run));
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  const auto& frames = file["shared"]["frames"];
  const auto& profiles = file["profiles"];
  ASSERT_EQ(profiles.size(), 4u);
  EXPECT_EQ(profiles[0]["name"], "all ranks");
  EXPECT_EQ(profiles[3]["name"], "rank 2");
  const auto sum = [](const json& profile) {
    std::int64_t ns = 0;
    for (const auto& weight : profile["weights"]) ns += weight.get<std::int64_t>();
    EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
    EXPECT_EQ(profile["endValue"], ns);
    return ns;
  };
  EXPECT_EQ(sum(profiles[0]), std::llround(MadeRun::wall_s * 1e9));
  EXPECT_EQ(sum(profiles[0]), sum(profiles[1]) + sum(profiles[2]) + sum(profiles[3]));
  const auto& stack = profiles[1]["samples"][2];
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(frames[stack[0].get<std::size_t>()]["name"], "main") << "from the root";
  EXPECT_EQ(frames[stack[1].get<std::size_t>()]["name"], MadeRun::inner_name);
}

TEST(Folded, lines_are_stacks_with_whole_microseconds) {
  MadeRun run;
  EXPECT_EQ(written("folded", run),
            "main 4000000\n"
            "main;a->b<int, \"x\"> 1250000\n"
            "main;a->b<int, \"x\">;MPI_Send 8000000\n"
            "main;MPI_Barrier 1000000\n"
            "(refrain) 500000\n");
}

TEST(Folded, names_end_no_stack_and_no_line) {
  MadeRun run;
  run.call_inner(
      "a;b\nc\xe2\x80\xa8"
      "d\xe2\x80\xa9 7");
  EXPECT_NE(written("folded", run)
                .find("main;a,b\xef\xbf\xbd"
                      "c d  7;MPI_Send 8000000\n"),
            std::string::npos);
}

/// Fields of a message, by number.
struct Fields {
  std::multimap<std::uint64_t, std::string> texts;
  std::multimap<std::uint64_t, std::uint64_t> numbers;
};
std::uint64_t varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}
Fields fields_of(const std::string& bytes) {
  Fields fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t tag = varint(bytes, at), field = tag >> 3;
    if ((tag & 7) == 0) {
      fields.numbers.emplace(field, varint(bytes, at));
    } else {
      EXPECT_EQ(tag & 7, 2u);
      const std::uint64_t size = varint(bytes, at);
      fields.texts.emplace(field, bytes.substr(at, size));
      at += size;
    }
  }
  return fields;
}
std::vector<std::uint64_t> packed(const std::string& bytes) {
  std::vector<std::uint64_t> values;
  for (std::size_t at = 0; at < bytes.size();) values.push_back(varint(bytes, at));
  return values;
}
std::string unzipped(std::string bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

TEST(Pprof, samples_go_from_the_leaf_and_wall_time_is_last) {
  MadeRun run;
  const Fields profile = fields_of(unzipped(written("pprof", run)));
  std::vector<std::string> strings;
  for (auto [at, end] = profile.texts.equal_range(6); at != end; ++at) strings.push_back(at->second);
  ASSERT_FALSE(strings.empty());
  EXPECT_EQ(strings[0], "");
  std::vector<std::string> types;
  for (auto [at, end] = profile.texts.equal_range(1); at != end; ++at)
    types.push_back(strings.at(fields_of(at->second).numbers.find(1)->second));
  ASSERT_EQ(types.size(), MadeRun::metric_count);
  EXPECT_EQ(types[0], "visits");
  EXPECT_EQ(types.back(), "wall");
  std::map<std::uint64_t, std::string> function_of;  // by location: they have the same numbers
  for (auto [at, end] = profile.texts.equal_range(5); at != end; ++at) {
    const Fields function = fields_of(at->second);
    function_of[function.numbers.find(1)->second] = strings.at(function.numbers.find(2)->second);
  }
  EXPECT_EQ(profile.texts.count(4), function_of.size());
  std::uint64_t wall = 0;
  std::size_t sends = 0;
  std::map<std::string, int> by_rank, by_thread;
  for (auto [at, end] = profile.texts.equal_range(2); at != end; ++at) {
    const Fields sample = fields_of(at->second);
    const auto stack = packed(sample.texts.find(1)->second), values = packed(sample.texts.find(2)->second);
    ASSERT_EQ(values.size(), types.size());
    std::map<std::string, std::string> labels;
    for (auto [label, last] = sample.texts.equal_range(3); label != last; ++label) {
      const Fields of = fields_of(label->second);
      labels[strings.at(of.numbers.find(1)->second)] = strings.at(of.numbers.find(2)->second);
    }
    ASSERT_EQ(labels.size(), 2u);
    ++by_rank[labels.at("rank")];
    ++by_thread[labels.at("thread")];
    wall += values.back();
    if (function_of.at(stack[0]) != "MPI_Send") continue;
    ++sends;
    ASSERT_EQ(stack.size(), 3u);
    EXPECT_EQ(function_of.at(stack[1]), MadeRun::inner_name);
    EXPECT_EQ(function_of.at(stack[2]), "main");
  }
  EXPECT_EQ(wall, static_cast<std::uint64_t>(std::llround(MadeRun::wall_s * 1e9)));
  EXPECT_EQ(sends, 4u);
  EXPECT_EQ(by_rank, (std::map<std::string, int>{{"0", 5}, {"1", 4}, {"2", 8}}));
  EXPECT_EQ(by_thread, (std::map<std::string, int>{{"0", 13}, {"1", 4}}));
}

TEST(Protobuf, numbers_are_as_the_encoding_has_them) {
  ProtoMessage message;
  message.integer(1, 150);
  EXPECT_EQ(message.bytes(), std::string("\x08\x96\x01"));
  message.clear();
  message.integer(1, -1);
  EXPECT_EQ(message.bytes().size(), 11u) << "ten bytes for a negative number";
  message.clear();
  message.text(2, "testing");
  EXPECT_EQ(message.bytes(), std::string("\x12\x07testing"));
  message.clear();
  message.fixed64(47, 1);
  EXPECT_EQ(message.bytes(), std::string("\xf9\x02\x01\0\0\0\0\0\0\0", 10));
}

TEST(Hatchet, rows_are_nodes_by_ranks_with_inclusive_values) {
  MadeRun run;
  const json file = json::parse(written("hatchet", run));
  EXPECT_EQ(file["graph"].size(), 1u);
  EXPECT_EQ(file["graph"][0]["0"]["children"], json::array({1, 3}));
  EXPECT_EQ(file["graph"][0]["2"]["data"], json({{"name", "MPI_Send"}, {"type", "mpi"}}));
  ASSERT_EQ(file["dataframe"].size(), 5u * 3) << "threads are in their rank";
  double time = 0;
  for (const auto& row : file["dataframe"]) {
    time += row["time"].get<double>();
    if (row["node"] != 0) continue;
    const double expected = row["rank"] == 0 ? 4.25 : row["rank"] == 1 ? 3.5 : 2 * 3.25;
    EXPECT_DOUBLE_EQ(row["time (inc)"].get<double>(), expected) << row;
  }
  EXPECT_DOUBLE_EQ(time, MadeRun::wall_s);
  EXPECT_EQ(file["dataframe_indices"], json::array({"node", "rank"}));
  EXPECT_EQ(file["exclusive_metrics"][0], "time");
  EXPECT_EQ(file["inclusive_metrics"].size(), file["exclusive_metrics"].size());
}

TEST(Extrap, values_are_means_over_processes) {
  MadeRun run;
  std::istringstream lines(written("extrap", run));
  std::map<std::pair<std::string, std::string>, double> values;
  for (std::string line; std::getline(lines, line);) {
    const json of = json::parse(line);
    EXPECT_EQ(of["params"], json({{"p", 3}}));
    values[{of["callpath"], of["metric"]}] = of["value"];
  }
  const std::string send = "main->a- >b<int; \"x\">->MPI_Send";
  EXPECT_DOUBLE_EQ(values.at({"main", "time"}), 4. / 3);
  EXPECT_DOUBLE_EQ(values.at({send, "visits"}), 4);
  EXPECT_DOUBLE_EQ(values.at({send, "waiting"}), 2. / 3);
  EXPECT_DOUBLE_EQ(values.at({send, "transfer"}), 6. / 3);
  EXPECT_FALSE(values.contains({"main", "visits"})) << "its calls are not counted";
  EXPECT_FALSE(values.contains({"main", "waiting"})) << "only calls of MPI wait for other processes";
}

TEST(Extrap, processes_that_are_missing_lower_no_mean) {
  MadeRun run;
  run.expect(6);
  std::istringstream lines(written("extrap", run));
  std::string line;
  std::getline(lines, line);
  const json of = json::parse(line);
  EXPECT_EQ(of["params"], json({{"p", 6}}));
  EXPECT_EQ(of["metric"], "time");
  EXPECT_DOUBLE_EQ(of["value"], 4. / 3);
}

TEST(Callgrind, costs_are_those_of_functions_and_calls) {
  MadeRun run;
  const std::string text = written("callgrind", run);
  EXPECT_TRUE(text.starts_with("# callgrind format\nversion: 1\n")) << text;
  EXPECT_NE(text.find("summary: 14750000000 9000000000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("fn=(1) main\n0 4000000000 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cfn=(2) a->b<int; \"x\">\ncalls=1 0\n0 9250000000 8000000000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("calls=12 0\n0 8000000000 8000000000\n"), std::string::npos) << text;
}

TEST(Talp, regions_have_the_times_and_factors_that_talp_pages_read) {
  using analysis::Measured;
  // Two machines with two ranks each; the last one works half as long.
  const double useful_s[] = {4, 4, 4, 2};
  std::vector<analysis::RankTimes> ranks;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    ranks.push_back({.rank = rank, .machine = static_cast<std::size_t>(rank / 2), .useful = Measured{useful_s[rank]}});
    ranks.back().mpi_s = 5 - useful_s[rank];
  }
  const auto of = analysis::efficiency_of(ranks);
  ASSERT_TRUE(of);
  const EfficienciesOfRun run{"Refrain test",
                              1'700'000'000,
                              {{"", *of, 14, 6, std::nullopt, std::nullopt},
                               {"steps", *of, 14, 6, 28e9, 42e9},
                               {"Global", *of, 12, 8, 1e9, 2e9}}};
  const test::Directory directory;
  OutputFile out(directory / "file");
  write_talp(run, out);
  out.finish();
  const json file = json::parse(test::contents_of(directory / "file"));
  EXPECT_TRUE(file["dlbVersion"].get<std::string>().starts_with("3.5")) << "readers choose by it";
  EXPECT_EQ(file["timestamp"], "2023-11-14T22:13:20+0000");
  EXPECT_EQ(file["resources"], json({{"numCpus", 4}, {"numNodes", 2}, {"numMpiRanks", 4}}));
  const json& whole = file["Application"]["Global"];
  EXPECT_EQ(whole["elapsedTime"], 5'000'000'000);
  EXPECT_EQ(whole["usefulTime"], 14'000'000'000);
  EXPECT_EQ(whole["mpiTime"], 6'000'000'000);
  EXPECT_EQ(whole["maxUsefulNormdNode"], 4'000'000'000);
  EXPECT_EQ(whole["cycles"], 0);
  EXPECT_DOUBLE_EQ(whole["parallelEfficiency"].get<double>(), 0.7);
  EXPECT_DOUBLE_EQ(whole["mpiCommunicationEfficiency"].get<double>(), 0.8);
  EXPECT_DOUBLE_EQ(whole["mpiLoadBalance"].get<double>(), 0.875);
  EXPECT_DOUBLE_EQ(whole["mpiLoadBalanceOut"].get<double>(), 0.875);
  EXPECT_DOUBLE_EQ(whole["mpiLoadBalanceIn"].get<double>(), 1);
  EXPECT_TRUE(whole["ompLoadBalance"].is_null()) << "not known";
  EXPECT_EQ(file["Application"]["steps"]["cycles"], 42e9);
  ASSERT_EQ(file["Application"].size(), 3u) << "a loop may be called as TALP calls the run";
  EXPECT_EQ(file["Application"]["Global (loop)"]["usefulTime"], 12'000'000'000);
}

TEST(Output, nothing_is_overwritten_and_no_half_file_is_left) {
  const test::Directory directory;
  {
    OutputFile out(directory / "file");
    out.write("half");
  }
  EXPECT_EQ(directory.files(), 0u);
  {
    OutputFile out(directory / "file");
    out.write("whole");
    out.finish();
  }
  EXPECT_EQ(test::contents_of(directory / "file"), "whole");
  EXPECT_THROW(OutputFile(directory / "file"), ExportError);
  EXPECT_THROW(OutputFile(directory / "missing/file"), std::system_error);
  EXPECT_EQ(directory.files(), 1u);
}

TEST(ValueScratch, rows_have_the_values_of_all_blocks) {
  const test::Directory directory;
  const OutputFile out(directory / "file");
  constexpr std::size_t rows = std::size_t{1} << 21, columns = 10;  // blocks of four columns
  ValueScratch values(out.open_scratch(), rows, columns);
  for (std::size_t column = 0; column < columns; ++column) {
    if (column == 5) continue;
    values.add(column, 7, static_cast<double>(column) + 1);
    if (column > 7) values.add(column, rows - 1, 0.5);
  }
  values.finish();
  EXPECT_TRUE(values.has(7) && values.has(rows - 1));
  EXPECT_FALSE(values.has(8));
  const auto all = [&](std::size_t row) {
    const auto of = values.row(row);
    return std::vector<double>(of.begin(), of.end());
  };
  EXPECT_EQ(all(7), (std::vector<double>{1, 2, 3, 4, 5, 0, 7, 8, 9, 10}));
  EXPECT_EQ(all(8), std::vector<double>(columns));
  EXPECT_EQ(all(rows - 1), (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5}));
}

}  // namespace
}  // namespace refrain::exports

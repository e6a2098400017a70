// A metric of call paths from a later version, in every view and every format of the report.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "format/profile_file.hpp"
#include "offline/report/report.hpp"
#include "offline/report/views.hpp"
#include "record/encoder.hpp"
#include "record/writer.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"

namespace refrain::testing {
namespace {

using experiment::Experiment;
using format::Section;
using nlohmann::json;

constexpr const char* name = "bytes_teleported";
constexpr int both_ranks = 2;

/// The value of the metric at each call path to MPI, in each unit.
std::int64_t teleported(int rank, std::uint64_t own_path) {
  return 1'000'000 * (rank + 1) + static_cast<std::int64_t>(own_path);
}

/// Copies a section value by value. A value that a caller has read is already written.
class Copier {
 public:
  explicit Copier(const std::string& contents) : in_(std::as_bytes(std::span(contents))) {}
  std::uint64_t varint() {
    const std::uint64_t value = in_.varint();
    out().varint(value);
    return value;
  }
  void varints(std::uint64_t count) {
    for (; count > 0; --count) varint();
  }
  void text() { out().text(in_.text()); }
  void real() { out().real(in_.real()); }
  void byte() { out().fixed(in_.fixed<std::uint8_t>()); }
  std::uint64_t read_varint() { return in_.varint(); }
  record::Encoder& out() { return encoder_; }
  std::string take() {
    const auto rest = in_.raw(in_.remaining());
    out().raw(rest.data(), rest.size());
    EXPECT_FALSE(in_.failed());
    const auto bytes = bytes_.view();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  format::ByteCursor in_;
  platform::Bytes bytes_;
  record::Encoder encoder_{bytes_};
};

/// Adds the column to the sections of a file.
class LaterVersion {
 public:
  explicit LaterVersion(const std::string& file)
      : file_(file), experiment_(Experiment::of_file("f", std::as_bytes(std::span(file_)))) {}

  std::string make() {
    return edited(file_, [&](int rank, std::uint32_t type, std::string contents) {
      switch (static_cast<Section>(type)) {
        case Section::Metrics: return with_metric(contents);
        case Section::Locations: return with_values(rank, contents);
        case Section::Totals: return with_totals(rank, contents);
        case Section::Slopes: return with_slopes(contents);
        default: return contents;
      }
    });
  }

 private:
  static std::string with_metric(const std::string& contents) {
    Copier copy(contents);
    const std::uint64_t count = copy.read_varint();
    copy.out().varint(count + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      copy.text();
      copy.text();
      copy.byte();
      copy.byte();
    }
    copy.out().text(name);
    copy.out().text("B");
    copy.out().fixed(static_cast<std::uint8_t>(format::NodeKind::Region));
    copy.out().fixed(static_cast<std::uint8_t>(format::Reduction::Sum));
    return copy.take();
  }
  static void head(Copier& copy) {
    copy.varints(2);
    copy.text();
    copy.varints(3);
    copy.varints(copy.varint());
  }
  /// Copies a row of the rank, beginning with its number. `units`: how many units it is the sum of.
  void row(Copier& copy, int rank, std::uint64_t& own_path, std::int64_t units, std::uint64_t extra) {
    own_path += copy.varint();
    const auto handle = experiment_->rank(static_cast<std::size_t>(rank), experiment::Depth::Run);
    const format::NodeKind kind = experiment_->definitions().paths[handle->paths[own_path]].kind;
    copy.varints((extra > 0) + format::columns_of(kind));  // in Totals the ticks come before the columns
    if (kind == format::NodeKind::Region) copy.out().signed_varint(units * teleported(rank, own_path));
    if (format::has_extra_columns(kind)) copy.varints(extra > 0 ? extra - 1 : 0);
  }
  std::string with_values(int rank, const std::string& contents) {
    Copier copy(contents);
    const std::uint64_t totals = copy.varint();
    for (std::uint64_t locations = copy.varint(); locations > 0; --locations) {
      head(copy);
      units_[rank].push_back(static_cast<std::int64_t>(copy.varint()));
      for (std::int64_t n = units_[rank].back(); n > 0; --n) {
        copy.varints(2 + totals);
        copy.real();
        std::uint64_t own_path = 0;
        for (std::uint64_t rows = copy.varint(); rows > 0; --rows) row(copy, rank, own_path, 1, 0);
      }
    }
    return copy.take();
  }
  std::string with_totals(int rank, const std::string& contents) {
    Copier copy(contents);
    const std::uint64_t times = copy.varint();
    for (std::uint64_t i = 0; i < times; ++i) copy.text();
    const std::uint64_t totals = copy.varint(), extra = copy.varint();
    for (std::uint64_t i = 0; i < 2 * extra; ++i) copy.text();
    const std::uint64_t locations = copy.varint();
    for (std::uint64_t l = 0; l < locations; ++l) {
      head(copy);
      copy.varints(totals);
      copy.real();
      copy.varints(times + 2 * extra);
      std::uint64_t own_path = 0;
      EXPECT_LT(l, units_[rank].size()) << "the section Locations comes first";
      for (std::uint64_t rows = copy.varint(); rows > 0; --rows) {
        row(copy, rank, own_path, units_[rank].at(l), 1 + extra);
        if (const auto& path = path_of(rank, own_path); path.kind == format::NodeKind::Region)
          total += units_[rank].at(l) * teleported(rank, own_path);
      }
    }
    return copy.take();
  }
  static std::string with_slopes(const std::string& contents) {
    Copier copy(contents);
    const std::uint64_t columns = copy.read_varint();
    copy.out().varint(columns + 1);
    copy.varints(2 * columns);
    copy.out().varint(0);  // scales with nothing
    copy.out().varint(0);
    return copy.take();
  }
  const experiment::CallPath& path_of(int rank, std::uint64_t own_path) const {
    const auto handle = experiment_->rank(static_cast<std::size_t>(rank), experiment::Depth::Run);
    return experiment_->definitions().paths[handle->paths[own_path]];
  }

  const std::string file_;
  const std::shared_ptr<const Experiment> experiment_;
  std::map<int, std::vector<std::int64_t>> units_;  ///< by location

 public:
  std::int64_t total = 0;  ///< sum over all ranks
};

class LaterMetric : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(write_job(directory.path, both_ranks, [](int rank) {
      // One rank also has metrics that the user has asked for, the other one has loops.
      SampleRank sample(rank, both_ranks, sample_modules(rank));
      Tree tree = sample_tree(rank, 0, 20);
      for (auto& [path, columns] : tree)
        for (std::int64_t& value : columns) value %= 1'000'000;
      sample.add_thread(tree);
      if (rank == 0) sample.add_extra_metrics();
      if (rank == 1) sample.add_loop(0, "timestep", 4, 150);
      if (rank == 1) sample.add_samples_and_slopes(0);
      return sample;
    }));
    LaterVersion later(read_file(directory.path + "/profile.refrain"));
    bytes = later.make();
    total = later.total;
    ASSERT_GT(total, 1'000'000);
    experiment = Experiment::of_file("f", std::as_bytes(std::span(bytes)));
  }
  std::string render(report::Request request, report::Format format) {
    request.format = format;
    std::string out;
    report::render({experiment, symbolizer}, request, {160, false, false}, [&](std::string_view text) { out += text; });
    EXPECT_EQ(experiment->damage(), std::vector<std::string>{});
    return out;
  }
  json document(const report::Request& request = {}) { return json::parse(render(request, report::Format::Json)); }
  /// The sum of a column.
  std::int64_t csv_sum(const report::Request& request, const std::string& column = name) {
    std::istringstream in(render(request, report::Format::Csv));
    std::string line;
    std::getline(in, line);
    const auto cells = [](std::string text) {
      while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.pop_back();
      std::vector<std::string> found(1);
      bool quoted = false;
      for (const char c : text) {
        if (c == '"') quoted = !quoted;
        else if (c == ',' && !quoted) found.emplace_back();
        else found.back() += c;
      }
      return found;
    };
    const auto head = cells(line);
    const auto at = std::ranges::find(head, column);
    if (at == head.end()) {
      ADD_FAILURE() << "no column " << column << " in " << line;
      return 0;
    }
    std::int64_t sum = 0;
    while (std::getline(in, line)) sum += std::stoll("0" + cells(line).at(static_cast<std::size_t>(at - head.begin())));
    return sum;
  }

  const ScratchDirectory directory;
  std::string bytes;
  std::int64_t total = 0;
  std::shared_ptr<const Experiment> experiment;
  analysis::Symbolizer symbolizer;
};

TEST_F(LaterMetric, is_in_the_call_tree) {
  EXPECT_EQ(csv_sum({}), total);
  std::int64_t sum = 0;
  const json d = document();
  for (const json& path : d["callpaths"]) sum += path["metrics"]["exclusive"].value(name, std::int64_t{0});
  EXPECT_EQ(sum, total);
  std::int64_t inclusive = 0;
  for (const json& path : d["callpaths"])
    if (path["parent"] == 0) inclusive += path["metrics"]["inclusive"].value(name, std::int64_t{0});
  EXPECT_EQ(inclusive, total);
  EXPECT_NE(render({}, report::Format::Text).find(name), std::string::npos);
}

TEST_F(LaterMetric, is_in_the_totals_of_the_run_and_of_locations) {
  const json d = document();
  EXPECT_EQ(d["totals"]["metrics"][name], total);
  std::int64_t sum = 0;
  for (const json& location : d["locations"]) sum += location["metrics"][name].get<std::int64_t>();
  EXPECT_EQ(sum, total);
  EXPECT_EQ(d["totals"]["metrics"]["perf::PAGE-FAULTS"], 1'000'000) << "beside what was asked for";
}

TEST_F(LaterMetric, is_in_the_functions) {
  report::Request flat;
  flat.views = {report::Show::Functions};
  EXPECT_EQ(csv_sum(flat), total);
  std::int64_t sum = 0;
  const json d = document(flat);
  for (const json& function : d["functions"]) sum += function["metrics"]["exclusive"].value(name, std::int64_t{0});
  EXPECT_EQ(sum, total);
  EXPECT_NE(render(flat, report::Format::Text).find(name), std::string::npos);
}

TEST_F(LaterMetric, is_found_location_by_location) {
  report::Request locations;
  locations.views = {report::Show::Locations};
  locations.metric = name;
  EXPECT_EQ(csv_sum(locations), total);
  std::int64_t sum = 0;
  const json d = document(locations);
  for (const json& location : d["by_location"]) sum += location[name].get<std::int64_t>();
  EXPECT_EQ(sum, total);
  EXPECT_NE(render(locations, report::Format::Text).find(name), std::string::npos);
  locations.callpath = "MPI_Send";
  const std::int64_t send = csv_sum(locations);
  EXPECT_GT(send, 0);
  EXPECT_LT(send, total);
  std::int64_t of_send = 0;
  for (const json& path : d["callpaths"])
    if (path["path"].back() == "MPI_Send") of_send += path["metrics"]["exclusive"].value(name, std::int64_t{0});
  EXPECT_EQ(send, of_send);
}

TEST_F(LaterMetric, is_in_the_call_tree_of_a_cluster) {
  report::Request cluster;
  cluster.cluster = 1;
  cluster.ranks = {1};
  EXPECT_GT(csv_sum(cluster), 0);
  const json d = document(cluster);
  EXPECT_EQ(d["totals"]["metrics"][name], csv_sum(cluster));
  EXPECT_NE(render(cluster, report::Format::Text).find(name), std::string::npos);
}

TEST_F(LaterMetric, is_made_of_the_units_where_the_totals_are_damaged) {
  std::string damaged = edited(bytes, [](int, std::uint32_t type, std::string contents) {
    if (type == static_cast<std::uint32_t>(Section::Totals)) contents += "x";
    return contents;
  });
  const json before = document();
  experiment = Experiment::of_file("f", std::as_bytes(std::span(damaged)));
  report::Request request;
  request.format = report::Format::Json;
  std::string out;
  report::render({experiment, symbolizer}, request, {160, false, false}, [&](std::string_view text) { out += text; });
  EXPECT_EQ(experiment->damages(), 2u);
  const json after = json::parse(out);
  EXPECT_EQ(after["totals"]["metrics"], before["totals"]["metrics"]);
  EXPECT_EQ(after["locations"], before["locations"]);
}

}  // namespace
}  // namespace refrain::testing

#include "offline/database/cubex_run.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "offline/database/cubex_file.hpp"
#include "offline/database/digest.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::database {
namespace {

namespace fs = std::filesystem;

/// CUBE metrics that Refrain's reports call by another name.
constexpr std::pair<std::string_view, const char*> renamed[] = {{"time", "wall"}};

class CubexRun : public RunSource {
 public:
  explicit CubexRun(const std::string& path) {
    const experiment::InputFile input{fs::path(path)};
    file_ = parse_cubex(input);
    // These follow from time and the kind of a function: they are not taken twice.
    std::erase_if(file_.metrics, [](const CubexMetric& of) { return of.name == "mpi" || of.name == "user"; });
    Digest digest;
    digest.add(input.read(0, input.size(), "the file"));
    digest_ = digest.text();
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error).lexically_normal();
    facts_.experiment = absolute.string();
    facts_.program = absolute.parent_path().filename().string();
    facts_.version = "unknown";
    facts_.source = "cubex";
    std::set<std::int64_t> ranks;
    for (const CubexLocation& location : file_.locations) {
      locations_.push_back({location.rank, location.thread, location.name});
      ranks.insert(location.rank);
    }
    facts_.processes = static_cast<std::int64_t>(ranks.size());
    // Siblings with the same name are one call path.
    std::map<std::tuple<std::int32_t, std::string, run::PathKind>, std::uint32_t> known;
    for (const CubexNode& node : file_.nodes) {
      RunNode row;
      row.kind = node.paradigm == "mpi" ? run::PathKind::Mpi : run::PathKind::User;
      row.parent = node.parent < 0 ? -1 : static_cast<std::int32_t>(node_of_[static_cast<std::size_t>(node.parent)]);
      row.name = symbols::function_name(node.name).text;
      row.error_s = row.exclusive_error_s = row.function_error_s = 0;  // its functions are instrumented
      const auto [at, is_new] =
          known.try_emplace({row.parent, row.name, row.kind}, static_cast<std::uint32_t>(nodes_.size()));
      node_of_.push_back(at->second);
      if (is_new) nodes_.push_back(std::move(row));
    }
    for (const CubexMetric& metric : file_.metrics) {
      std::string name = metric.name;
      for (const auto& [theirs, ours] : renamed)
        if (name == theirs) name = ours;
      is_time_.push_back(name == "wall");
      metrics_.push_back({std::move(name), metric.unit == "sec" ? "s" : metric.unit == "bytes" ? "B" : "1"});
    }
    const auto wall = std::ranges::find(is_time_, true);
    if (wall == is_time_.end()) input.fail(0, "it has no metric time");
    // Metrics that follow from the kind of a function.
    const auto parent = static_cast<int>(wall - is_time_.begin());
    metrics_.push_back({"mpi", "s", parent});
    metrics_.push_back({"user", "s", parent});
  }

  void for_each_node(std::size_t location, const TakeNode& take) override {
    std::vector<std::vector<double>> values(nodes_.size());
    for (std::size_t m = 0; m < file_.metrics.size(); ++m) {
      const auto& rows = file_.metrics[m].values;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].empty() || rows[i][location] == 0) continue;
        const std::uint32_t node = node_of_[i];
        values[node].resize(metrics_.size());
        values[node][m] += rows[i][location];
        if (is_time_[m])
          values[node][metrics_.size() - (nodes_[node].kind == run::PathKind::Mpi ? 2 : 1)] += rows[i][location];
      }
    }
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
      if (!values[node].empty()) take(node, values[node]);
  }

  std::string digest() const override { return digest_; }

 private:
  CubexFile file_;
  std::string digest_;
  std::vector<std::uint32_t> node_of_;  ///< by call path of the file
  std::vector<bool> is_time_;
};

}  // namespace

std::unique_ptr<RunSource> cubex_run(const std::string& path) { return std::make_unique<CubexRun>(path); }

}  // namespace refrain::database

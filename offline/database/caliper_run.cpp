// The split JSON of Caliper (LLNL/Caliper, doc/sphinx/OutputFormats.rst; LLNL/hatchet,
// hatchet/readers/caliper_reader.py): "nodes" is a tree of labels, "data" has rows of values and of indices into the
// nodes, by "columns".
#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "offline/database/digest.hpp"
#include "offline/database/held_run.hpp"
#include "offline/database/profile_run.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/json_file.hpp"

namespace refrain::database {
namespace {

using JsonValue = rapidjson::Value;

constexpr std::uint64_t largest_caliper = std::uint64_t{1} << 30;

/// How a column's values become those of the run.
struct CaliperColumn {
  enum Is : std::uint8_t { Left, Path, MpiFunction, Rank, Exclusive, Inclusive } is = Left;
  std::size_t metric = 0;
  double factor = 1;
};

class CaliperRun final : public HeldRun {
 public:
  explicit CaliperRun(const std::string& path) : HeldRun(path, "caliper"), input_(std::filesystem::path(path)) {
    Digest digest;
    digest.add(input_.read(0, input_.size(), "the file"));
    digest_ = digest.text();
    const rapidjson::Document document = experiment::parse_json_object(input_, largest_caliper, "profile of Caliper");
    read_columns(document);
    read_nodes(list(document, "nodes"));
    for (const JsonValue& row : list(document, "data").GetArray()) read_row(row);
    if (inclusive_only_) make_exclusive();
    finish();
  }

 private:
  [[noreturn]] void refuse(const char* member) const { experiment::refuse_member(input_, member); }

  const JsonValue& list(const rapidjson::Document& document, const char* name) const {
    const auto at = document.FindMember(name);
    if (at == document.MemberEnd() || !at->value.IsArray()) refuse(name);
    return at->value;
  }

  static std::string text_of(const JsonValue& value) {
    return value.IsString() ? experiment::clean_text({value.GetString(), value.GetStringLength()}) : std::string();
  }

  /// Seconds in a unit; nullopt when it is no unit of time.
  static std::optional<double> seconds_of(std::string_view unit) {
    if (unit == "sec" || unit == "s") return 1;
    if (unit == "msec" || unit == "ms") return 1e-3;
    if (unit == "usec" || unit == "us") return 1e-6;
    if (unit == "nsec" || unit == "ns") return 1e-9;
    return std::nullopt;
  }

  void read_columns(const rapidjson::Document& document) {
    const JsonValue &names = list(document, "columns"), &metadata = list(document, "column_metadata");
    if (names.Size() != metadata.Size()) refuse("column_metadata");
    std::vector<std::string> all;
    for (const JsonValue& name : names.GetArray()) all.push_back(text_of(name));
    const auto has = [&](std::string_view name) { return std::ranges::find(all, name) != all.end(); };
    path_name_ = has("path") ? "path" : "source.function#callpath.address";
    if (!has(path_name_)) input_.fail(0, "it has no column path");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const JsonValue& about = metadata[static_cast<rapidjson::SizeType>(i)];
      const auto is_value = about.IsObject() ? about.FindMember("is_value") : about.MemberEnd();
      const bool has_values = about.IsObject() && is_value != about.MemberEnd() && is_value->value.IsTrue();
      columns_.push_back(column_of(all[i], has_values, unit_of(about)));
    }
    const auto any = [&](CaliperColumn::Is is) {
      return std::ranges::any_of(columns_, [&](const CaliperColumn& of) { return of.is == is && of.metric == wall; });
    };
    inclusive_only_ = any(CaliperColumn::Inclusive) && !any(CaliperColumn::Exclusive);
    if (!inclusive_only_ && !any(CaliperColumn::Exclusive)) input_.fail(0, "it has no column of time");
  }

  static std::string unit_of(const JsonValue& about) {
    if (!about.IsObject()) return {};
    for (const char* name : {"unit", "attribute.unit", "time.unit"})
      if (const auto at = about.FindMember(name); at != about.MemberEnd()) return text_of(at->value);
    return {};
  }

  /// Times without a unit are in seconds, or as their names say.
  CaliperColumn column_of(const std::string& name, bool has_values, const std::string& unit) {
    if (name == path_name_) return {CaliperColumn::Path};
    if (name == "mpi.function") return {CaliperColumn::MpiFunction};
    if (name == "mpi.rank" || name == "rank") return {CaliperColumn::Rank};
    if (!has_values) return {};
    const bool is_of_nanoseconds = name.ends_with(".ns");
    const std::string plain = is_of_nanoseconds ? name.substr(0, name.size() - 3) : name;
    const double factor = is_of_nanoseconds ? 1e-9 : seconds_of(unit).value_or(1);
    constexpr std::string_view exclusive[] = {"sum#time.duration", "sum#sum#time.duration", "time.duration", "time",
                                              "sum#avg#sum#time.duration"};
    constexpr std::string_view inclusive[] = {"inclusive#sum#time.duration", "sum#inclusive#sum#time.duration",
                                              "time (inc)", "sum#avg#inclusive#sum#time.duration"};
    // Several columns may have the same times: the first one counts.
    if (std::ranges::find(exclusive, plain) != std::end(exclusive))
      return std::exchange(has_exclusive_, true) ? CaliperColumn{}
                                                 : CaliperColumn{CaliperColumn::Exclusive, wall, factor};
    if (std::ranges::find(inclusive, plain) != std::end(inclusive))
      return std::exchange(has_inclusive_, true) ? CaliperColumn{}
                                                 : CaliperColumn{CaliperColumn::Inclusive, wall, factor};
    if (name.find("inclusive#") != name.npos) return {};  // includes what is below
    for (const std::string_view statistic : {"min#", "max#", "avg#", "percent"})
      if (name.starts_with(statistic)) return {};  // not sums
    const bool is_time = seconds_of(unit).has_value();
    const std::string metric = name.ends_with("region.count") ? "visits" : name;
    return {CaliperColumn::Exclusive, metric_of(metric, is_time ? "s" : "1"), is_time ? factor : 1};
  }

  void read_nodes(const JsonValue& nodes) {
    for (const JsonValue& node : nodes.GetArray()) {
      if (!node.IsObject()) refuse("nodes");
      const auto label = node.FindMember("label"), column = node.FindMember("column"),
                 parent = node.FindMember("parent");
      if (label == node.MemberEnd() || column == node.MemberEnd()) refuse("nodes");
      labels_.push_back(text_of(label->value));
      if (labels_.back().empty()) labels_.back() = "(no name)";
      node_of_.push_back(none);
      if (text_of(column->value) != path_name_) continue;
      std::int32_t above = -1;
      if (parent != node.MemberEnd()) {
        if (!parent->value.IsUint() || parent->value.GetUint() >= labels_.size() - 1) refuse("nodes");
        const std::uint32_t number = node_of_[parent->value.GetUint()];
        above = number == none ? -1 : static_cast<std::int32_t>(number);
      }
      node_of_.back() = node_below(above, labels_.back());
    }
  }

  void read_row(const JsonValue& row) {
    if (!row.IsArray() || row.Size() != columns_.size()) refuse("data");
    Thread thread{0, 0};
    std::optional<std::uint32_t> node;
    std::string function;
    for (rapidjson::SizeType c = 0; c < row.Size(); ++c) {
      const JsonValue& cell = row[c];
      if (columns_[c].is == CaliperColumn::Rank && cell.IsInt64()) thread.first = cell.GetInt64();
      if (columns_[c].is != CaliperColumn::Path && columns_[c].is != CaliperColumn::MpiFunction) continue;
      if (cell.IsNull()) continue;
      if (!cell.IsUint() || cell.GetUint() >= labels_.size()) refuse("data");
      if (columns_[c].is == CaliperColumn::MpiFunction) function = labels_[cell.GetUint()];
      else if (node_of_[cell.GetUint()] != none) node = node_of_[cell.GetUint()];
    }
    if (!node) node = node_below(-1, "(outside of regions)");
    if (!function.empty() && nodes_[*node].name != function)
      node = node_below(static_cast<std::int32_t>(*node), function);
    for (rapidjson::SizeType c = 0; c < row.Size(); ++c) {
      const CaliperColumn& of = columns_[c];
      const bool is_taken = of.is == CaliperColumn::Exclusive || (of.is == CaliperColumn::Inclusive && inclusive_only_);
      if (is_taken && row[c].IsNumber()) take(thread, *node, of, row[c].GetDouble());
    }
  }

  void take(Thread thread, std::uint32_t node, const CaliperColumn& of, double value) {
    if (of.is == CaliperColumn::Inclusive) inclusive_s_[{thread, node}] += value * of.factor;
    else add(thread, node, of.metric, value * of.factor);
  }

  /// For profiles with inclusive times only.
  void make_exclusive() {
    auto own_s = inclusive_s_;
    for (const auto& [place, seconds] : inclusive_s_)
      if (const std::int32_t parent = nodes_[place.second].parent; parent >= 0)
        own_s[{place.first, static_cast<std::uint32_t>(parent)}] -= seconds;
    for (const auto& [place, seconds] : own_s) add(place.first, place.second, wall, std::max(seconds, 0.0));
  }

  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  experiment::InputFile input_;
  std::string path_name_;
  std::vector<CaliperColumn> columns_;
  std::vector<std::string> labels_;     ///< by node of the file
  std::vector<std::uint32_t> node_of_;  ///< by node of the file; `none`: a node of another column
  bool inclusive_only_ = false, has_exclusive_ = false, has_inclusive_ = false;
  std::map<std::pair<Thread, std::uint32_t>, double> inclusive_s_;
};

}  // namespace

bool is_caliper(const std::string& path) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  constexpr std::string_view members[] = {R"("columns")", R"("nodes")"};  // Caliper writes them after the data
  constexpr std::size_t overlap = 16;                                     // of pieces: no member is cut in both
  std::ifstream file(path, std::ios::binary);
  std::string text, next(piece, '\0');
  for (bool is_first = true; file; is_first = false) {
    file.read(next.data(), static_cast<std::streamsize>(next.size()));
    text.append(next, 0, static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (is_first) {
      const std::size_t first = text.find_first_not_of(" \t\r\n");
      if (first == text.npos || text[first] != '{') return false;
    }
    if (std::ranges::any_of(members, [&](std::string_view name) { return text.find(name) != text.npos; })) return true;
    if (text.size() > overlap) text.erase(0, text.size() - overlap);
  }
  return false;
}

std::unique_ptr<RunSource> caliper_run(const std::string& path) { return std::make_unique<CaliperRun>(path); }

}  // namespace refrain::database

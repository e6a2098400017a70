// Format of metrics.json, as version 0.1.0 wrote it:
//
//     {"version": 1, "paths": N, "metrics": [{"name": "", "parent": "", "help": "", "is_sampled": false,
//       "values": [[path, rank, thread, seconds], ...], "locations": [[rank, thread, seconds, standard error], ...]}]}
//
// `path` is the number of a call path in the definitions, which have N call paths.
#include <array>
#include <cmath>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/json_file.hpp"
#include "offline/experiment/kept_analysis.hpp"

namespace refrain::experiment {
namespace {

using Json = rapidjson::Value;

class OldMetrics {
 public:
  explicit OldMetrics(const InputFile& file) : file_(file) {}

  const Json& member(const Json& object, const char* name, bool (Json::*is)() const) const {
    const auto at = object.IsObject() ? object.FindMember(name) : Json::ConstMemberIterator();
    if (!object.IsObject() || at == object.MemberEnd() || !(at->value.*is)()) refuse_member(file_, name);
    return at->value;
  }
  std::string text(const Json& object, const char* name) const {
    const Json& value = member(object, name, &Json::IsString);
    return clean_text({value.GetString(), value.GetStringLength()});
  }
  /// Arrays of four numbers.
  std::vector<std::array<double, 4>> rows(const Json& object, const char* name) const {
    constexpr double most = 2e9;  // rank numbers and seconds are smaller
    std::vector<std::array<double, 4>> rows;
    for (const Json& from : member(object, name, &Json::IsArray).GetArray()) {
      auto& row = rows.emplace_back();
      for (unsigned i = 0; i < row.size(); ++i) {
        const bool is_number = from.IsArray() && from.Size() == row.size() && from[i].IsNumber();
        if (!is_number || !(std::abs(row[i] = from[i].GetDouble()) < most)) refuse_member(file_, name);
      }
    }
    return rows;
  }

 private:
  const InputFile& file_;
};

}  // namespace

std::vector<SavedMetric> parse_old_metrics(const InputFile& file, std::size_t paths) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 30;
  const rapidjson::Document json = parse_json_object(file, largest, "file of metrics");
  const OldMetrics old(file);
  if (old.member(json, "version", &Json::IsInt).GetInt() > 1) file.fail(0, "written by a newer Refrain");
  if (old.member(json, "paths", &Json::IsUint64).GetUint64() != paths) file.fail(0, "it belongs to another experiment");
  std::vector<SavedMetric> metrics;
  for (const Json& from : old.member(json, "metrics", &Json::IsArray).GetArray()) {
    SavedMetric& to =
        metrics.emplace_back(SavedMetric{old.text(from, "name"), old.text(from, "parent"), old.text(from, "help"),
                                         old.member(from, "is_sampled", &Json::IsBool).GetBool()});
    for (const auto& [path, rank, thread, seconds] : old.rows(from, "values")) {
      if (path < -1 || path >= static_cast<double>(paths)) refuse_member(file, "values");
      to.values.push_back({static_cast<std::int64_t>(path), static_cast<std::int32_t>(rank),
                           static_cast<std::int32_t>(thread), seconds});
    }
    for (const auto& [rank, thread, seconds, error_s] : old.rows(from, "locations"))
      to.locations.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(thread), seconds, error_s});
  }
  return metrics;
}

}  // namespace refrain::experiment

#include "offline/experiment/saved_metrics.hpp"

#include <cmath>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/json_file.hpp"
#include "offline/experiment/whole_file.hpp"

namespace refrain::experiment {
namespace {

constexpr int version = 1;
constexpr std::uint64_t largest = std::uint64_t{1} << 30;

using Json = rapidjson::Value;

class Reader {
 public:
  Reader(const InputFile& file, std::size_t paths) : file_(file), paths_(paths) {}

  SavedMetric metric(const Json& json) const {
    if (!json.IsObject()) refuse("metrics");
    SavedMetric metric;
    metric.name = text(json, "name");
    metric.parent = text(json, "parent");
    metric.help = text(json, "help");
    metric.is_sampled = member(json, "is_sampled", &Json::IsBool).GetBool();
    for (const Json& row : member(json, "values", &Json::IsArray).GetArray()) {
      check(row, "values");
      const std::int64_t path = row[0].IsInt64() ? row[0].GetInt64() : -2;
      if (path < -1 || path >= static_cast<std::int64_t>(paths_)) refuse("values");
      metric.values.push_back({path, integer(row[1], "values"), integer(row[2], "values"), seconds(row[3], "values")});
    }
    for (const Json& row : member(json, "locations", &Json::IsArray).GetArray()) {
      check(row, "locations");
      metric.locations.push_back({integer(row[0], "locations"), integer(row[1], "locations"),
                                  seconds(row[2], "locations"), number(row[3], "locations")});
    }
    return metric;
  }

  const Json& member(const Json& object, const char* name, bool (Json::*is)() const) const {
    const auto at = object.FindMember(name);
    if (at == object.MemberEnd() || !(at->value.*is)()) refuse(name);
    return at->value;
  }
  [[noreturn]] void refuse(const char* name) const { refuse_member(file_, name); }

 private:
  std::string text(const Json& object, const char* name) const {
    const Json& value = member(object, name, &Json::IsString);
    return clean_text({value.GetString(), value.GetStringLength()});
  }
  void check(const Json& row, const char* name) const {
    if (!row.IsArray() || row.Size() != 4) refuse(name);
  }
  std::int32_t integer(const Json& value, const char* name) const {
    if (!value.IsInt()) refuse(name);
    return value.GetInt();
  }
  double number(const Json& value, const char* name) const {
    if (!value.IsNumber() || !std::isfinite(value.GetDouble())) refuse(name);
    return value.GetDouble();
  }
  double seconds(const Json& value, const char* name) const {
    const double seconds = number(value, name);
    if (seconds < 0) refuse(name);
    return seconds;
  }

  const InputFile& file_;
  std::size_t paths_;
};

std::string json_of(std::size_t paths, std::span<const SavedMetric> metrics) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto text = [&](const char* name, const std::string& value) {
    json.Key(name);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  json.Key("version");
  json.Int(version);
  json.Key("paths");
  json.Uint64(paths);
  json.Key("metrics");
  json.StartArray();
  for (const SavedMetric& metric : metrics) {
    json.StartObject();
    text("name", metric.name);
    text("parent", metric.parent);
    text("help", metric.help);
    json.Key("is_sampled");
    json.Bool(metric.is_sampled);
    json.Key("values");
    json.StartArray();
    for (const SavedMetric::Value& of : metric.values) {
      json.StartArray();
      json.Int64(of.path);
      json.Int(of.rank);
      json.Int(of.thread);
      json.Double(of.seconds);
      json.EndArray();
    }
    json.EndArray();
    json.Key("locations");
    json.StartArray();
    for (const SavedMetric::OfLocation& of : metric.locations) {
      json.StartArray();
      json.Int(of.rank);
      json.Int(of.thread);
      json.Double(of.seconds);
      json.Double(of.error_s);
      json.EndArray();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

void write_saved_metrics(const std::filesystem::path& experiment, std::size_t paths,
                         std::span<const SavedMetric> metrics) {
  const std::string text = json_of(paths, metrics);
  write_whole_file(experiment / saved_metrics_name, std::as_bytes(std::span(text)));
}

std::vector<SavedMetric> parse_saved_metrics(const InputFile& file, std::size_t paths) {
  const rapidjson::Document json = parse_json_object(file, largest, "file of metrics");
  const Reader reader(file, paths);
  if (const int of = reader.member(json, "version", &Json::IsInt).GetInt(); of > version)
    file.fail(0, "written by a newer Refrain (version " + std::to_string(of) + " of the file)");
  if (reader.member(json, "paths", &Json::IsUint64).GetUint64() != paths)
    file.fail(0, "it belongs to another experiment");
  std::vector<SavedMetric> metrics;
  for (const Json& of : reader.member(json, "metrics", &Json::IsArray).GetArray()) metrics.push_back(reader.metric(of));
  return metrics;
}

}  // namespace refrain::experiment

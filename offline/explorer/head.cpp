// The section `head`: JSON.
#include <algorithm>
#include <map>

#include "offline/explorer/codes.hpp"
#include "offline/explorer/sections.hpp"
#include "offline/report/json_writer.hpp"

namespace refrain::explorer {
namespace {

using report::JsonWriter;

constexpr const char* error_names[] = {"exact", "samples", "given"};
constexpr const char* unit_kinds[] = {"run", "class", "iteration"};

/// A table of strings: each is stored once and has a number.
class Strings {
 public:
  std::size_t number(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, all_.size());
    if (is_new) all_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> all_;
};

/// Writes an array of `value(row)` for each row.
template <class Rows, class Value>
void column(JsonWriter& json, const char* name, const Rows& rows, const Value& value) {
  json.member_array(name, [&] {
    for (const auto& row : rows) json.value(value(row));
  });
}

void put_samples(JsonWriter& json, const Samples& samples) {
  json.member("seconds", samples.seconds);
  json.member("variance", samples.variance);
}

void put_metrics(JsonWriter& json, const Run& run) {
  json.member_array("metrics", [&] {
    for (const Metric& metric : run.metrics)
      json.object([&] {
        json.member("name", metric.name);
        json.member("title", metric.title);
        json.member("unit", metric.unit);
        json.member("parent", metric.parent);
        json.member("help", metric.help);
        json.member("advice", metric.advice);
        json.member("overlaps", metric.overlaps);
        json.member("by_place", metric.by_place);
        json.member("of_run_only", metric.of_run_only);
        json.member("error", error_names[metric.error]);
      });
  });
}

void put_nodes(JsonWriter& json, const Run& run, Strings& strings) {
  json.member_object("nodes", [&] {
    column(json, "name", run.nodes, [&](const Node& node) { return strings.number(node.name); });
    column(json, "parent", run.nodes, [](const Node& node) { return node.parent; });
    column(json, "kind", run.nodes, [](const Node& node) { return static_cast<int>(node.kind); });
    if (!run.runtimes.empty())
      column(json, "runtime", run.runtimes, [](analysis::Runtime runtime) { return static_cast<int>(runtime); });
    json.member_array("marked", [&] {
      for (std::size_t i = 0; i < run.nodes.size(); ++i)
        if (run.nodes[i].marked) json.value(i);
    });
  });
}

void put_places(JsonWriter& json, const Run& run, Strings& strings) {
  json.member_object("places", [&] {
    column(json, "host", run.places, [&](const Place& place) { return strings.number(place.host); });
    column(json, "rank", run.places, [](const Place& place) { return place.rank; });
    column(json, "thread", run.places, [](const Place& place) { return place.thread; });
    column(json, "last_rank", run.places, [](const Place& place) { return std::max(place.rank, place.last_rank); });
    column(json, "locations", run.places, [](const Place& place) { return place.locations; });
    column(json, "seconds", run.places, [](const Place& place) { return place.samples.seconds; });
    column(json, "variance", run.places, [](const Place& place) { return place.samples.variance; });
  });
}

void put_units(JsonWriter& json, const Run& run) {
  json.member_array("units", [&] {
    for (const Unit& unit : run.units)
      json.object([&] {
        json.member("kind", unit_kinds[unit.kind]);
        json.member("name", unit.name);
        json.member("loop", unit.loop);
        json.member("count", unit.count);
        json.member("first", unit.first);
        json.member("last", unit.last);
        json.member("wall", unit.wall_s);
        json.member("mpi", unit.mpi_s);
        json.member("user", unit.user_s);
        json.member("reconstructed", unit.reconstructed);
        json.member("has_values", unit.has_values);
        json.member("by_place", unit.by_place);
        json.member_array("ranges", [&] {
          for (const auto& [first, last] : unit.ranges) json.value(std::vector<std::int64_t>{first, last});
        });
      });
  });
}

/// `offset`: of the next curve in the section, counted in numbers. The order must be that of series_section().
void put_series(JsonWriter& json, const Loop& loop, std::size_t& offset) {
  json.member_object("series", [&] {
    json.member("bins", loop.bins);
    json.member("width", loop.width);
    json.member_array("rows", [&] {
      for (const Curves& curves : loop.curves) {
        json.object([&] {
          if (curves.node) json.member("node", *curves.node);
          else json.member("metric", curves.metric);
          json.member("unit", curves.unit);
          json.member("bins", curves.median.size());
          json.member("width", curves.width);
          json.member("places", curves.places);
          json.member("offset", offset);
        });
        offset += 4 * curves.median.size();
      }
    });
    json.member("classes", offset);
    offset += static_cast<std::size_t>(loop.bins);
  });
}

/// `offset`: of the next map in the section, in bytes. The order must be that of maps_section().
void put_maps(JsonWriter& json, const Loop& loop, std::size_t& offset) {
  json.member_array("maps", [&] {
    for (const Map& map : loop.maps)
      json.object([&] {
        json.member("metric", map.metric);
        json.member("unit", map.unit);
        json.member("rows", map.rows);
        json.member("columns", map.columns);
        json.member("places_in_row", map.places_in_row);
        json.member("width", map.width);
        json.member("scale", scale_of(map.mean));
        json.member("peak_scale", scale_of(map.peak));
        json.member("peaks", !map.peak.empty());
        json.member("offset", offset);
        offset += 2 * (map.mean.size() + map.peak.size());
      });
  });
}

void put_findings(JsonWriter& json, const Run& run) {
  json.member_array("findings", [&] {
    for (const Told& told : run.findings)
      json.object([&] {
        json.member("rule", told.rule);
        json.member("share", told.share);
        json.member("error", told.error);
        json.member("text", told.text);
        if (told.part_of) json.member("part_of", static_cast<std::int64_t>(*told.part_of));
        json.member_object("select", [&] {
          if (!told.metric.empty()) json.member("metric", told.metric);
          if (told.node) json.member("node", *told.node);
          if (!told.ranks.empty())
            json.member_array("ranks", [&] {
              for (const auto& [first, last] : told.ranks) json.value(std::vector<std::int32_t>{first, last});
            });
          if (told.loop) json.member("loop", *told.loop);
          if (told.iterations)
            json.member("iterations", std::vector<std::int64_t>{told.iterations->first, told.iterations->second});
        });
      });
  });
}

void put_properties(JsonWriter& json, const Run& run) {
  json.member_array("properties", [&] {
    for (const Property& property : run.properties)
      json.object([&] {
        json.member("name", property.name);
        json.member("context", property.context);
        json.member("severity", property.severity);
        json.member("confidence", property.confidence);
        json.member("node", property.node ? static_cast<std::int64_t>(*property.node) : std::int64_t{-1});
      });
  });
}

void put_efficiencies(JsonWriter& json, const Run& run) {
  json.member_array("efficiencies", [&] {
    for (const EfficiencyTree& of : run.efficiencies)
      json.object([&] {
        json.member("loop", of.loop);
        json.member("why", of.why);
        json.member_array("factors", [&] {
          for (const EfficiencyTree::Factor& factor : of.factors)
            json.object([&] {
              json.member("name", factor.name);
              json.member("title", factor.title);
              json.member("depth", factor.depth);
              if (factor.value) json.member("value", *factor.value);
              else json.member("value", nullptr);
              json.member("error", factor.error);
            });
        });
      });
  });
}

}  // namespace

std::string head_section(const Run& run) {
  std::string out;
  JsonWriter json(out);
  Strings strings;
  json.object([&] {
    json.member("format", format);
    json.member("name", run.name);
    json.member("source", run.source);
    json.member("ranks", run.ranks);
    json.member_array("facts", [&] {
      for (const auto& [label, text] : run.facts) json.value(std::vector<std::string>{label, text});
    });
    json.member_array("lacks", [&] {
      for (const Lack& lack : run.lacks)
        json.object([&] {
          json.member("view", lack.view);
          json.member("text", lack.text);
        });
    });
    put_metrics(json, run);
    put_nodes(json, run, strings);
    put_places(json, run, strings);
    json.member_object("samples", [&] { put_samples(json, run.samples); });
    put_units(json, run);
    json.member_array("loops", [&] {
      std::size_t series = 0, maps = 0;
      for (const Loop& loop : run.loops)
        json.object([&] {
          json.member("name", loop.name);
          json.member("node", loop.node);
          json.member("iterations", loop.iterations);
          column(json, "ranks", loop.locations, [](const auto& of) { return of.first; });
          column(json, "threads", loop.locations, [](const auto& of) { return of.second; });
          put_series(json, loop, series);
          put_maps(json, loop, maps);
        });
    });
    put_findings(json, run);
    put_properties(json, run);
    put_efficiencies(json, run);
    json.member("strings", strings.all());
  });
  json.end_document();
  return out;
}

}  // namespace refrain::explorer

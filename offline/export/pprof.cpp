/// The format of pprof (google/pprof, proto/profile.proto): a compressed Protocol Buffers message. It has a sample for
/// each call path of a location, with rank and thread as labels; stacks go from the leaf to the root. Values are whole
/// numbers: nanoseconds, bytes, counts. Viewers show the last value type unless told otherwise, so wall time is the
/// last. Labels are strings: readers take a number 0 for no label (profile/encode.go, postDecode), and rank 0 would
/// have none.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "offline/experiment/clean_text.hpp"
#include "offline/export/formats.hpp"
#include "offline/export/gzip_stream.hpp"
#include "offline/export/protobuf.hpp"

namespace refrain::exports {
namespace {

/// Fields of profile.proto.
namespace pprof_field {
enum Profile : std::uint32_t {
  SampleType = 1,
  Sample = 2,
  Location = 4,
  Function = 5,
  StringTable = 6,
  TimeNanos = 9,
  Comment = 13
};
enum ValueType : std::uint32_t { Type = 1, Unit = 2 };
enum OfSample : std::uint32_t { LocationId = 1, Value = 2, Label = 3 };
enum OfLabel : std::uint32_t { Key = 1, Text = 2 };
enum OfLocation : std::uint32_t { LocationNumber = 1, Line = 4 };
enum OfLine : std::uint32_t { FunctionId = 1 };
enum OfFunction : std::uint32_t { FunctionNumber = 1, Name = 2, SystemName = 3 };
}  // namespace pprof_field

class PprofWriter {
 public:
  PprofWriter(Run& run, OutputFile& out) : run_(run), out_(out) {
    // Counts first, wall time last.
    for (std::size_t m = 0; m < run.metrics().size(); ++m) order_.push_back(m);
    std::ranges::stable_sort(order_, {}, [&](std::size_t m) {
      const run::Metric& metric = run.metrics()[m];
      return metric.name == wall_metric ? 2 : metric.unit == "s" ? 1 : 0;
    });
  }

  void write() {
    (void)string("");
    ProtoMessage profile;
    for (const std::size_t m : order_) {
      const run::Metric& metric = run_.metrics()[m];
      ProtoMessage type;
      type.integer(pprof_field::Type, string(metric.name));
      type.integer(pprof_field::Unit, string(metric.unit == "s"   ? "nanoseconds"
                                             : metric.unit == "B" ? "bytes"
                                                                  : "count"));
      profile.message(pprof_field::SampleType, type);
    }
    add_functions(profile);
    add_labels();
    profile.integer(pprof_field::Comment, string(run_.facts().creator + ", schema 1, " + run_.facts().program));
    if (run_.facts().started_ns > 0) profile.integer(pprof_field::TimeNanos, run_.facts().started_ns);
    for (const std::string& text : strings_) profile.text(pprof_field::StringTable, text);
    out_.write(profile.bytes());
    for (std::size_t location = 0; location < run_.locations().size(); ++location) write_samples(location);
    out_.finish();
  }

 private:
  std::int64_t string(std::string_view text) {
    const std::string clean = experiment::clean_text(text);
    const auto [at, is_new] = string_of_.try_emplace(clean, static_cast<std::int64_t>(strings_.size()));
    if (is_new) strings_.push_back(clean);
    return at->second;
  }

  /// Adds a pprof location for each function: call sites are not distinguished.
  void add_functions(ProtoMessage& profile) {
    std::map<std::string_view, std::int64_t> numbers;
    for (const RunNode& node : run_.nodes()) {
      const auto [at, is_new] = numbers.try_emplace(node.name, static_cast<std::int64_t>(numbers.size()) + 1);
      function_of_.push_back(at->second);
      if (!is_new) continue;
      ProtoMessage function, line, location;
      function.integer(pprof_field::FunctionNumber, at->second);
      function.integer(pprof_field::Name, string(node.name));
      function.integer(pprof_field::SystemName, string(node.name));
      profile.message(pprof_field::Function, function);
      line.integer(pprof_field::FunctionId, at->second);
      location.integer(pprof_field::LocationNumber, at->second);
      location.message(pprof_field::Line, line);
      profile.message(pprof_field::Location, location);
    }
  }

  /// Makes the labels of each location in advance, since the string table comes before the samples.
  void add_labels() {
    for (const RunLocation& of : run_.locations()) {
      ProtoMessage labels;
      for (const auto& [key, number] : {std::pair("rank", of.rank), std::pair("thread", of.thread)}) {
        ProtoMessage label;
        label.integer(pprof_field::Key, string(key));
        label.integer(pprof_field::Text, string(std::to_string(number)));
        labels.message(pprof_field::Label, label);
      }
      labels_.push_back(std::move(labels));
    }
  }

  void write_samples(std::size_t location) {
    std::vector<std::int64_t> stack, values;
    ProtoMessage top;
    run_.for_each_node(location, [&](std::uint32_t node, std::span<const double> by_metric) {
      values.clear();
      for (const std::size_t m : order_)
        values.push_back(std::llround(by_metric[m] * (run_.metrics()[m].unit == "s" ? 1e9 : 1)));
      if (std::ranges::all_of(values, [](std::int64_t value) { return value == 0; })) return;
      stack.clear();
      for (auto at = static_cast<std::int32_t>(node); at >= 0; at = run_.nodes()[static_cast<std::size_t>(at)].parent)
        stack.push_back(function_of_[static_cast<std::size_t>(at)]);
      ProtoMessage sample;
      sample.packed<std::int64_t>(pprof_field::LocationId, stack);
      sample.packed<std::int64_t>(pprof_field::Value, values);
      top.clear();
      sample.fields(labels_[location]);
      top.message(pprof_field::Sample, sample);
      out_.write(top.bytes());
    });
  }

  Run& run_;
  GzipStream out_;
  std::vector<std::size_t> order_;  ///< metrics, in the order of their values
  std::map<std::string, std::int64_t, std::less<>> string_of_;
  std::vector<std::string> strings_;
  std::vector<std::int64_t> function_of_;  ///< by node
  std::vector<ProtoMessage> labels_;       ///< by location
};

}  // namespace

void write_pprof(Run& run, OutputFile& out) { PprofWriter(run, out).write(); }

}  // namespace refrain::exports

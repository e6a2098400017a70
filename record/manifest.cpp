#include "record/manifest.hpp"

#include <cerrno>
#include <cmath>
#include <fcntl.h>

#include "config/line.hpp"
#include "config/utf8.hpp"
#include "format/profile_file.hpp"
#include "platform/pages.hpp"
#include "record/calendar.hpp"
#include "record/error_text.hpp"
#include "record/output_file.hpp"

namespace refrain::record {

namespace {

/// Writes objects and arrays, one member per line.
class JsonWriter {
 public:
  explicit JsonWriter(platform::Bytes& out) : out_(out) {}

  void open(const char* name, char bracket) {
    key(name);
    put({&bracket, 1});
    first_ = true;
    ++depth_;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) new_line();
    put({&bracket, 1});
    first_ = false;
  }
  void member(const char* name, const char* value) {
    key(name);
    string(value ? value : "");
  }
  void member(const char* name, std::int64_t value) {
    key(name);
    integer(value);
  }
  /// Writes one decimal: a calibrated cost is not more exact.
  void member(const char* name, double value) {
    key(name);
    if (!(std::fabs(value) < 1e15)) return put("null");
    if (value < 0) put("-");
    const auto tenths = static_cast<std::int64_t>(std::fabs(value) * 10 + 0.5);
    integer(tenths / 10);
    put(".");
    integer(tenths % 10);
  }
  void time(const char* name, std::int64_t epoch_ns) {
    char text[32];
    config::Line line(text, sizeof text);
    append_iso_time(line, epoch_ns);
    member(name, text);
  }
  void end_of_file() { put("\n"); }
  bool failed() const { return failed_; }

 private:
  void key(const char* name) {
    if (depth_ == 0) return;
    if (!first_) put(",");
    new_line();
    first_ = false;
    if (name == nullptr) return;
    string(name);
    put(": ");
  }
  void new_line() {
    put("\n");
    for (int i = 0; i < depth_; ++i) put("  ");
  }
  void integer(std::int64_t value) {
    char digits[24];
    config::Line(digits, sizeof digits) << value;
    put(digits);
  }
  void string(std::string_view text) {
    put("\"");
    while (!text.empty()) {
      const std::size_t n = config::utf8_length(text);
      const char c = text[0];
      if (n == 0) {
        put("\\ufffd");
      } else if (c == '"' || c == '\\') {
        put("\\");
        put({&c, 1});
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        const char escape[] = {'\\', 'u', '0', '0', "01234567"[c >> 4], "0123456789abcdef"[c & 15]};
        put({escape, sizeof escape});
      } else {
        put(text.substr(0, n));
      }
      text.remove_prefix(n == 0 ? 1 : n);
    }
    put("\"");
  }
  void put(std::string_view text) {
    if (!out_.append(reinterpret_cast<const std::byte*>(text.data()), text.size())) failed_ = true;
  }

  platform::Bytes& out_;
  int depth_ = 0;
  bool first_ = true;
  bool failed_ = false;
};

const char* state_name(ExperimentState state) {
  switch (state) {
    case ExperimentState::Running: return "running";
    case ExperimentState::Complete: return "complete";
    case ExperimentState::Incomplete: break;
  }
  return "incomplete";
}

void write_cost(JsonWriter& json, const char* name, const CalibratedCost& cost, double ticks_per_second) {
  const double ns = 1e9 / ticks_per_second;
  json.open(name, '{');
  json.member("median", cost.median * ns);
  json.member("low", cost.low * ns);
  json.member("high", cost.high * ns);
  json.close('}');
}

void write_json(JsonWriter& json, const ManifestRecord& record) {
  json.open(nullptr, '{');
  json.member("refrain", REFRAIN_VERSION);
  json.member("format", std::int64_t{format::major_version});
  json.member("state", state_name(record.state));
  json.open("command", '[');
  for (const char* argument : record.command) json.member(nullptr, argument);
  json.close(']');
  json.member("executable", record.executable);
  json.member("working_directory", record.working_directory);
  json.member("ranks", std::int64_t{record.ranks});
  json.member("host", record.host);
  json.member("mpi_library", record.mpi_library);
  json.time("started", record.started_epoch_ns);
  if (record.ended_epoch_ns != 0) json.time("ended", record.ended_epoch_ns);
  json.open("configuration", '{');
  for (const NameValue& option : record.configuration) json.member(option.name, option.value);
  json.close('}');
  if (record.ticks_per_second > 0) {
    json.open("overhead_ns", '{');
    write_cost(json, "mpi_call", record.call_cost, record.ticks_per_second);
    write_cost(json, "tick", record.tick_cost, record.ticks_per_second);
    json.close('}');
  }
  json.close('}');
  json.end_of_file();
}

}  // namespace

bool write_manifest(const char* directory, const ManifestRecord& record, char* line, std::size_t line_size) {
  const ErrnoKeeper keeper;
  const FileSizeSignalBlocker blocker;
  line[0] = '\0';
  platform::Bytes text;
  JsonWriter json(text);
  write_json(json, record);

  const int error = json.failed() ? ENOMEM : write_whole(directory, format::manifest_name, O_TRUNC, {text.view()});
  if (error == 0) return true;
  config::Line out(line, line_size);
  out << "'";
  out.foreign(directory, 600) << "/" << format::manifest_name << "' cannot be written: " << error_text(error);
  return false;
}

}  // namespace refrain::record

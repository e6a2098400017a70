#include "offline/report/json_writer.hpp"

#include <cmath>
#include <rapidjson/writer.h>

#include "offline/experiment/clean_text.hpp"

namespace refrain::report {
namespace {

/// The stream that RapidJSON writes to.
class Output {
 public:
  using Ch = char;
  explicit Output(std::string& text) : text_(text) {}
  explicit Output(std::function<void(std::string_view)> sink) : text_(own_), sink_(std::move(sink)) {}
  Output(const Output&) = delete;
  void Put(char c) {
    const bool begins_line = line_depth_ >= 0;
    if (begins_line && c != ',') begin_line();
    text_ += c;
    if (begins_line && c == ',') begin_line();
  }
  void Flush() {}
  void raw(std::string_view text) {
    if (sink_ && text.size() >= piece) {
      hand_over(1);
      return sink_(text);
    }
    text_ += text;
    hand_over(piece);
  }
  /// Hands the text to the sink if it has at least `least` bytes.
  void hand_over(std::size_t least) {
    if (!sink_ || text_.size() < least) return;
    sink_(text_);
    text_.clear();
  }
  static constexpr std::size_t piece = 64 << 10;
  /// The next element begins a line, after the comma in front of it.
  void next_on_line(int depth) { line_depth_ = depth; }

 private:
  void begin_line() {
    text_ += '\n';
    text_.append(static_cast<std::size_t>(2 * line_depth_), ' ');
    line_depth_ = -1;
  }

  std::string own_;
  std::string& text_;
  std::function<void(std::string_view)> sink_;
  int line_depth_ = -1;
};

}  // namespace

struct JsonWriter::Impl {
  template <class To>
  Impl(To&& out, int line_depth) : output(std::forward<To>(out)), writer(output), line_depth(line_depth) {}

  void before_element() {
    if (depth > 0 && depth <= line_depth && !after_key) output.next_on_line(depth);
    after_key = false;
    output.hand_over(Output::piece);
  }

  Output output;
  rapidjson::Writer<Output> writer;
  int line_depth;
  int depth = 0;
  bool after_key = false;
};

JsonWriter::JsonWriter(std::string& out, int line_depth) : impl_(std::make_unique<Impl>(out, line_depth)) {}
JsonWriter::JsonWriter(std::function<void(std::string_view)> out, int line_depth)
    : impl_(std::make_unique<Impl>(std::move(out), line_depth)) {}
JsonWriter::~JsonWriter() = default;

int JsonWriter::set_line_depth(int depth) { return std::exchange(impl_->line_depth, depth); }

void JsonWriter::end_document() {
  impl_->output.raw("\n");
  impl_->output.hand_over(1);
}

void JsonWriter::raw(std::string_view text) { impl_->output.raw(text); }

void JsonWriter::value(bool value) {
  impl_->before_element();
  impl_->writer.Bool(value);
}

void JsonWriter::value(double value) {
  if (!std::isfinite(value)) return this->value(nullptr);
  impl_->before_element();
  impl_->writer.Double(value);
}

void JsonWriter::value(std::nullptr_t) {
  impl_->before_element();
  impl_->writer.Null();
}

void JsonWriter::value(std::string_view value) {
  impl_->before_element();
  std::string memory;
  const std::string_view good = experiment::as_utf8(value, memory);
  impl_->writer.String(good.data() ? good.data() : "", static_cast<rapidjson::SizeType>(good.size()));
}

void JsonWriter::key(std::string_view name) {
  value(name);  // RapidJSON recognises keys by their position
  impl_->after_key = true;
}

void JsonWriter::integer(std::int64_t value) {
  impl_->before_element();
  impl_->writer.Int64(value);
}

void JsonWriter::natural(std::uint64_t value) {
  impl_->before_element();
  impl_->writer.Uint64(value);
}

void JsonWriter::begin(char bracket) {
  impl_->before_element();
  if (bracket == '{') impl_->writer.StartObject();
  else impl_->writer.StartArray();
  ++impl_->depth;
}

void JsonWriter::end(char bracket) {
  --impl_->depth;
  if (bracket == '}') impl_->writer.EndObject();
  else impl_->writer.EndArray();
}

}  // namespace refrain::report

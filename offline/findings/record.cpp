#include "offline/findings/record.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <type_traits>

namespace refrain::findings {
namespace {

constexpr char end_of_value = '\x1f';

class Writer {
 public:
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void operator()(const Number& number) {
    text_ += fmt::format("{}{}", number, end_of_value);
  }
  void operator()(const std::string& text) {
    for (const char c : text) text_ += c == '\n' || c == end_of_value ? ' ' : c;
    text_ += end_of_value;
  }
  template <class Values, class Each>
  void list(Values& values, const Each& each) {
    (*this)(values.size());
    for (auto& value : values) each(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool is_good() const { return is_good_ && rest_.empty(); }

  template <class Number>
    requires std::is_arithmetic_v<Number>
  void operator()(Number& number) {
    const std::string_view text = next();
    if constexpr (std::is_same_v<Number, bool>) {
      number = text == "true";
    } else {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      is_good_ &= error == std::errc() && end == text.data() + text.size();
    }
  }
  void operator()(std::string& text) { text = next(); }
  template <class Values, class Each>
  void list(Values& values, const Each& each) {
    std::size_t size = 0;
    (*this)(size);
    // Each value has an end.
    is_good_ &= size <= rest_.size();
    values.resize(is_good_ ? size : 0);
    for (auto& value : values) each(value);
  }

 private:
  std::string_view next() {
    const std::size_t end = rest_.find(end_of_value);
    if (end == rest_.npos) is_good_ = false;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(text.size() + 1, rest_.size()));
    return text;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

/// All members, in one order for both directions. An optional one is a list of at most one.
template <class Archive>
void carry(Archive& to, Finding& f) {
  const auto value = [&](auto& of) { to(of); };
  const auto enumerator = [&](auto& of) {
    auto number = static_cast<unsigned>(of);
    to(number);
    of = static_cast<std::decay_t<decltype(of)>>(number);
  };
  const auto path = [&](Path& of) { to.list(of, value); };
  const auto ranks = [&](Ranks& of) { to.list(of.ranges, [&](auto& range) { to(range.first), to(range.second); }); };
  const auto optional = [&]<class Value>(std::optional<Value>& of, const auto& each) {
    std::vector<Value> one;
    if (of) one.push_back(std::move(*of));
    to.list(one, each);
    of = one.empty() ? std::nullopt : std::optional(std::move(one.front()));
  };
  to(f.rule), to(f.share), to(f.error);
  to.list(f.paths, path);
  ranks(f.ranks);
  optional(f.iterations, [&](Iterations& of) {
    to(of.loop);
    for (std::int64_t* number : {&of.of, &of.first, &of.last, &of.count, &of.period, &of.ranks_read, &of.ranks})
      to(*number);
    to.list(of.numbers, value);
    to(of.is_one_of_several);
  });
  Cause& cause = f.cause;
  path(cause.path);
  to(cause.is_user), enumerator(cause.off_cpu), to(cause.is_many);
  to.list(cause.parts, [&](Cause::Part& part) { to(part.function), to(part.share); });
  ranks(cause.ranks);
  to(cause.is_in_turn), to(cause.share);
  std::vector<std::pair<Figure, double>> figures(f.figures.begin(), f.figures.end());
  to.list(figures, [&](auto& of) { enumerator(of.first), to(of.second); });
  f.figures = {figures.begin(), figures.end()};
  optional(f.cores, [&](analysis::SharedCores& of) {
    to(of.host), to(of.ranks), to(of.threads), to(of.cores), to(of.quota);
  });
  to(f.method);
  to.list(f.names, value);
  optional(f.part_of, value);
}

}  // namespace

std::string to_line(const Finding& finding) {
  Writer writer;
  Finding copy = finding;
  carry(writer, copy);
  return writer.take();
}

std::optional<Finding> from_line(std::string_view line) {
  Reader reader(line);
  Finding finding;
  carry(reader, finding);
  const bool has_figures = std::ranges::all_of(
      finding.figures, [](const auto& of) { return static_cast<std::size_t>(of.first) < figure_names().size(); });
  if (!reader.is_good() || !has_figures || finding.cause.off_cpu > OffCpu::Unknown) return std::nullopt;
  return finding;
}

}  // namespace refrain::findings

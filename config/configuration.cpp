#include "config/configuration.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <unistd.h>

#include "config/edit_distance.hpp"
#include "config/iteration_at.hpp"
#include "config/line.hpp"
#include "config/metric_list.hpp"
#include "config/number.hpp"
#include "config/trace_selection.hpp"

namespace refrain::config {
namespace {

using std::string_view;

constexpr string_view prefix = "REFRAIN_";
constexpr string_view internal_prefix = "REFRAIN_INTERNAL_";  // for `refrain exec` and the runtime
constexpr string_view boolean_words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};  // odd indexes: on
constexpr std::size_t longest_shown = 64;
constexpr std::size_t longest_path = 1023;

enum class Kind : std::uint8_t { Boolean, Integer, Size, Choice, Path, Text };

/// Whether a field of this type can hold the values of a row of the kind.
template <typename Field>
constexpr bool accepts(Kind kind) {
  switch (kind) {
    case Kind::Boolean: return std::is_same_v<Field, bool>;
    case Kind::Integer:
    case Kind::Size: return std::is_same_v<Field, std::int64_t>;
    case Kind::Choice: return std::is_enum_v<Field> && sizeof(Field) == sizeof(std::uint8_t);
    case Kind::Path:
    case Kind::Text: return std::is_same_v<Field, char[longest_path + 1]>;
  }
  return false;
}

/// How the text of one row becomes a field of Configuration, and back.
struct Rule {
  string_view variable;
  std::size_t offset;
  bool (*accepts)(Kind);
  string_view default_value;
  Kind kind;
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
  bool zero_too = false;
  string_view choices[4] = {};  ///< empty ones do not exist
  bool (*is_good)(string_view) = nullptr;
};

constexpr std::int64_t table_number(string_view text) { return parse_number(text, true).value; }

// The members of Rule for each kind in options.def.
#define AS_BOOLEAN .kind = Kind::Boolean
#define AS_INTEGER(low, high, unit) \
  .kind = Kind::Integer, .smallest = table_number(#low), .largest = table_number(#high)
#define AS_INTEGER_OR_ZERO(low, high, unit) AS_INTEGER(low, high, unit), .zero_too = true
#define AS_SIZE(low, high) .kind = Kind::Size, .smallest = table_number(#low), .largest = table_number(#high)
#define AS_SIZE_OR_ZERO(low, high) AS_SIZE(low, high), .zero_too = true
#define AS_CHOICE(first, second) .kind = Kind::Choice, .choices = {#first, #second}
#define AS_CHOICE_OF_4(first, second, third, fourth) .kind = Kind::Choice, .choices = {#first, #second, #third, #fourth}
#define AS_TEXT(check, allowed) .kind = Kind::Text, .is_good = check
#define AS_PATH .kind = Kind::Path
#define OPTION(field, name, as_kind, standard, ...)        \
  Rule{.variable = #name,                                  \
       .offset = offsetof(Configuration, field),           \
       .accepts = accepts<decltype(Configuration::field)>, \
       .default_value = standard,                          \
       as_kind},
constexpr Rule rules[] = {
#include "config/options.def"
};

constexpr bool is_sound(const Rule& rule) {
  if (!rule.accepts(rule.kind)) return false;
  if (rule.kind != Kind::Integer && rule.kind != Kind::Size) return true;
  ParsedNumber number = parse_number(rule.default_value, rule.kind == Kind::Size);
  return number.fault == NumberFault::None && rule.smallest < rule.largest && number.value <= rule.largest &&
         (number.value >= rule.smallest || (rule.zero_too && number.value == 0));
}
static_assert(std::all_of(std::begin(rules), std::end(rules), is_sound));

template <typename Field>
Field& field_of(Configuration& configuration, const Rule& rule) {
  return *reinterpret_cast<Field*>(reinterpret_cast<char*>(&configuration) + rule.offset);
}

template <typename Field>
const Field& field_of(const Configuration& configuration, const Rule& rule) {
  return *reinterpret_cast<const Field*>(reinterpret_cast<const char*>(&configuration) + rule.offset);
}

/// Stores the value. Returns what is wrong with it, or an empty text.
string_view store_number(Configuration& out, const Rule& rule, string_view value) {
  ParsedNumber number = parse_number(value, rule.kind == Kind::Size);
  if (number.fault == NumberFault::NotANumber) return rule.kind == Kind::Size ? "is not a size" : "is not a number";
  bool inside = number.fault == NumberFault::None && ((number.value >= rule.smallest && number.value <= rule.largest) ||
                                                      (rule.zero_too && number.value == 0));
  if (!inside) return "is out of range";
  field_of<std::int64_t>(out, rule) = number.value;
  return {};
}

string_view store(Configuration& out, const Rule& rule, string_view value) {
  switch (rule.kind) {
    case Kind::Boolean: {
      const auto* word = std::find(std::begin(boolean_words), std::end(boolean_words), value);
      if (word == std::end(boolean_words)) return "is neither on nor off";
      field_of<bool>(out, rule) = (word - boolean_words) % 2 == 1;
      return {};
    }
    case Kind::Integer:
    case Kind::Size: return store_number(out, rule, value);
    case Kind::Choice: {
      const auto* choice = std::find(std::begin(rule.choices), std::end(rule.choices), value);
      if (value.empty() || choice == std::end(rule.choices)) return "is not a valid choice";
      field_of<std::uint8_t>(out, rule) = static_cast<std::uint8_t>(choice - rule.choices);
      return {};
    }
    case Kind::Text:
    case Kind::Path: {
      if (rule.is_good && !value.empty() && !rule.is_good(value)) return "cannot be understood";
      if (value.size() > longest_path) return "is too long";
      char* path = &field_of<char>(out, rule);
      std::memcpy(path, value.data(), value.size());
      path[value.size()] = '\0';
      return {};
    }
  }
  return {};
}

/// The variable with the nearest name, if it is near enough to have been meant.
string_view nearest_variable(string_view name) {
  string_view nearest;
  if (name.size() > longest_shown) return nearest;
  std::size_t fewest = 1 + name.size() / 4;
  auto consider = [&](string_view candidate) {
    std::size_t row[longest_shown + 1];  // no name in the tables is longer
    std::size_t edits = edit_distance(name, candidate, row);
    if (edits > fewest || (edits == fewest && !nearest.empty())) return;
    fewest = edits;
    nearest = candidate;
  };
  for (const Rule& rule : rules) consider(rule.variable);
  for (std::size_t i = 0; i < tool_variable_count; ++i) consider(tool_variable_table[i].variable);
  return nearest;
}

constexpr string_view unmeasured = " The program runs unmeasured.";

void say_bad_value(ConfigurationError& error, std::size_t row, string_view value, string_view fault) {
  const OptionRow& option = option_table[row];
  Line line{error.line, sizeof error.line};
  line << "refrain: " << option.variable << '=';
  line.foreign(value, longest_shown) << ' ' << fault << "; allowed: " << option.allowed;
  if (*option.unit != '\0') line << " (" << option.unit << ')';
  line << '.' << unmeasured;
}

void say_unknown(ConfigurationError& error, string_view name) {
  Line line{error.line, sizeof error.line};
  line << "refrain: ";
  line.foreign(name, longest_shown) << " is not an option";
  string_view nearest = nearest_variable(name);
  if (!nearest.empty()) line << "; did you mean " << nearest << '?';
  else line << "; see refrain info config.";
  line << unmeasured;
}

/// Options that no longer exist, each with the value that stands for today's only behaviour. Scripts may still set it.
struct RetiredOption {
  string_view variable, value;
};
constexpr RetiredOption retired_options[] = {{"REFRAIN_CLUSTERING", "refrain"}};
bool changes_nothing(string_view name, string_view value) {
  return std::any_of(std::begin(retired_options), std::end(retired_options), [&](const RetiredOption& option) {
    return name == option.variable && (value.empty() || value == option.value);
  });
}

/// Whether the program is not measured in any case: then nothing else in the environment matters.
bool switched_off() {
  const char* value = std::getenv("REFRAIN_ENABLE");
  const auto* word = std::find(std::begin(boolean_words), std::end(boolean_words), string_view{value ? value : ""});
  return word != std::end(boolean_words) && (word - boolean_words) % 2 == 0;
}

bool is_tool_variable(string_view name) {
  return std::any_of(tool_variable_table, tool_variable_table + tool_variable_count,
                     [&](const OptionRow& row) { return name == row.variable; });
}

}  // namespace

bool read_configuration(Configuration& out, ConfigurationError& error) {
  for (const Rule& rule : rules) store(out, rule, rule.default_value);
  if (switched_off()) {
    out.enable = false;
    return true;
  }
  bool seen[std::size(rules)] = {};  // as with getenv, the first of several entries of one name counts
  for (char** entry = __environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    string_view name{*entry, static_cast<std::size_t>(equals - *entry)};
    string_view value{equals + 1};
    if (!name.starts_with(prefix) || name.starts_with(internal_prefix)) continue;
    const Rule* rule =
        std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return r.variable == name; });
    if (rule == std::end(rules)) {
      if (is_tool_variable(name) || changes_nothing(name, value)) continue;
      say_unknown(error, name);
      return false;
    }
    std::size_t row = static_cast<std::size_t>(rule - rules);
    if (value.empty() || seen[row]) continue;
    seen[row] = true;
    string_view fault = store(out, *rule, value);
    if (!fault.empty()) {
      say_bad_value(error, row, value, fault);
      return false;
    }
  }
  return true;
}

void format_option(const Configuration& configuration, std::size_t row, char* out, std::size_t size) {
  const Rule& rule = rules[row];
  Line line{out, size};
  switch (rule.kind) {
    case Kind::Boolean: line << boolean_words[field_of<bool>(configuration, rule) ? 1 : 0]; break;
    case Kind::Integer: line << field_of<std::int64_t>(configuration, rule); break;
    case Kind::Size: {
      std::int64_t value = field_of<std::int64_t>(configuration, rule);
      string_view suffix;
      for (string_view larger : {"K", "M", "G"}) {
        if (value == 0 || value % 1024 != 0) break;
        value /= 1024;
        suffix = larger;
      }
      line << value << suffix;
      break;
    }
    case Kind::Choice: line << rule.choices[field_of<std::uint8_t>(configuration, rule)]; break;
    case Kind::Text:
    case Kind::Path: line << string_view{&field_of<char>(configuration, rule)}; break;
  }
}

}  // namespace refrain::config

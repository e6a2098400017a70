#include "tools/option_pages.hpp"

#include <fmt/core.h>

#include "offline/report/json_writer.hpp"

namespace refrain::tools {
namespace {

std::string or_nothing(const std::string& text) { return text.empty() ? "(empty)" : text; }

std::string allowed(const config::OptionRow& option) {
  return *option.unit ? fmt::format("{} ({})", option.allowed, option.unit) : option.allowed;
}

std::string text_page(const std::vector<OptionInForce>& options) {
  std::string page = fmt::format("{:<30}{:<14}{:<14}{:<13}{}\n", "variable", "in force", "default", "from", "meaning");
  for (const auto& [option, value, from_environment] : options)
    page += fmt::format("{:<29} {:<13} {:<13} {:<12} {}; {}\n", option.variable, or_nothing(value),
                        or_nothing(option.default_value), from_environment ? "environment" : "default", option.help,
                        allowed(option));
  return page;
}

std::string json_page(const std::vector<OptionInForce>& options) {
  std::string page;
  report::JsonWriter json(page, 2);
  json.array([&] {
    for (const auto& [option, value, from_environment] : options)
      json.object([&] {
        json.member("variable", option.variable);
        json.member("value", value);
        json.member("default", option.default_value);
        json.member("from", from_environment ? "environment" : "default");
        json.member("type", option.type);
        json.member("unit", option.unit);
        json.member("allowed", option.allowed);
        json.member("help", option.help);
        json.member("description", option.long_help);
      });
  });
  return page + "\n";
}

std::string markdown_section(const config::OptionRow& option) {
  return fmt::format("### `{}`\n\n{}.\n\n{}\n\n- default: `{}`\n- allowed: {}\n\n", option.variable, option.help,
                     option.long_help, or_nothing(option.default_value), allowed(option));
}

std::string markdown_page(const std::vector<OptionInForce>& options) {
  std::string page =
      "# Configuration\n\n"
      "Made by `refrain info config --format markdown` from `config/options.def`; a test keeps it so.\n\n"
      "A measured program is configured by environment variables. An empty value means the default. When a value is "
      "not\n"
      "allowed, or a variable that begins with `REFRAIN_` is unknown, one line on stderr says so and the program runs\n"
      "unmeasured, with its own exit status. `refrain info config` prints the values in force.\n\n"
      "## Measured programs\n\n";
  for (const OptionInForce& row : options) page += markdown_section(row.option);
  page += "## Compiler wrappers\n\n";
  for (std::size_t i = 0; i < config::tool_variable_count; ++i)
    page += markdown_section(config::tool_variable_table[i]);
  page.pop_back();
  return page;
}

/// Escapes text for troff: nothing in it is read as a request or an escape, and hyphens can be copied.
std::string troff(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else result += c;
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string man_section(const config::OptionRow& option) {
  return fmt::format(".TP\n.B {}\n{}.\n{}\nDefault: {}. Allowed: {}.\n", option.variable, troff(option.help),
                     troff(option.long_help), troff(or_nothing(option.default_value)), troff(allowed(option)));
}

std::string man_page(const std::vector<OptionInForce>& options) {
  std::string page = fmt::format(".TH REFRAIN\\-CONFIG 7 \"\" \"refrain {}\" \"Refrain\"\n", REFRAIN_VERSION);
  page +=
      ".SH NAME\nrefrain\\-config \\- the settings of a measurement\n"
      ".SH DESCRIPTION\nA measured program is configured by environment variables. An empty value means the default.\n"
      "When a value is not allowed, or a variable that begins with REFRAIN_ is unknown, one line on standard error "
      "says so\n"
      "and the program runs unmeasured, with its own exit status.\n"
      "The values in force are printed by\n.BR \"refrain info config\" .\n"
      ".SH MEASURED PROGRAMS\n";
  for (const OptionInForce& row : options) page += man_section(row.option);
  page += ".SH COMPILER WRAPPERS\n";
  for (std::size_t i = 0; i < config::tool_variable_count; ++i) page += man_section(config::tool_variable_table[i]);
  return page + ".SH SEE ALSO\n.BR refrain (1),\n.BR refrain\\-run (1),\n.BR refrain\\-mpicc (1)\n";
}

}  // namespace

std::string option_page(const std::vector<OptionInForce>& options, const std::string& format) {
  if (format == "json") return json_page(options);
  if (format == "markdown") return markdown_page(options);
  if (format == "man") return man_page(options);
  return text_page(options);
}

}  // namespace refrain::tools

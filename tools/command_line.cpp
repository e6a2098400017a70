#include "tools/command_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "config/near_names.hpp"

namespace refrain::tools {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

const CLI::App& chosen(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() ? app : chosen(*below.front());
}

/// "refrain report"
std::string name_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : name_of(*app.get_parent()) + " " + app.get_name();
}

/// Commands and long options of `app` that are near `word`, as they are typed.
std::string near(const CLI::App& app, const std::string& word) {
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  config::NearNames names(bare.substr(0, bare.find('=')));
  const bool is_option = word.starts_with('-');
  if (!is_option)
    for (const CLI::App* command : subcommands_of(app)) names.consider(command->get_name());
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) options.push_back(name);
  std::vector<std::string> found;
  for (const std::string& name : options)
    if (name == bare) found.push_back("--" + name);
    else names.consider(name);
  for (std::size_t i = 0; i < names.count(); ++i) {
    const std::string name(names.name(i));
    const bool option = std::find(options.begin(), options.end(), name) != options.end();
    found.push_back((option ? "--" : "") + name);
  }
  return found.empty() ? "" : "; near it: " + joined(found, ", ");
}

}  // namespace

CLI::Option* one_of(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name(joined(words, "|"));
  return option->check([words](const std::string& word) {
    const bool known = std::find(words.begin(), words.end(), word) != words.end();
    return known ? std::string() : fmt::format("{} is none of {}", word, joined(words, ", "));
  });
}

CLI::Option* likely_one_of(CLI::Option* option, const std::vector<std::string>& words, const char* type) {
  return option->type_name(joined(words, "|"))->option_text(type);
}

std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = takes_value(option) ? option.get_type_name() : "";
  std::vector<std::string> words;
  if (type.find('|') == type.npos) return words;
  std::istringstream all(type);
  for (std::string word; std::getline(all, word, '|');) words.push_back(word);
  return words;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size() > 0; }

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (!takes_value(*option) || option->get_positional()) return "";
  return " " + (option->get_option_text().empty() ? option->get_type_name() : option->get_option_text());
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string& text = option->get_description();
  const std::string standard = option->get_default_str();
  return !takes_value(*option) || standard.empty() ? text : fmt::format("{} (default: {})", text, standard);
}

std::string usage_line(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = chosen(app);
  const std::string name = name_of(at), see = fmt::format(" (see {} --help)", name);
  const std::vector<std::string> left = at.remaining();
  const bool bad_word =
      dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
  const auto commands = subcommands_of(at);
  if (bad_word && !left.empty()) {
    const std::string& word = left.front();
    if (word.starts_with('-'))
      return fmt::format("{}: there is no option {}{}{}{}", name, word, near(at, word),
                         at.get_prefix_command() ? "; the command to measure stands behind --" : "", see);
    if (!commands.empty()) return fmt::format("{}: there is no command {}{}{}", name, word, near(at, word), see);
    return fmt::format("{}: {} was not expected{}", name, word, see);
  }
  if (bad_word && !commands.empty()) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return fmt::format("{}: a command is missing, one of {}{}", name, joined(names, ", "), see);
  }
  return fmt::format("{}: {}{}", name, error.what(), see);
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

}  // namespace refrain::tools

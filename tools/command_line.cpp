#include "tools/command_line.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <regex>
#include <sstream>

#include "config/near_names.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"

namespace refrain::tools {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

/// False for flags.
bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size() > 0; }

/// Subcommands that users see, in their order.
std::vector<const CLI::App*> commands_below(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

/// Shows names and types of options for users, without what CLI11 adds about validators and other options.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!takes_value(*option) || option->get_positional()) return "";
    return " " + (option->get_option_text().empty() ? option->get_type_name() : option->get_option_text());
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string& text = option->get_description();
    const std::string standard = option->get_default_str();
    return !takes_value(*option) || standard.empty() ? text : fmt::format("{} (default: {})", text, standard);
  }
};

const CLI::App& chosen(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() ? app : chosen(*below.front());
}

/// "refrain report"
std::string name_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : name_of(*app.get_parent()) + " " + app.get_name();
}

/// Commands and long options of `app` that resemble `word`, as typed.
std::string near(const CLI::App& app, const std::string& word) {
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  config::NearNames names(bare.substr(0, bare.find('=')));
  const bool is_option = word.starts_with('-');
  if (!is_option)
    for (const CLI::App* command : commands_below(app)) names.consider(command->get_name());
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

/// Rewords the error of an option that is given too often or without a value; other errors keep the library's text.
std::string in_our_words(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return text;
  static const std::regex too_often(R"(^(\S+): At Most 1 required but received \d+$)"),
      no_value(R"(^(\S+): 1 required (.*) missing$)");
  std::smatch parts;
  if (std::regex_match(text, parts, too_often)) return parts[1].str() + ": may be given once";
  if (std::regex_match(text, parts, no_value)) return parts[1].str() + ": a value is missing, " + parts[2].str();
  return text;
}

/// One line, without newline, that says what is wrong with the command line: the bad word, similar words, and which
/// help to read. `app` is the root after parse() has thrown `error`.
std::string usage_line(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = chosen(app);
  const std::string name = name_of(at), see = fmt::format(" (see {} --help)", name);
  const std::vector<std::string> left = at.remaining();
  const bool bad_word =
      dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
  const auto commands = commands_below(at);
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
  return fmt::format("{}: {}{}", name, in_our_words(error), see);
}

/// The words in the name of an option's type, as in "text|json".
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = takes_value(option) ? option.get_type_name() : "";
  std::vector<std::string> words;
  if (type.find('|') == type.npos) return words;
  std::istringstream all(type);
  for (std::string word; std::getline(all, word, '|');) words.push_back(word);
  return words;
}

CommandDescription description_of(const CLI::App& app) {
  CommandDescription description{app.get_name(), app.get_prefix_command(), {}, {}};
  for (const CLI::Option* option : app.get_options())
    description.options.push_back({option->get_snames(), option->get_lnames(), !option->get_positional(),
                                   takes_value(*option), option->get_type_name(), words_of(*option)});
  for (const CLI::App* command : commands_below(app)) description.commands.push_back(description_of(*command));
  return description;
}

}  // namespace

Option Option::type(const char* name) { return Option(option_->type_name(name)); }

Option Option::one_of(const std::vector<std::string>& words) {
  type(joined(words, "|").c_str());
  return check([words](const std::string& word) {
    const bool known = std::find(words.begin(), words.end(), word) != words.end();
    return known ? std::string() : fmt::format("{} is none of {}", word, joined(words, ", "));
  });
}

Option Option::likely_one_of(const std::vector<std::string>& words, const char* type) {
  return Option(option_->type_name(joined(words, "|"))->option_text(type));
}

Option Option::check(std::function<std::string(const std::string&)> wrong) {
  return Option(option_->check(std::move(wrong)));
}

Option Option::grouped() {
  return Option(option_->transform([](const std::string& text) {
    std::string digits;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool at_group = i > 0 && (text.size() - i) % 4 == 0;
      if ((text[i] == ',') != at_group || (!at_group && !std::isdigit(static_cast<unsigned char>(text[i]))))
        return text;
      if (!at_group) digits += text[i];
    }
    return digits;
  }));
}

Option Option::required() { return Option(option_->required()); }
Option Option::shows_default() { return Option(option_->capture_default_str()); }
Option Option::separated_by(char character) { return Option(option_->delimiter(character)); }
Option Option::repeated() { return Option(option_->expected(1)->take_all()); }
Option Option::needs(Option other) { return Option(option_->needs(other.option_)); }
Option Option::excludes(Option other) { return Option(option_->excludes(other.option_)); }

Command Command::add(const char* name, const char* description) {
  return Command(app_->add_subcommand(name, description));
}

Option Command::flag(const char* names, bool& value, const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}
Option Command::flag(const char* names, std::function<void()> set, const std::string& description) {
  return Option(app_->add_flag_callback(names, std::move(set), description));
}
Option Command::option(const char* names, std::function<void(const std::string&)> set, const std::string& description) {
  return Option(app_->add_option_function<std::string>(names, std::move(set), description));
}
Option Command::option(const char* names, std::string& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}
Option Command::option(const char* names, std::vector<std::string>& values, const std::string& description) {
  return Option(app_->add_option(names, values, description));
}
Option Command::option(const char* names, int& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}
Option Command::option(const char* names, double& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}
Option Command::option(const char* names, std::optional<std::int64_t>& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}
Option Command::option(const char* names, std::optional<std::int32_t>& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::option(const char* names, std::optional<double>& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::needs_command() { app_->require_subcommand(1); }
void Command::takes_program() { app_->prefix_command(); }
void Command::when_chosen(std::function<void()> run) { app_->callback(std::move(run)); }

std::vector<std::string> Command::program(const std::vector<std::string>& behind_dashes) const {
  std::vector<std::string> words = app_->remaining();
  if (words.empty()) return behind_dashes;
  if (words.front().starts_with('-')) throw CLI::ExtrasError(words);
  if (!behind_dashes.empty()) words.emplace_back("--");
  words.insert(words.end(), behind_dashes.begin(), behind_dashes.end());
  return words;
}

CommandLine::CommandLine(const char* name, const char* description, const char* version)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->name(name);
  app_->set_version_flag("--version", version);
  app_->formatter(std::make_shared<HelpFormatter>());
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(app_.get()); }

std::optional<int> CommandLine::run(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // the text of --help or --version
      std::ostringstream text, nothing;
      const int code = app_->exit(error, text, nothing);
      write_to_stdout(text.str());
      return code;
    }
    say("{}", usage_line(*app_, error));
    return exit_usage;
  } catch (const std::exception& error) {
    say("{}: {}", app_->get_name(), error.what());
    return exit_unreadable;
  }
  return std::nullopt;
}

CommandDescription describe(const CommandLine& line) { return description_of(*line.app_); }

}  // namespace refrain::tools

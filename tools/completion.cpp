/// `refrain completion`: what the shell offers while a command line of `refrain` is typed, made from its description.

#include <cstdio>
#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* head =
    "# Completion of refrain's command line for bash; made by: refrain completion bash\n"
    "_refrain() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=refrain kind= words= i\n"
    "  COMPREPLY=()\n"
    "  # bash takes --name=value for three words.\n"
    "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
    "    case \"$at ${COMP_WORDS[i]}\" in\n"
    "      *' --')\n"
    "        if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- \"$word\"); fi\n"
    "        if ((${#COMPREPLY[@]} == 0)); then kind=file; fi\n"
    "        break ;;\n";

constexpr const char* middle =
    "    esac\n"
    "  done\n"
    "  if [[ ! $kind ]]; then\n"
    "    case \"$at $before\" in\n";

constexpr const char* second_middle =
    "      *) kind=other ;;\n"
    "    esac\n"
    "  fi\n"
    "  if [[ $kind == other && ${#COMPREPLY[@]} == 0 ]]; then\n"
    "    case $at in\n";

constexpr const char* tail =
    "    esac\n"
    "  fi\n"
    "  case $kind in\n"
    "    directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
    "    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
    "    words) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
    "  esac\n"
    "}\n"
    "complete -F _refrain refrain\n";

/// "refrain info config": the place of a command, as the script keeps it in `at`.
std::string place_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : place_of(*app.get_parent()) + " " + app.get_name();
}

std::string names_of(const CLI::Option& option, const std::string& before) {
  std::string names;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "" : "|") + fmt::format("'{}{}'", before, name);
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  return names;
}

/// What sets the value of an option, or of the word that is no option.
std::string kind_of(const CLI::Option& option) {
  const std::vector<std::string> words = words_of(option);
  if (!words.empty()) return fmt::format("kind=words words='{}'", fmt::join(words, " "));
  const std::string type = option.get_type_name();
  return type == "DIR" || type == "EXPERIMENT" ? "kind=directory"
         : type == "FILE" || type == "PROGRAM" ? "kind=file"
                                               : "kind=none";
}

struct Script {
  std::string commands, values, words;

  void add(const CLI::App& app) {
    const std::string place = place_of(app);
    std::vector<std::string> options, below;
    std::string positional = app.get_prefix_command() ? "kind=file" : "kind=none";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) positional = kind_of(*option);
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
      if (takes_value(*option) && !option->get_positional())
        values += fmt::format("      {}) {} ;;\n", names_of(*option, place + " "), kind_of(*option));
    }
    for (const CLI::App* command : subcommands_of(app)) {
      commands += fmt::format("      '{0} {1}') at='{0} {1}' ;;\n", place, command->get_name());
      below.push_back(command->get_name());
    }
    if (!below.empty()) positional = fmt::format("kind=words words='{}'", fmt::join(below, " "));
    words += fmt::format("      '{}') if [[ $word == -* ]]; then kind=words words='{}'; else {}; fi ;;\n", place,
                         fmt::join(options, " "), positional);
    for (const CLI::App* command : subcommands_of(app)) add(*command);
  }
};

void print_bash(const CLI::App& app) {
  Script script;
  script.add(app);
  fmt::print("{}{}{}{}{}{}{}", head, script.commands, middle, script.values, second_middle, script.words, tail);
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("completion", "Print what makes a shell complete command lines of refrain");
  command->require_subcommand(1);
  CLI::App* bash = command->add_subcommand("bash", "For bash");
  bash->footer("For this shell alone: source <(refrain completion bash). An installation has it for all.");
  bash->callback([&app] { print_bash(app); });
}

}  // namespace refrain::tools

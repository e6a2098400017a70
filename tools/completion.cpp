/// `refrain completion`: shell completion of `refrain` command lines, generated from their description.

#include <cstdio>
#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "tools/console.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* head =
    "# Completion of refrain's command line for bash; made by: refrain completion bash\n"
    "_refrain() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=refrain kind= words= i\n"
    "  case ${COMP_WORDS[0]##*/} in refrain-export|refrain-analyze) at=${COMP_WORDS[0]##*/}; at=${at/-/ };; esac\n"
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
    "complete -F _refrain refrain refrain-export refrain-analyze\n";

std::string names_of(const OptionDescription& option, const std::string& before) {
  std::string names;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "" : "|") + fmt::format("'{}{}'", before, name);
  };
  for (const std::string& name : option.short_names) add("-" + name);
  for (const std::string& name : option.long_names) add("--" + name);
  return names;
}

/// The shell assignments that say how to complete the value of an option or a positional argument.
std::string kind_of(const OptionDescription& option) {
  if (!option.words.empty()) return fmt::format("kind=words words='{}'", fmt::join(option.words, " "));
  return option.type == "DIR" || option.type == "EXPERIMENT" ? "kind=directory"
         : option.type == "FILE" || option.type == "PROGRAM" ? "kind=file"
                                                             : "kind=none";
}

struct Script {
  std::string commands, values, words;

  /// `place`: "refrain info config", for example, as the script keeps it in `at`.
  void add(const CommandDescription& command, const std::string& place) {
    std::vector<std::string> options, below;
    std::string positional = command.takes_program ? "kind=file" : "kind=none";
    for (const OptionDescription& option : command.options) {
      if (!option.is_option) positional = kind_of(option);
      for (const std::string& name : option.long_names) options.push_back("--" + name);
      if (option.takes_value && option.is_option)
        values += fmt::format("      {}) {} ;;\n", names_of(option, place + " "), kind_of(option));
    }
    for (const CommandDescription& sub : command.commands) {
      commands += fmt::format("      '{0} {1}') at='{0} {1}' ;;\n", place, sub.name);
      below.push_back(sub.name);
    }
    if (!below.empty()) positional = fmt::format("kind=words words='{}'", fmt::join(below, " "));
    words += fmt::format("      '{}') if [[ $word == -* ]]; then kind=words words='{}'; else {}; fi ;;\n", place,
                         fmt::join(options, " "), positional);
    for (const CommandDescription& sub : command.commands) add(sub, place + " " + sub.name);
  }
};

void print_bash(const CommandLine& line) {
  const CommandDescription root = describe(line);
  Script script;
  script.add(root, root.name);
  show("{}{}{}{}{}{}{}", head, script.commands, middle, script.values, second_middle, script.words, tail);
}

}  // namespace

void add_completion(CommandLine& line) {
  Command command = line.root().add("completion", "Print what makes a shell complete command lines of refrain");
  command.needs_command();
  Command bash = command.add("bash", "For bash");
  bash.footer("For this shell alone: source <(refrain completion bash). An installation has it for all.");
  bash.when_chosen([&line] { print_bash(line); });
}

}  // namespace refrain::tools

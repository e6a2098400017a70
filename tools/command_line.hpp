#pragma once
/// The command line of `refrain`: commands, their options, the help, and the line that names a wrong word.
///
/// The description that a Command holds is the one source: help, error lines and the shell's completion are made from
/// it. The library behind it is included by command_line.cpp alone.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace refrain::tools {

/// An option of a command. A handle, valid as long as the command line.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// The word for the value in the help. DIR, EXPERIMENT, FILE and PROGRAM are paths; any other word is for people
  /// only.
  Option type(const char* name);
  /// The value is one of these words.
  Option one_of(const std::vector<std::string>& words);
  /// The value is likely to be one of these words, and may be another one: help shows `type`, completion offers the
  /// words.
  Option likely_one_of(const std::vector<std::string>& words, const char* type);
  /// Reads a number as reports print it, too: with a comma before each group of three digits. Before `check`.
  Option grouped();
  /// `wrong` says in words what is wrong with a value; an empty text: nothing.
  Option check(std::function<std::string(const std::string& value)> wrong);
  Option required();
  Option shows_default();
  /// One word may hold several values with this character between them.
  Option separated_by(char character);
  /// One value each time; the option may be repeated.
  Option repeated();
  Option needs(Option other);
  Option excludes(Option other);

 private:
  CLI::Option* option_;
};

/// `refrain` or a command below it. A handle, too.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add(const char* name, const char* description);
  /// `names` as in "-o,--output", or without dashes for a word that is no option. The value is left as it is when the
  /// command line does not set it.
  Option flag(const char* names, bool& value, const std::string& description);
  /// Calls `set` when the command line has the flag, or with the value of the option.
  Option flag(const char* names, std::function<void()> set, const std::string& description);
  Option option(const char* names, std::function<void(const std::string& value)> set, const std::string& description);
  Option option(const char* names, std::string& value, const std::string& description);
  Option option(const char* names, std::vector<std::string>& values, const std::string& description);
  Option option(const char* names, int& value, const std::string& description);
  Option option(const char* names, double& value, const std::string& description);
  Option option(const char* names, std::optional<std::int64_t>& value, const std::string& description);
  Option option(const char* names, std::optional<std::int32_t>& value, const std::string& description);
  Option option(const char* names, std::optional<double>& value, const std::string& description);
  void footer(const std::string& text);
  /// One of the commands below it must follow.
  void needs_command();
  /// From the first word on that is no option everything is the command that is to be started.
  void takes_program();
  /// The words of that command, in front of "--" and behind it. Without "--" in front the command begins at the first
  /// word that is no option of ours, and a "--" in it is its own. A word that begins with "-" is bad usage.
  std::vector<std::string> program(const std::vector<std::string>& behind_dashes) const;
  void when_chosen(std::function<void()> run);

 private:
  CLI::App* app_;
};

/// The whole. Makes the root command.
class CommandLine {
 public:
  CommandLine(const char* name, const char* description, const char* version);
  ~CommandLine();
  Command root();
  /// Reads the words and runs the command that they choose. A mistake is one line on stderr and
  /// `exit_usage`; what the command throws is one line and `exit_unreadable`. Empty: the command has run.
  std::optional<int> run(int argc, const char* const* argv);

 private:
  friend struct CommandDescription describe(const CommandLine& line);
  std::unique_ptr<CLI::App> app_;
};

/// A description of a command line.
struct OptionDescription {
  std::vector<std::string> short_names, long_names;  ///< without dashes
  bool is_option;                                    ///< else a word by its place
  bool takes_value;
  std::string type;
  std::vector<std::string> words;  ///< that the value is, or is likely to be, one of
};
struct CommandDescription {
  std::string name;
  bool takes_program;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};
CommandDescription describe(const CommandLine& line);

}  // namespace refrain::tools

#pragma once
/// The command line of `refrain`: commands, their options, the help, and the line that names a wrong word.
///
/// A Command holds the only description: help, error lines and shell completion are derived from it. Only
/// command_line.cpp includes the library behind it.

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

/// An option of a command. A handle, valid as long as its CommandLine.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// Sets the word for the value in the help. DIR, EXPERIMENT, FILE and PROGRAM are completed as paths; any other word
  /// is only shown.
  Option type(const char* name);
  /// The value is one of these words.
  Option one_of(const std::vector<std::string>& words);
  /// The value is likely to be one of these words, but may be another one: help shows `type`, completion offers the
  /// words.
  Option likely_one_of(const std::vector<std::string>& words, const char* type);
  /// Also accepts a number as reports print it, with a comma before each group of three digits. Call it before `check`.
  Option grouped();
  /// `wrong` returns what is wrong with a value, in words; empty: the value is good.
  Option check(std::function<std::string(const std::string& value)> wrong);
  Option required();
  Option shows_default();
  /// One word may hold several values, separated by this character.
  Option separated_by(char character);
  /// The option takes one value and may be repeated.
  Option repeated();
  Option needs(Option other);
  Option excludes(Option other);

 private:
  CLI::Option* option_;
};

/// `refrain` or a command below it. Also a handle.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add(const char* name, const char* description);
  /// `names`: as in "-o,--output", or without dashes for a positional argument. The value is left as it is if the
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
  /// Everything from the first positional word on is the command to start.
  void takes_program();
  /// The words of the command to start, both before and after "--". Without "--" in front, that command begins at the
  /// first word that is not an option of ours, and a later "--" belongs to it. It must not begin with "-": that is bad
  /// usage.
  std::vector<std::string> program(const std::vector<std::string>& behind_dashes) const;
  void when_chosen(std::function<void()> run);

 private:
  CLI::App* app_;
};

/// The whole command line. Makes the root command.
class CommandLine {
 public:
  CommandLine(const char* name, const char* description, const char* version);
  ~CommandLine();
  Command root();
  /// Parses the words and runs the chosen command. A usage error prints one line on stderr and returns `exit_usage`; an
  /// exception from the command prints one line and returns `exit_unreadable`. Empty: the command has run.
  std::optional<int> run(int argc, const char* const* argv);

 private:
  friend struct CommandDescription describe(const CommandLine& line);
  std::unique_ptr<CLI::App> app_;
};

/// A description of a command line.
struct OptionDescription {
  std::vector<std::string> short_names, long_names;  ///< without dashes
  bool is_option;                                    ///< else a positional argument
  bool takes_value;
  std::string type;
  std::vector<std::string> words;  ///< the value is, or is likely to be, one of these
};
struct CommandDescription {
  std::string name;
  bool takes_program;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};
CommandDescription describe(const CommandLine& line);

}  // namespace refrain::tools

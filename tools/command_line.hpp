#pragma once
/// What the subcommands share of the command line: kinds of options, the help, and the line that names a wrong word.
///
/// The description that CLI::App holds is the one source: help, error lines and the shell's completion are made from
/// it. An option's type name says what its value is: DIR and FILE are paths, words with bars between them ("text|json")
/// are all that there are, any other word is for people only.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace refrain::tools {

/// The value is one of these words.
CLI::Option* one_of(CLI::Option* option, const std::vector<std::string>& words);
/// The value is likely to be one of these words, and may be another one: help shows `type`, completion offers the
/// words.
CLI::Option* likely_one_of(CLI::Option* option, const std::vector<std::string>& words, const char* type);
/// The words of either kind; none for an option of another kind.
std::vector<std::string> words_of(const CLI::Option& option);

/// False for flags.
bool takes_value(const CLI::Option& option);

/// Names and types of options as people read them, without what CLI11 adds about validators and other options.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

/// One line, without its end, that says what is wrong with the command line: the bad word, what is near it, and which
/// help to read. `app` is the root after parse() has thrown `error`.
std::string usage_line(const CLI::App& app, const CLI::ParseError& error);

/// Subcommands that users meet, in their order.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);

}  // namespace refrain::tools

/// `refrain info`: what this copy of Refrain is, which settings are in force, and which names an experiment has.

#include <cstdlib>
#include <memory>

#include "config/configuration.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/installation.hpp"
#include "tools/metric_names.hpp"
#include "tools/mpi_coverage.hpp"
#include "tools/names_page.hpp"
#include "tools/option_pages.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

/// Prints the settings that a process started now would use. If the environment is bad, says so on stderr and shows the
/// defaults.
int print_config(const std::string& format) {
  config::Configuration configuration;
  config::ConfigurationError error;
  bool good = config::read_configuration(configuration, error);
  std::vector<OptionInForce> options;
  for (std::size_t row = 0; row < config::option_count; ++row) {
    const config::OptionRow& option = config::option_table[row];
    const char* value = std::getenv(option.variable);
    bool from_environment = value && *value;
    char text[sizeof(config::Configuration::experiment_directory)];
    config::format_option(configuration, row, text, sizeof text);
    options.push_back({option, good ? text : option.default_value, from_environment});
  }
  show("{}", option_page(options, format));
  if (good) return exit_ok;
  say("{}", error.line);
  return exit_usage;
}

void print_build(const std::string& executable) {
  show("version      {}\nbuild type   {}\ncompiler     {}\nplatform     {}\nexecutable   {}\n", REFRAIN_VERSION,
       REFRAIN_BUILD_TYPE, REFRAIN_COMPILER, "Linux x86-64", executable);
  for (RuntimeLibrary library : {RuntimeLibrary::OpenMpi, RuntimeLibrary::Mpich, RuntimeLibrary::Serial}) {
    auto file = find_runtime_library(executable, library);
    show("{:<13}{}\n", name_of(library), file ? file->lexically_normal().string() : "not built");
  }
}

}  // namespace

void add_info(Command root, Invocation& invocation) {
  Command info = root.add("info", "What this copy of Refrain is, and the settings in force");
  info.needs_command();
  auto format = std::make_shared<std::string>("text");
  Command config = info.add("config", "All settings, their defaults and the values in force");
  config.option("--format", *format, "how to print").one_of({"text", "json", "markdown", "man"});
  config.when_chosen([format, &invocation] { invocation.exit_code = print_config(*format); });
  auto mpi = std::make_shared<std::string>();
  Command functions = info.add("mpi", "The functions of the installed MPIs, and which of them are measured");
  functions.option("--mpi", *mpi, "only this one").one_of({"openmpi", "mpich"});
  functions.option("--format", *format, "how to print").one_of({"text", "json"});
  functions.when_chosen([format, mpi, &invocation] {
    std::vector<MpiCoverage> all;
    for (const char* name : {"openmpi", "mpich"})
      if (mpi->empty() || *mpi == name) all.push_back(mpi_coverage(invocation.executable, name));
    print_mpi_coverage(all, *format);
  });
  auto experiment = std::make_shared<std::string>();
  Command names = info.add("names", "Which names of functions an experiment keeps, and where they come from");
  names.option("EXPERIMENT", *experiment, "experiment directory").type("EXPERIMENT").required();
  names.option("--format", *format, "how to print").one_of({"text", "json"});
  names.when_chosen([format, experiment, &invocation] {
    invocation.exit_code = guarded("info", [&] { return print_names(*experiment, *format); });
  });
  info.add("metrics", "What REFRAIN_METRICS can ask for here").when_chosen(print_metric_names);
  info.add("version", "The version").when_chosen([] { show("refrain {}\n", REFRAIN_VERSION); });
  info.add("build", "How and with which libraries it was built").when_chosen([&invocation] {
    print_build(invocation.executable);
  });
}

}  // namespace refrain::tools

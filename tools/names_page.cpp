#include "tools/names_page.hpp"

#include <algorithm>
#include <vector>

#include "offline/experiment/clean_text.hpp"
#include "offline/report/json_writer.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "offline/symbols/names.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"

namespace refrain::tools {
namespace {

using symbols::NamesOfModule;

/// The words for a source in JSON and in text.
struct SourceWords {
  const char *id, *words;
};
SourceWords words_of_source(symbols::NameSource source) {
  switch (source) {
    case symbols::NameSource::None: break;
    case symbols::NameSource::Exported: return {"exported", "by exported functions alone, as its file was stripped"};
    case symbols::NameSource::Functions: return {"functions", "by the functions that refrain exec has kept"};
    case symbols::NameSource::Symbols: return {"symbols", "by its symbol table"};
    case symbols::NameSource::Debug: return {"debug", "by its debug information"};
  }
  return {"none", "no names"};
}

void print_names_as_json(const std::vector<NamesOfModule>& modules, bool has_file) {
  std::string text;
  report::JsonWriter json(text, 3);
  json.object([&] {
    json.member("kept", has_file);
    json.member_array("modules", [&] {
      for (const NamesOfModule& of : modules)
        json.object([&] {
          json.member("path", of.path);
          json.member("build_id", of.build_id);
          json.member("addresses", of.addresses);
          json.member("named", of.named);
          json.member("lines", of.with_line);
          json.member("source", words_of_source(of.source).id);
          json.member("why", of.why);
        });
    });
  });
  show("{}\n", text);
}

void print_names_as_text(const std::vector<NamesOfModule>& modules, bool has_file) {
  if (!has_file)
    show("No names are kept in this experiment: its first report on a machine with the binaries keeps them.\n");
  std::size_t width = 0;
  for (const NamesOfModule& of : modules) width = std::max(width, symbols::base_name(of.path).size());
  for (const NamesOfModule& of : modules) {
    const std::string name = experiment::clean_text(symbols::base_name(of.path));
    show("{:<{}}  {:>6} of {:>6} addresses named, {:>6} with a line; {}\n", name, width, of.named, of.addresses,
         of.with_line, of.why.empty() ? words_of_source(of.source).words : of.why);
  }
}

}  // namespace

int print_names(const std::string& directory, const std::string& format) {
  const auto experiment = experiment::Experiment::open(directory);
  bool has_file = false;
  const std::vector<NamesOfModule> modules = symbols::names_by_module(*experiment, has_file);
  if (format == "json") print_names_as_json(modules, has_file);
  else print_names_as_text(modules, has_file);
  return tell_damage("info", *experiment->damage_log());
}

}  // namespace refrain::tools

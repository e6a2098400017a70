#include "tools/mpi_coverage.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>
#include <map>
#include <set>
#include <string_view>

#include "format/mpi_coverage.hpp"
#include "format/mpi_functions.hpp"
#include "offline/report/json_writer.hpp"
#include "tools/console.hpp"
#include "tools/elf_image.hpp"
#include "tools/installation.hpp"
#include "tools/library_search.hpp"

namespace refrain::tools {
namespace {

using format::MpiClass;
using format::MpiFunction;

struct MpiLibraries {
  const char* mpi;
  RuntimeLibrary runtime;
  std::vector<std::string> c, fortran;
};

const MpiLibraries installed_libraries[] = {
    {"openmpi",
     RuntimeLibrary::OpenMpi,
     {"libmpi.so.40"},
     {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40"}},
    {"mpich", RuntimeLibrary::Mpich, {"libmpich.so.12"}, {"libmpichfort.so.12"}},
};

bool is_essential(MpiClass of) {
  constexpr MpiClass not_these[] = {MpiClass::group, MpiClass::datatype, MpiClass::local,    MpiClass::management,
                                    MpiClass::abort, MpiClass::control,  MpiClass::unwrapped};
  return std::ranges::find(not_these, of) == std::end(not_these);
}

/// Conversions and predefined callbacks are not MPI operations, and the tool interface must be left alone.
bool counts(const MpiFunction& function) {
  constexpr std::string_view left_out[] = {"conversion", "tool_interface", "callback"};
  return function.of != MpiClass::unwrapped || std::ranges::find(left_out, function.effect) == std::end(left_out);
}

std::string in_small_letters(std::string_view text) {
  std::string small{text};
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

bool strip(std::string& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return true;
}

struct FortranName {
  std::string function;  ///< "mpi_send", "mpi_send_c"
  MpiInterface interface;
};

/// The Fortran function that a program calls by this symbol; nothing if it is not a symbol that a compiler makes of a
/// Fortran name by default (adapters/mpi/calls/generate.py).
std::optional<FortranName> read_fortran_name(const std::string& symbol) {
  std::string name = symbol;
  if (!name.ends_with('_') || name != in_small_letters(name)) return std::nullopt;
  if (!name.starts_with("mpi_") && !name.starts_with("mpix_")) return std::nullopt;
  while (strip(name, "_")) {
  }
  const bool large = strip(name, "_large");
  const bool modern = strip(name, "_f08ts") || strip(name, "_f08");
  strip(name, "_cptr");
  if (name.find("_sizeof") != std::string::npos) name = "mpi_sizeof";  // one for each type
  return FortranName{name + (large ? "_c" : ""), modern ? MpiInterface::Fortran2008 : MpiInterface::Fortran};
}

/// The symbols of the named libraries that begin with mpi; nothing if a library is missing.
std::optional<std::set<std::string>> symbols_of(const std::vector<std::string>& names) {
  ElfImage wanted;
  wanted.needed = names;
  std::set<std::string> symbols;
  for (const NeededLibrary& library : needed_libraries("/", wanted)) {
    if (std::ranges::find(names, library.name) == names.end()) continue;
    const auto image = library.file.empty() ? std::nullopt : read_elf_image(library.file);
    if (!image) return std::nullopt;
    symbols.insert(image->functions_in_any_case.begin(), image->functions_in_any_case.end());
  }
  return symbols;
}

void take(MpiFunctionCoverage& function, MpiInterface interface, bool wrapped) {
  auto& column = function.wrapped[static_cast<std::size_t>(interface)];
  column = column.value_or(true) && wrapped;  // wrapped only if every spelling is
}

}  // namespace

bool is_mpi_function(const std::string& symbol) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const MpiFunction& function : format::mpi_functions()) all.emplace(function.name);
    for (const auto& function : format::function_coverage()) all.insert(function.function);
    return all;
  }();
  static const std::set<std::string> small_names = [] {
    std::set<std::string> all;
    for (const std::string& name : names) all.insert(in_small_letters(name));
    return all;
  }();
  const std::string name = symbol.starts_with('P') || symbol.starts_with('p') ? symbol.substr(1) : symbol;
  if (names.contains(name)) return true;
  const auto fortran = read_fortran_name(name);
  return fortran && small_names.contains(fortran->function);
}

MpiCoverage mpi_coverage(const std::string& executable, const std::string& mpi) {
  MpiCoverage coverage{mpi, false, {}};
  const auto libraries = std::ranges::find_if(installed_libraries, [&](const auto& row) { return mpi == row.mpi; });
  if (libraries == std::end(installed_libraries)) return coverage;
  const auto runtime = find_runtime_library(executable, libraries->runtime);
  const auto own = runtime ? read_elf_image(*runtime) : std::nullopt;
  const auto c_symbols = symbols_of(libraries->c);
  if (!own || !c_symbols) return coverage;
  coverage.found = true;
  const std::set<std::string> wrapped{own->functions_in_any_case.begin(), own->functions_in_any_case.end()};

  std::map<std::string, MpiFunctionCoverage> found;
  const auto entry = [&](const std::string& small_name, const std::string& name) -> MpiFunctionCoverage& {
    auto [place, is_new] = found.try_emplace(small_name);
    if (!is_new) return place->second;
    const MpiFunction* row = format::find_mpi_function(small_name);
    const bool is_extension = !row;  // MPI_ in Fortran, MPIX_ in C
    if (is_extension) row = format::find_mpi_function("mpix" + small_name.substr(3));
    if (!row) {
      place->second = {name, "unknown", "not known to Refrain", true, false, {}};
    } else {
      const bool is_wrapped = row->of != MpiClass::unwrapped;
      place->second = {is_extension ? name : std::string(row->name),
                       format::name_of(row->of),
                       std::string(is_wrapped ? "" : format::text_of_reason(row->effect)),
                       counts(*row),
                       is_essential(row->of),
                       {}};
    }
    return place->second;
  };

  for (const auto& row : format::function_coverage()) {
    if (mpi != row.mpi || !c_symbols->contains(row.function)) continue;
    MpiFunctionCoverage& function = entry(in_small_letters(row.function), row.function);
    if (function.operation == "unknown") {  // its row is a prefix of names
      function.operation = row.operation;
      function.reason = row.reason;
      function.counts = false;
    }
    take(function, MpiInterface::C, wrapped.contains(row.function));
  }
  if (const auto fortran_symbols = symbols_of(libraries->fortran)) {
    for (const std::string& symbol : *fortran_symbols)
      if (const auto name = read_fortran_name(symbol))
        take(entry(name->function, name->function), name->interface, wrapped.contains(symbol));
  }
  for (auto& [small_name, function] : found) coverage.functions.push_back(std::move(function));
  return coverage;
}

namespace {

struct Share {
  int wrapped = 0, all = 0;
  double percent() const { return all ? 100.0 * wrapped / all : 100.0; }
};

/// The shares of one interface: of essential functions, and of all that count.
std::array<Share, 2> shares(const MpiCoverage& coverage, std::size_t interface) {
  std::array<Share, 2> found;
  for (const MpiFunctionCoverage& function : coverage.functions) {
    if (!function.counts || !function.wrapped[interface]) continue;
    for (std::size_t group = function.essential ? 0 : 1; group < 2; ++group) {
      ++found[group].all;
      found[group].wrapped += *function.wrapped[interface];
    }
  }
  return found;
}

constexpr std::array share_names = {"communicate, complete, synchronise, make communicators, windows or files", "all"};

void print_as_text(const MpiCoverage& coverage) {
  if (!coverage.found) {
    show("{}: its libraries, or Refrain's for it, are not installed\n", coverage.mpi);
    return;
  }
  show("{:<38}{:<20}{:<6}{:<17}{:<13}{}\n", coverage.mpi, "class", mpi_interface_names[0], mpi_interface_names[1],
       mpi_interface_names[2], "not wrapped because it");
  for (const MpiFunctionCoverage& function : coverage.functions) {
    const auto word = [&](std::size_t i) { return !function.wrapped[i] ? "-" : *function.wrapped[i] ? "yes" : "no"; };
    const std::string operation = function.operation == "unwrapped" ? "" : function.operation;
    std::string line = fmt::format("{:<38}{:<20}{:<6}{:<17}{:<13}{}", function.name, operation, word(0), word(1),
                                   word(2), function.reason);
    line.erase(line.find_last_not_of(' ') + 1);
    show("{}\n", line);
  }
  show("\nwrapped\n");
  for (std::size_t i = 0; i < mpi_interface_names.size(); ++i) {
    const auto found = shares(coverage, i);
    for (std::size_t group = 0; group < 2; ++group)
      if (found[group].all)
        show("{:<18}{:>4} of {:>4}  {:>6.2f} %  {}\n", mpi_interface_names[i], found[group].wrapped, found[group].all,
             found[group].percent(), share_names[group]);
  }
  show("Not counted in all: conversions of handles and statuses, predefined callbacks, the MPI_T interface.\n");
}

void write_share(report::JsonWriter& json, const char* name, const Share& share) {
  json.member_object(name, [&] {
    json.member("wrapped", share.wrapped);
    json.member("of", share.all);
    json.member("percent", share.percent());
  });
}

void write(report::JsonWriter& json, const MpiCoverage& coverage) {
  constexpr const char* keys[] = {"c", "fortran", "fortran_2008"};
  json.object([&] {
    json.member("mpi", coverage.mpi);
    json.member("installed", coverage.found);
    json.member_array("functions", [&] {
      for (const MpiFunctionCoverage& function : coverage.functions)
        json.object([&] {
          json.member("function", function.name);
          json.member("class", function.operation);
          for (std::size_t i = 0; i < function.wrapped.size(); ++i) {
            if (function.wrapped[i]) json.member(keys[i], *function.wrapped[i]);
            else json.member(keys[i], nullptr);
          }
          json.member("counts", function.counts);
          json.member("essential", function.essential);
          json.member("reason", function.reason);
        });
    });
    json.member_object("totals", [&] {
      for (std::size_t i = 0; coverage.found && i < std::size(keys); ++i)
        json.member_object(keys[i], [&] {
          const auto [essential, all] = shares(coverage, i);
          write_share(json, "essential", essential);
          write_share(json, "all", all);
        });
    });
  });
}

}  // namespace

void print_mpi_coverage(const std::vector<MpiCoverage>& all, const std::string& format) {
  if (format == "json") {
    std::string text;
    report::JsonWriter json(text, 5);
    json.object([&] {
      json.member_array("mpis", [&] {
        for (const MpiCoverage& coverage : all) write(json, coverage);
      });
    });
    show("{}\n", text);
    return;
  }
  for (const MpiCoverage& coverage : all) {
    if (&coverage != &all.front()) show("\n");
    print_as_text(coverage);
  }
}

}  // namespace refrain::tools

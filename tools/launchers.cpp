#include "tools/launchers.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include "tools/program.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

enum class Style { Words, Getopt };

struct Launcher {
  const char* row;
  const char* names;
  Style style;
  const char* options_without_value;
  const char* options_with_one_value;
  const char* options_with_two_values;
  const char* application_file_options;
};

#define LAUNCHER(row, names, style, flags, one, two, files) {#row, names, Style::style, flags, one, two, files},
#define PREFIX_PROGRAMS(names)
constexpr Launcher launchers[] = {
#include "tools/launchers.def"
};
#undef LAUNCHER
#undef PREFIX_PROGRAMS

#define LAUNCHER(...)
#define PREFIX_PROGRAMS(names) names
constexpr const char* prefix_programs =
#include "tools/launchers.def"
    ;
#undef LAUNCHER
#undef PREFIX_PROGRAMS

/// Whether `word` is one of the blank-separated `words`.
bool lists(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; (at = words.find(word, at)) != std::string_view::npos; ++at) {
    bool begins = at == 0 || words[at - 1] == ' ';
    std::size_t end = at + word.size();
    if (begins && !word.empty() && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_command(const std::string& word) {
  Program program = inspect_program(word);
  return program.kind != Program::Kind::Missing && program.kind != Program::Kind::NotExecutable;
}

const Launcher* row_of_name(const std::string& name) {
  const auto* found = std::find_if(std::begin(launchers), std::end(launchers),
                                   [&](const Launcher& launcher) { return lists(launcher.names, name); });
  return found == std::end(launchers) ? nullptr : found;
}

const Launcher* row(std::string_view name) {
  return std::find_if(std::begin(launchers), std::end(launchers), [&](const Launcher& l) { return name == l.row; });
}

/// Several MPIs call their launcher mpirun or mpiexec: the file behind the name, and the files beside it, tell which
/// one it is.
const Launcher* launcher_of(const std::string& word) {
  std::string name = base_name(word);
  if (const Launcher* found = row_of_name(name)) return found;
  if (!name.starts_with("mpirun") && !name.starts_with("mpiexec")) return nullptr;
  std::error_code error;
  fs::path file = fs::weakly_canonical(inspect_program(word).file, error);
  if (const Launcher* found = row_of_name(file.filename().string())) return found;
  fs::path directory = file.parent_path();
  if (fs::exists(directory / "prterun", error)) return row("openmpi5");
  if (fs::exists(directory / "ompi_info", error)) return row("openmpi4");
  if (fs::exists(directory / "hydra_pmi_proxy", error) || fs::exists(directory / "mpiexec.hydra", error))
    return row("hydra");
  return row("openmpi4");
}

/// Parses a launcher's options, one at a time.
class Options {
 public:
  Options(const Launcher& launcher, const std::vector<std::string>& words) : launcher_(launcher), words_(words) {}

  /// The index after the option at `at` and its values.
  std::size_t skip(std::size_t at) {
    std::string_view word = words_[at];
    bool is_long = word.starts_with("--");
    bool letters = launcher_.style == Style::Getopt && !is_long && !(word.size() > 2 && values_of(word.substr(1)));
    if (letters) return skip_letters(at, word.substr(1));
    std::string_view name = word.substr(is_long ? 2 : 1);
    std::size_t equals = name.find('=');
    std::string_view bare = name.substr(0, equals);
    note_application_file(bare);
    if (equals != std::string_view::npos) return at + 1;
    if (auto values = values_of(bare)) return at + 1 + *values;
    return at + 1 + guessed_values(at + 1);
  }

  std::string_view application_file_option() const { return application_file_option_; }

 private:
  std::optional<std::size_t> values_of(std::string_view name) const {
    if (lists(launcher_.options_with_two_values, name)) return 2;
    if (lists(launcher_.options_with_one_value, name)) return 1;
    if (lists(launcher_.options_without_value, name)) return 0;
    return std::nullopt;
  }

  std::size_t skip_letters(std::size_t at, std::string_view letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      std::string_view letter = letters.substr(i, 1);
      note_application_file(letter);
      auto values = values_of(letter);
      bool last = i + 1 == letters.size();
      if (!values) return at + 1 + (last ? guessed_values(at + 1) : 0);
      if (*values > 0) return at + (last ? 2 : 1);
    }
    return at + 1;
  }

  /// An unknown option has no value if an option or an executable command follows it.
  std::size_t guessed_values(std::size_t next) const {
    if (next + 1 >= words_.size() || words_[next].starts_with("-") || words_[next] == ":") return 0;
    return is_command(words_[next]) ? 0 : 1;
  }

  void note_application_file(std::string_view name) {
    if (lists(launcher_.application_file_options, name)) application_file_option_ = name;
  }

  const Launcher& launcher_;
  const std::vector<std::string>& words_;
  std::string_view application_file_option_;  ///< refers to words_
};

}  // namespace

bool is_prefix_program(const std::string& word) { return lists(prefix_programs, base_name(word)); }

std::string names_of_launchers() {
  std::string names = "mpirun mpiexec";
  for (const char* mpi : {".openmpi", ".mpich"}) names += std::string(" mpirun") + mpi + " mpiexec" + mpi;
  for (const Launcher& launcher : launchers) names += std::string(" ") + launcher.names;
  return names;
}

LaunchLine parse_launch_line(const std::vector<std::string>& words) {
  LaunchLine line;
  if (words.empty()) return line;
  std::size_t at = 0;
  const Launcher* launcher = launcher_of(words[0]);
  if (!launcher && is_prefix_program(words[0]))
    while (++at < words.size() && !launcher)
      if (const Launcher* found = launcher_of(words[at]); found && is_command(words[at])) {
        launcher = found;
        break;
      }
  if (!launcher) {
    line.programs.push_back(0);
    return line;
  }
  line.launcher = launcher->row;
  Options options{*launcher, words};
  for (++at; at < words.size();) {
    const bool ends_options = words[at] == "--" && at + 1 < words.size();
    if (words[at] == ":") {
      ++at;
    } else if (!ends_options && words[at].size() > 1 && words[at][0] == '-') {
      at = options.skip(at);
    } else {
      if (ends_options) ++at;
      line.programs.push_back(at);
      at = static_cast<std::size_t>(std::find(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), ":") -
                                    words.begin());
    }
  }
  if (!options.application_file_option().empty()) {
    line.programs.clear();
    line.refusal = "the programs are named in a file (option ";
    line.refusal += options.application_file_option();
    line.refusal +=
        "), which Refrain does not rewrite; write 'refrain exec ./app' for each program in that file and "
        "start the launcher "
        "yourself";
  }
  return line;
}

std::vector<std::string> with_insertion(const std::vector<std::string>& words, const LaunchLine& line,
                                        const std::vector<std::string>& insertion) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::binary_search(line.programs.begin(), line.programs.end(), i))
      result.insert(result.end(), insertion.begin(), insertion.end());
    result.push_back(words[i]);
  }
  return result;
}

}  // namespace refrain::tools

#include "tools/run_notes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "tools/start.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

struct Notes {
  std::vector<std::string> experiments, through, replaced, unseen, forked;
  bool said = false;
};

std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && i + 1 < text.size()) plain += text[++i] == 'n' ? '\n' : text[i];
    else plain += text[i];
  return plain;
}

/// Identifies the root directory, to tell it from that of a container. Empty: not known.
std::string root_directory() {
  struct stat root;
  return stat("/", &root) == 0 ? fmt::format("{} {}", root.st_dev, root.st_ino) : std::string();
}

/// Whether the process in "PROCESS EXECUTABLE" is alive and still runs that executable.
bool goes_on(const std::string& forked) {
  const std::size_t blank = forked.find(' ');
  if (blank == std::string::npos) return false;
  const std::string place = "/proc/" + forked.substr(0, blank);
  std::error_code error;
  if (fs::read_symlink(place + "/exe", error) != forked.substr(blank + 1) || error) return false;
  std::ifstream file{place + "/stat"};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] != 'Z';
}

std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\\') line += '\\';
    line += c == '\n' ? 'n' : c;
  }
  return line;
}

Notes read_notes(const std::string& file) {
  Notes notes;
  std::ifstream stream{file};
  for (std::string line; std::getline(stream, line);) {
    const auto text_of = [&](std::string_view kind) { return unescaped(line.substr(kind.size())); };
    if (line.starts_with(note_experiment)) notes.experiments.push_back(text_of(note_experiment));
    if (line.starts_with(note_through)) notes.through.push_back(text_of(note_through));
    if (line.starts_with(note_replaced)) notes.replaced.push_back(text_of(note_replaced));
    if (line.starts_with(note_forked)) notes.forked.push_back(text_of(note_forked));
    if (line.starts_with(note_unseen)) notes.unseen.push_back(text_of(note_unseen));
    if (line.starts_with(note_said)) notes.said = true;
  }
  // A process that initializes MPI late had an experiment of its own until then.
  if (notes.experiments.size() > 1) {
    std::error_code error;
    const std::string last = notes.experiments.back();
    std::erase_if(notes.experiments, [&](const std::string& one) { return !fs::exists(one, error); });
    if (notes.experiments.empty()) notes.experiments.push_back(last);
  }
  return notes;
}

/// The state in the manifest; empty if that cannot be read.
std::string state_of(const fs::path& experiment) {
  std::stringstream text;
  text << std::ifstream{experiment / "manifest.json"}.rdbuf();
  const std::string manifest = text.str();
  for (const char* state : {"complete", "incomplete", "running"})
    if (manifest.find(fmt::format("\"state\": \"{}\"", state)) != std::string::npos) return state;
  return {};
}

bool has_profile(const fs::path& experiment) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(experiment, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "profile.refrain" || (name.starts_with("part-") && name.ends_with(".refrain"))) return true;
  }
  return false;
}

/// The last experiment that has results, or else the last one; empty: there is none.
std::string last_experiment(const Notes& notes) {
  if (notes.experiments.empty()) return {};
  const auto with_profile = std::find_if(notes.experiments.rbegin(), notes.experiments.rend(), has_profile);
  return with_profile != notes.experiments.rend() ? *with_profile : notes.experiments.back();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// The experiment's name as typed in a shell in the working directory.
std::string typed(const std::string& experiment) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path path = experiment;
  const std::string name = !error && path.parent_path() == here ? path.filename().string() : experiment;
  if (std::ranges::none_of(name, is_control)) return quoted({name});
  // The syntax of bash and zsh for control characters within one line.
  std::string line = "$'";
  for (const char c : name)
    if (is_control(c)) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else line += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return line + "'";
}

/// `said`: the reason why results could not be written has been printed on stderr.
std::string line_of_one(const std::string& experiment, bool said) {
  const std::string name = typed(experiment), state = state_of(experiment);
  if (state.empty()) return fmt::format("no results: {} has vanished", name);
  if (!has_profile(experiment))
    return fmt::format("no results: the program ended, or was killed, before it had written anything to {}", name);
  if (state == "complete") return fmt::format("results in {}; to see them: refrain report {}", name, name);
  const char* const why = state == "incomplete"
                              ? "incomplete: the program ended before its time, or not all ranks wrote"
                          : said ? "those of the last snapshots: the end could not be written"
                                 : "those of the last snapshots: the program was killed";
  return fmt::format("results in {}, {}; to see them: refrain report {}", name, why, name);
}

}  // namespace

bool run_sees_our_files() {
  const char* file = std::getenv(notes_variable);
  if (!file || !*file) return false;
  std::ifstream stream{file};
  std::string line;
  return std::getline(stream, line) && line == note_root + root_directory();
}

void leave_note(const char* kind, const std::string& text) {
  const char* file = std::getenv(notes_variable);
  if (!file || !*file) return;
  const int descriptor = ::open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return;
  const std::string line = kind + escaped(text) + '\n';
  [[maybe_unused]] const ssize_t written = ::write(descriptor, line.data(), line.size());
  ::close(descriptor);
}

RunNotes::RunNotes() {
  std::error_code error;
  fs::path directory = fs::temp_directory_path(error);
  if (error) directory = "/tmp";
  std::string name = (directory / "refrain-run-XXXXXX").string();
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return;
  const std::string line = note_root + root_directory() + '\n';
  [[maybe_unused]] const ssize_t written = ::write(descriptor, line.data(), line.size());
  close(descriptor);
  file_ = name;
}

RunNotes::~RunNotes() {
  if (!file_.empty()) unlink(file_.c_str());
}

std::vector<std::string> RunNotes::experiments() const {
  std::vector<std::string> all = read_notes(file_).experiments;
  std::erase_if(all, [](const std::string& one) { return !has_profile(one); });
  return all;
}

std::string RunNotes::experiment() const {
  const std::string one = last_experiment(read_notes(file_));
  return !one.empty() && has_profile(one) ? one : std::string();
}

std::string RunNotes::left_behind() const {
  const auto alive = [notes = read_notes(file_)] {
    std::vector<std::string> processes;
    for (const std::string& forked : notes.forked)
      if (goes_on(forked)) processes.push_back(forked.substr(0, forked.find(' ')));
    return processes;
  };
  if (alive().empty()) return {};
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // those that end with their parents have ended by then
  const std::vector<std::string> processes = alive();
  if (processes.empty()) return {};
  return processes.size() == 1
             ? fmt::format("process {}, which the program has left behind, goes on and is not measured", processes[0])
             : fmt::format("{} processes that the program has left behind go on and are not measured: {}",
                           processes.size(), fmt::join(processes, ", "));
}

std::string RunNotes::line() const {
  const Notes notes = read_notes(file_);
  if (notes.experiments.size() == 1) {
    // The reason has been printed already, unless the directory was removed.
    if (notes.said && !has_profile(notes.experiments[0]) && !state_of(notes.experiments[0]).empty()) return {};
    return line_of_one(notes.experiments[0], notes.said);
  }
  if (!notes.experiments.empty()) {
    const std::string one = typed(last_experiment(notes));
    return fmt::format("results of {} jobs, the last in {}; to see them: refrain report {}", notes.experiments.size(),
                       one, one);
  }
  if (notes.said) return {};
  if (!notes.replaced.empty())
    return fmt::format(
        "no results: the measured program became {} by exec before its end; to measure that: refrain run "
        "-- {}",
        typed(notes.replaced.back()), typed(notes.replaced.back()));
  if (!notes.unseen.empty())
    return fmt::format(
        "no results: {} loaded MPI, but no MPI_Init was seen: it called none, or reached MPI past Refrain "
        "(RTLD_DEEPBIND, dlmopen)",
        typed(notes.unseen[0]));
  if (!notes.through.empty())
    return fmt::format(
        "no results: no MPI call of {}, or of what it started, was seen; to measure a program without MPI, name it "
        "itself (refrain run -- ./app), under a launcher with --library serial, or write 'refrain exec -- ./app' in "
        "the "
        "script",
        quoted({notes.through[0]}));
  return "no results: no measured process has written any (those on other nodes leave theirs in their working "
         "directory "
         "there; one that ends by a system call of its own, as Go programs do, leaves none); refrain doctor ./app says "
         "what "
         "would prevent a measurement";
}

}  // namespace refrain::tools

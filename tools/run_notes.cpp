#include "tools/run_notes.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <sstream>
#include <string_view>
#include <unistd.h>

#include "tools/start.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

struct Notes {
  std::vector<std::string> experiments, through;
  bool said = false;
};

Notes read_notes(const std::string& file) {
  Notes notes;
  std::ifstream stream{file};
  for (std::string line; std::getline(stream, line);) {
    const auto text_of = [&](std::string_view kind) { return line.substr(kind.size()); };
    if (line.starts_with(note_experiment)) notes.experiments.push_back(text_of(note_experiment));
    if (line.starts_with(note_through)) notes.through.push_back(text_of(note_through));
    if (line.starts_with(note_said)) notes.said = true;
  }
  return notes;
}

/// What the manifest says; empty when it cannot be read.
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

/// Of several the last with results; empty: there is none.
std::string last_experiment(const Notes& notes) {
  if (notes.experiments.empty()) return {};
  const auto with_profile = std::find_if(notes.experiments.rbegin(), notes.experiments.rend(), has_profile);
  return with_profile != notes.experiments.rend() ? *with_profile : notes.experiments.back();
}

/// As one would type it here.
std::string typed(const std::string& experiment) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path path = experiment;
  return quoted({!error && path.parent_path() == here ? path.filename().string() : experiment});
}

std::string line_of_one(const std::string& experiment) {
  const std::string name = typed(experiment), state = state_of(experiment);
  if (state.empty()) return fmt::format("no results: {} has vanished", name);
  if (!has_profile(experiment))
    return fmt::format("no results: the program was killed before it had written anything to {}", name);
  if (state == "complete") return fmt::format("results in {}; to see them: refrain report {}", name, name);
  return fmt::format("results in {}, {}; to see them: refrain report {}", name,
                     state == "running" ? "those of the last snapshots: the program was killed"
                                        : "incomplete: the program ended before its time, or not all ranks wrote",
                     name);
}

}  // namespace

void leave_note(const char* kind, const std::string& text) {
  const char* file = std::getenv(notes_variable);
  if (!file || !*file) return;
  const int descriptor = ::open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return;
  std::string line = kind + text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
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
  close(descriptor);
  file_ = name;
}

RunNotes::~RunNotes() {
  if (!file_.empty()) unlink(file_.c_str());
}

std::string RunNotes::experiment() const {
  const std::string one = last_experiment(read_notes(file_));
  return !one.empty() && has_profile(one) ? one : std::string();
}

std::string RunNotes::line() const {
  const Notes notes = read_notes(file_);
  if (notes.experiments.size() == 1) {
    if (notes.said && !has_profile(notes.experiments[0])) return {};
    return line_of_one(notes.experiments[0]);
  }
  if (!notes.experiments.empty()) {
    const std::string one = typed(last_experiment(notes));
    return fmt::format("results of {} jobs, the last in {}; to see them: refrain report {}", notes.experiments.size(),
                       one, one);
  }
  if (notes.said) return {};
  if (!notes.through.empty())
    return fmt::format(
        "no results: {} does not use MPI and started nothing that does; to measure a program without, name it itself "
        "(refrain run -- ./app), "
        "under a launcher with --library serial, or write 'refrain exec -- ./app' in the script",
        quoted({notes.through[0]}));
  return "no results: nothing that was started came as far as having some (what runs on other nodes leaves its results "
         "in its "
         "working directory there); refrain doctor ./app says what would prevent a measurement";
}

}  // namespace refrain::tools

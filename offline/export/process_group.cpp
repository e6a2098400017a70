#include "offline/export/process_group.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace refrain::exports {
namespace {

using namespace std::chrono_literals;

/// Environment variables that launchers set: the rank of a process, and the number of processes. The inner of two
/// launchers comes first, since srun may start mpirun. Slurm's second variable is that of a step, because a batch
/// script has a rank in its job, too.
constexpr std::pair<const char*, const char*> variables[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text) return std::nullopt;
  const std::string_view word(text);
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string random_name() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

/// The text as one line, with line ends escaped.
std::string folded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\\\";
    else if (c == '\n') out += "\\n";
    else out += c;
  }
  return out;
}

std::string unfolded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escaped = text[i] == '\\' && i + 1 < text.size();
    if (is_escaped) ++i;
    out += is_escaped && text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// Waits between looks at a file for an eighth of the time passed so far, so a change is seen late by at most that
/// share.
class Pause {
 public:
  void operator()() {
    using std::chrono::steady_clock;
    const auto passed = steady_clock::now() - begin_;
    std::this_thread::sleep_for(std::clamp<steady_clock::duration>(passed / 8, 1ms, 200ms));
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

PlaceInJob place_in_job() {
  for (const auto& [rank_variable, size_variable] : variables) {
    const auto rank = number_in(rank_variable), size = number_in(size_variable);
    if (rank && size && *rank >= 0 && *rank < *size) return {*rank, *size};
  }
  return {};
}

ProcessGroup::ProcessGroup(std::filesystem::path directory, PlaceInJob place, std::chrono::milliseconds patience)
    : directory_(std::move(directory)),
      place_(place),
      patience_(patience),
      name_(random_name()),
      peers_(static_cast<std::size_t>(place.size)) {
  make_own_file();
  for (Peer& peer : peers_) peer.changed = Clock::now();
  try {
    if (is_first()) find_others();
    else find_first();
  } catch (...) {
    remove_files();
    throw;
  }
  life_ = std::jthread([this](const std::stop_token& stop) { stay_alive(stop); });
}

ProcessGroup::~ProcessGroup() = default;

/// Removes this process's file; the first process removes all files. The directory goes when it is empty.
void ProcessGroup::remove_files() {
  std::error_code ignored;
  std::vector<std::filesystem::path> of_processes{file_of(rank())};
  if (is_first())
    for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored))
      if (entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos)
        of_processes.push_back(entry.path());
  for (const std::filesystem::path& file : of_processes) std::filesystem::remove(file, ignored);
  (void)::rmdir(directory_.c_str());
}

void ProcessGroup::make_own_file() {
  std::error_code error;
  if (directory_.has_parent_path()) std::filesystem::create_directories(directory_.parent_path(), error);
  if (!error) std::filesystem::create_directory(directory_, error);
  if (error) throw ExportError(directory_.string() + ": " + error.message());
  // A new file, so that no process goes on reading that of an earlier job.
  const std::filesystem::path made = directory_ / name_;
  std::ofstream(made) << "refrain " << name_ << '\n' << std::flush;
  std::filesystem::rename(made, file_of(rank()), error);
  if (error) throw ExportError(file_of(rank()).string() + ": " + error.message());
}

void ProcessGroup::append(const std::string& line) {
  const std::lock_guard lock(writing_);
  const std::filesystem::path file = file_of(rank());
  const std::string text = line + '\n';
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool is_written =
      descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  if (descriptor < 0 || ::close(descriptor) != 0 || !is_written)
    throw ExportError(file.string() + ": " + std::generic_category().message(why));
}

ProcessGroup::Heard ProcessGroup::hear(int rank) const {
  Heard heard;
  std::ifstream in(file_of(rank), std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  std::string text = std::move(all).str();
  heard.bytes = text.size();
  text.resize(text.rfind('\n') + 1);  // a line without its end is still being written
  for (const std::string& line : split(text, '\n')) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string kind = line.substr(0, blank), rest = blank < line.size() ? line.substr(blank + 1) : "";
    if (kind == "refrain") heard.name = rest;
    else if (kind == "seen") heard.names = split(rest, ' ');
    else if (kind == "to") heard.answers = rest;
    else if (kind == "say") heard.words.push_back(unfolded(rest));
    else if (kind == "end") {
      std::vector<std::string> lines = split(unfolded(rest), '\n');
      heard.has_ended = true;
      heard.last.code = lines.empty() ? 0 : std::atoi(lines[0].c_str());
      if (!lines.empty()) lines.erase(lines.begin());
      heard.last.lines = std::move(lines);
    }
  }
  return heard;
}

void ProcessGroup::find_others() {
  Pause pause;
  for (;; pause()) {
    bool is_new = false, is_complete = true;
    std::vector<std::string> names;
    for (int rank = 1; rank < size(); ++rank) {
      const Heard heard = hear(rank);
      Peer& peer = peers_[static_cast<std::size_t>(rank)];
      if (!heard.name.empty() && heard.name != peer.name) {
        peer.name = heard.name;
        is_new = true;
      }
      if (peer.name.empty() || heard.answers != name_) is_complete = false;
      if (!is_complete && is_silent(peer)) give_up(rank);
      names.push_back(peer.name.empty() ? "-" : peer.name);
    }
    if (is_new) append(fmt::format("seen {}", fmt::join(names, " ")));
    if (is_complete) return;
  }
}

void ProcessGroup::find_first() {
  const auto self = static_cast<std::size_t>(rank()) - 1;
  Pause pause;
  for (;; pause()) {
    const Heard heard = hear(0);
    if (self < heard.names.size() && heard.names[self] == name_) {
      peers_[0].name = heard.name;
      return append("to " + heard.name);
    }
    if (is_silent(peers_[0])) give_up(0);
  }
}

void ProcessGroup::give_up(int rank) const {
  throw ExportError(fmt::format("process {} of {} has not been heard of for {:g} s", rank, size(),
                                std::chrono::duration<double>(patience_).count()));
}

ProcessGroup::Heard ProcessGroup::listen(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  Heard heard = hear(rank);
  if (heard.name != peer.name && !heard.name.empty())
    throw ExportError(directory_.string() + ": another job meets there, too");
  if (heard.bytes != peer.bytes) peer = {peer.name, heard.bytes, Clock::now()};
  return heard;
}

bool ProcessGroup::take_word(int rank, std::size_t number, std::string& word) {
  const Heard heard = listen(rank);
  if (number < heard.words.size()) {
    word = heard.words[number];
    return true;
  }
  if (heard.has_ended) {
    if (rank == 0) first_ = First::HasEnded;
    throw ExportError(heard.last.lines.empty() ? fmt::format("process {} of {} has ended", rank, size())
                                               : heard.last.lines.back());
  }
  if (is_silent(peers_[static_cast<std::size_t>(rank)])) {
    if (rank == 0) first_ = First::IsSilent;
    give_up(rank);
  }
  return false;
}

std::vector<std::string> ProcessGroup::gather(const std::string& mine) {
  if (!is_first()) {
    append("say " + folded(mine));
    return {};
  }
  std::vector<std::string> words(peers_.size());
  words[0] = mine;
  std::vector<int> missing;
  for (int rank = 1; rank < size(); ++rank) missing.push_back(rank);
  for (Pause pause; !missing.empty(); pause())
    std::erase_if(missing, [&](int rank) { return take_word(rank, gathered_, words[static_cast<std::size_t>(rank)]); });
  ++gathered_;
  return words;
}

std::string ProcessGroup::broadcast(const std::string& of_first) {
  if (is_first()) {
    append("say " + folded(of_first));
    return of_first;
  }
  std::string word;
  for (Pause pause; !take_word(0, broadcast_, word); pause()) {
  }
  ++broadcast_;
  return word;
}

void ProcessGroup::check() const {
  switch (first_.load(std::memory_order_relaxed)) {
    case First::Lives: return;
    case First::HasEnded: throw ExportError("the first process has ended");
    case First::IsSilent: give_up(0);
  }
}

void ProcessGroup::end(const LastWord& word) {
  if (has_ended_) return;
  std::string text = std::to_string(word.code);
  for (const std::string& line : word.lines) text += '\n' + line;
  append("end " + folded(text));
  has_ended_ = true;
}

const std::vector<ProcessGroup::LastWord>& ProcessGroup::dismiss(std::chrono::milliseconds most) {
  if (!last_words_.empty()) return last_words_;
  std::vector<LastWord> words;
  for (int rank = 1; rank < size(); ++rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    Heard heard;
    const auto is_dead = [&] { return is_silent(peer) || Clock::now() - peer.changed > most; };
    for (Pause pause; !(heard = listen(rank)).has_ended && !is_dead(); pause()) {
    }
    words.push_back(std::move(heard.last));
  }
  last_words_ = std::move(words);
  life_ = {};
  remove_files();
  return last_words_;
}

/// Also watches the first process, for check().
void ProcessGroup::stay_alive(const std::stop_token& stop) {
  const auto period = std::clamp<std::chrono::milliseconds>(patience_ / 20, 50ms, 5s);
  std::uintmax_t bytes = 0;
  auto changed = Clock::now();
  std::unique_lock lock(sleeping_);
  while (!sleep_.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) {
    try {
      append(".");
    } catch (const ExportError&) {
      // Processes that wait for this one will notice.
    }
    if (is_first()) continue;
    const Heard heard = hear(0);
    if (heard.bytes != bytes) {
      bytes = heard.bytes;
      changed = Clock::now();
    }
    if (heard.has_ended) first_ = First::HasEnded;
    else if (Clock::now() - changed > patience_) first_ = First::IsSilent;
  }
}

}  // namespace refrain::exports

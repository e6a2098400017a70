// Profiles of TAU (TAU User's Guide, "TAU's profile format"): files profile.RANK.CONTEXT.THREAD in a directory, or for
// several metrics in directories MULTI__METRIC. Lines of functions are
//
//     "main => solve() [{solve.c} {10,0}]" CALLS SUBROUTINES EXCLUSIVE INCLUSIVE PROFILECALLS GROUP="..."
//
// with times in microseconds. A function without "=>" is the sum over its call paths; what they leave of that sum is
// the function's time at the top. Call paths are cut to TAU_CALLPATH_DEPTH functions; a cut call path is at the top,
// too.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "offline/database/digest.hpp"
#include "offline/database/held_run.hpp"
#include "offline/database/profile_run.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/input_file.hpp"

namespace refrain::database {
namespace {

namespace fs = std::filesystem;

struct TauFile {
  fs::path path;
  std::int64_t rank = 0, thread = 0;
};

/// "profile.3.0.1": rank 3, thread 1.
std::optional<TauFile> tau_file(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view begin = "profile.";
  if (!name.starts_with(begin)) return std::nullopt;
  std::int64_t numbers[3];
  const char *at = name.data() + begin.size(), *const end = name.data() + name.size();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto read = std::from_chars(at, end, numbers[i]);
    if (read.ec != std::errc() || numbers[i] < 0 || (i < 2 ? read.ptr == end || *read.ptr != '.' : read.ptr != end))
      return std::nullopt;
    at = read.ptr + (i < 2);
  }
  return TauFile{path, numbers[0], numbers[2]};
}

std::vector<TauFile> files_in(const fs::path& directory) {
  std::vector<TauFile> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (auto file = tau_file(at->path())) files.push_back(std::move(*file));
  std::ranges::sort(files, {}, [](const TauFile& of) { return std::pair(of.rank, of.thread); });
  return files;
}

std::vector<TauFile> files_of(const std::string& path) {
  for (const char* below : {"", "MULTI__TIME", "MULTI__GET_TIME_OF_DAY", "MULTI__LINUX_TIMERS"})
    if (auto files = files_in(fs::path(path) / below); !files.empty()) return files;
  return {};
}

std::string trimmed_name(std::string_view name) {
  if (const std::size_t source = name.find(" [{"); source != name.npos) name = name.substr(0, source);
  if (name.ends_with(" C")) name.remove_suffix(2);
  while (name.ends_with(' ')) name.remove_suffix(1);
  while (name.starts_with(' ')) name.remove_prefix(1);
  if (name.starts_with("MPI_") && name.ends_with("()")) name.remove_suffix(2);
  return experiment::clean_text(name);
}

/// The names of the functions in "a => b".
std::vector<std::string> names_of_path(std::string_view path) {
  constexpr std::string_view arrow = " => ";
  std::vector<std::string> names;
  for (;;) {
    const std::size_t at = path.find(arrow);
    names.push_back(trimmed_name(path.substr(0, at)));
    if (at == path.npos) return names;
    path.remove_prefix(at + arrow.size());
  }
}

class TauRun final : public HeldRun {
 public:
  explicit TauRun(const std::string& path) : HeldRun(path, "tau"), visits_(metric_of("visits", "1")) {
    Digest digest;
    for (const TauFile& file : files_of(path)) {
      const experiment::InputFile input(file.path);
      const std::vector<std::byte> bytes = input.read(0, input.size(), "the profile");
      digest.add(bytes);
      read(input, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, {file.rank, file.thread});
    }
    digest_ = digest.text();
    finish();
  }

 private:
  struct Line {
    std::vector<std::string> names;
    double calls = 0, exclusive_s = 0;
  };
  struct Sum {
    double calls = 0, exclusive_s = 0;
  };

  void read(const experiment::InputFile& input, std::string_view text, Thread thread) {
    std::istringstream lines{std::string(text)};
    std::string line;
    std::size_t count = 0;
    if (!std::getline(lines, line) ||
        std::from_chars(line.data(), line.data() + line.size(), count).ec != std::errc() ||
        line.find("templated_functions") == line.npos)
      input.fail(0, "it does not begin as a profile of TAU");
    // "templated_functions_MULTI_GET_TIME_OF_DAY". For a single metric there is no directory of its name.
    if (const std::size_t metric = line.find("_MULTI_"); metric != line.npos && line.find("TIME", metric) == line.npos)
      input.fail(0, "its metric is none of time");
    std::getline(lines, line);  // the names of the columns
    std::map<std::string, Sum> in_paths;
    std::vector<Line> flat;
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::getline(lines, line)) input.fail(text.size(), "it ends before all of its functions");
      const auto of = parse(line);
      if (!of) input.fail(0, "line " + std::to_string(i + 3) + " is none of a function");
      if (is_of_samples(of->names)) continue;
      if (of->names.size() == 1) {
        flat.push_back(*of);
        continue;
      }
      std::int32_t node = -1;
      for (const std::string& name : of->names) node = static_cast<std::int32_t>(node_below(node, name));
      put(thread, static_cast<std::uint32_t>(node), *of);
      Sum& sum = in_paths[of->names.back()];
      sum.calls += of->calls;
      sum.exclusive_s += of->exclusive_s;
    }
    constexpr double rounding_s = 1e-6;
    for (Line& of : flat) {
      const Sum& sum = in_paths[of.names[0]];
      of.calls = std::max(of.calls - sum.calls, 0.0);
      of.exclusive_s -= sum.exclusive_s;
      if (of.exclusive_s > rounding_s || of.calls > 0) put(thread, node_below(-1, of.names[0]), of);
    }
  }

  void put(Thread thread, std::uint32_t node, const Line& of) {
    add(thread, node, wall, std::max(of.exclusive_s, 0.0));
    if (of.calls > 0) add(thread, node, visits_, of.calls);
  }

  /// The time of samples is included in that of the instrumented functions.
  static bool is_of_samples(const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [](const std::string& name) {
      return name.starts_with("[CONTEXT]") || name.starts_with("[SAMPLE]") || name.starts_with("[SUMMARY]") ||
             name.starts_with("[UNWIND]");
    });
  }

  static std::optional<Line> parse(std::string_view line) {
    const std::size_t group = line.rfind(" GROUP=");
    const std::string_view head = line.substr(0, group);
    const std::size_t end = head.rfind('"');
    if (head.empty() || head[0] != '"' || end == 0 || end == head.npos) return std::nullopt;
    std::istringstream numbers{std::string(head.substr(end + 1))};
    double calls = 0, subroutines = 0, exclusive_us = 0;
    if (!(numbers >> calls >> subroutines >> exclusive_us)) return std::nullopt;
    constexpr double s_per_us = 1e-6;
    return Line{names_of_path(head.substr(1, end - 1)), calls, exclusive_us * s_per_us};
  }

  std::size_t visits_;
};

}  // namespace

bool is_tau(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !files_of(path).empty();
}

std::unique_ptr<RunSource> tau_run(const std::string& path) { return std::make_unique<TauRun>(path); }

}  // namespace refrain::database

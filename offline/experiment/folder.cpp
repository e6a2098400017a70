#include "offline/experiment/folder.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <tuple>

#include "format/profile_file.hpp"

namespace refrain::experiment {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, TarMember>;

/// The files of the folder that holds the experiment; empty when the path is not a packed experiment.
Files files_of_archive(const fs::path& path) {
  Files files;
  if (!is_tar(path)) return files;
  const auto members = tar_members(InputFile(path));
  const auto is_of_experiment = [](const auto& member) {
    const std::string name = fs::path(member.first).filename();
    return name == format::manifest_name || name == format::profile_name;
  };
  const auto first = std::ranges::find_if(members, is_of_experiment);
  if (first == members.end()) return files;
  const fs::path folder = fs::path(first->first).parent_path();
  for (const auto& [name, member] : members)
    if (fs::path(name).parent_path() == folder) files.emplace(fs::path(name).filename(), member);
  return files;
}

/// The files of an archive, which are listed once, and again when the archive has changed. Null: not a regular file.
std::shared_ptr<const Files> packed_files(const fs::path& path) {
  using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long>;
  static std::mutex mutex;
  static std::map<Identity, std::shared_ptr<const Files>> known;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  const Identity identity{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  {
    const std::lock_guard lock(mutex);
    if (const auto at = known.find(identity); at != known.end()) return at->second;
  }
  auto files = std::make_shared<const Files>(files_of_archive(path));
  const std::lock_guard lock(mutex);
  constexpr std::size_t most_archives = 64;
  if (known.size() >= most_archives) known.clear();
  return known[identity] = std::move(files);
}

}  // namespace

std::vector<std::string> files_in(const fs::path& experiment, std::error_code& error) {
  std::vector<std::string> names;
  if (const auto files = packed_files(experiment)) {
    for (const auto& [name, member] : *files) names.push_back(name);
    return names;
  }
  for (fs::directory_iterator at(experiment, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error) names.clear();
  std::ranges::sort(names);
  return names;
}

std::vector<fs::path> files_like(const fs::path& experiment, std::string_view begin, std::string_view end) {
  std::vector<fs::path> files;
  std::error_code unheard;
  if (experiment.empty()) return files;
  for (const std::string& name : files_in(experiment, unheard))
    if (name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end))
      files.push_back(experiment / name);
  return files;
}

bool has_file(const fs::path& experiment, const std::string& name) {
  if (const auto files = packed_files(experiment)) return files->contains(name);
  std::error_code error;
  return fs::exists(experiment / name, error);
}

bool is_packed(const fs::path& path) {
  const auto files = packed_files(path);
  return files && !files->empty();
}

std::optional<TarMember> packed_file(const fs::path& path) {
  const auto files = packed_files(path.parent_path());
  if (!files) return std::nullopt;
  const auto at = files->find(path.filename());
  return at == files->end() ? std::nullopt : std::optional(at->second);
}

std::string full_name(const fs::path& experiment) {
  std::error_code error;
  std::string name = fs::absolute(experiment, error).lexically_normal().string();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  return name;
}

}  // namespace refrain::experiment

#include "offline/database/profile_run.hpp"

#include <filesystem>

#include "offline/database/cubex_file.hpp"
#include "offline/database/cubex_run.hpp"
#include "offline/trace/otf2_archive.hpp"

namespace refrain::database {

namespace {

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

bool is_profile(const std::string& path) { return is_file(path) ? is_cubex(path) || is_caliper(path) : is_tau(path); }

std::unique_ptr<RunSource> profile_run(const std::string& path) {
  if (is_tau(path)) return tau_run(path);
  if (const auto anchor = trace::find_otf2_anchor(path)) return archive_run(anchor->string());
  return is_file(path) && is_caliper(path) ? caliper_run(path) : cubex_run(path);
}

}  // namespace refrain::database

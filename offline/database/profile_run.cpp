#include "offline/database/profile_run.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "offline/database/cubex_file.hpp"
#include "offline/database/cubex_run.hpp"
#include "offline/experiment/damage.hpp"
#include "offline/trace/otf2_archive.hpp"

namespace refrain::database {

namespace {

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

struct KindOfRun {
  const char* source;
  bool (*is_it)(const std::string& path);
  std::unique_ptr<RunSource> (*read)(const std::string& path);
};

constexpr KindOfRun kinds_of_runs[] = {
    {"tau", is_tau, tau_run},
    {"otf2", [](const std::string& path) { return trace::find_otf2_anchor(path).has_value(); },
     [](const std::string& path) { return archive_run(trace::find_otf2_anchor(path)->string()); }},
    {"cubex", [](const std::string& path) { return is_file(path) && is_cubex(path); }, cubex_run},
    {"caliper", [](const std::string& path) { return is_file(path) && is_caliper(path); }, caliper_run}};

const KindOfRun* kind_of_run(const std::string& path) {
  const auto* const at = std::ranges::find_if(kinds_of_runs, [&](const KindOfRun& of) { return of.is_it(path); });
  return at == std::end(kinds_of_runs) ? nullptr : at;
}

}  // namespace

const char* source_of(const std::string& path) {
  const KindOfRun* const kind = kind_of_run(path);
  return kind ? kind->source : nullptr;
}

void refuse_file(const std::string& path) {
  throw experiment::ReadError(path + " is no experiment, no OTF2 archive, and no profile of CUBE, Caliper or TAU");
}

std::unique_ptr<RunSource> profile_run(const std::string& path) {
  if (const KindOfRun* const kind = kind_of_run(path)) return kind->read(path);
  refuse_file(path);
}

}  // namespace refrain::database

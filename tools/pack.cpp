/// `refrain pack EXPERIMENT`: makes one file of an experiment, which every command opens like the directory.

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <system_error>

#include "format/event_file.hpp"
#include "offline/anonymous/experiment_copy.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/experiment/whole_file.hpp"
#include "offline/report/found.hpp"
#include "offline/run/loop_pools.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/progress_line.hpp"
#include "tools/subcommands.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;
constexpr const char* pack_name = "pack";

struct PackRequest {
  std::string experiment, output;
  bool without_events = false, anonymous = false;
};

/// The directory's own name, even if it is packed already; for ".", that of the working directory.
std::string name_of_experiment(const std::string& experiment) {
  const fs::path path = experiment::full_name(experiment);
  return (path.extension() == ".tar" ? path.stem() : path.filename()).string();
}

bool is_of_events(const std::string& file) {
  return file.starts_with(format::events_name_begin) && file.ends_with(format::events_name_end);
}

/// Keeps three things in the experiment: the function names, which need the binaries of this machine, the division of
/// the iterations' time, and the findings of a search. False: no findings are kept, and none can be.
bool keep_what_is_known(const experiment::Experiment& experiment) {
  ProgressLine line;
  symbols::Symbolizer symbolizer;
  symbols::use_names(experiment, symbolizer, {.progress = line.naming()});
  keep_pools(experiment, run::Asked::No);
  if (report::kept_found(experiment)) return true;
  const report::Found found = report::search_some(experiment.directory(), line.searching());
  line.end();
  if (!found.may_be_kept) return false;
  try {
    report::keep_found(experiment, found, "", REFRAIN_VERSION);
    return true;
  } catch (const std::system_error&) {  // another user's directory
    return false;
  }
}

/// The names of the files to pack, in order and without unfinished files.
std::vector<std::string> files_to_pack(const PackRequest& request) {
  std::error_code error;
  std::vector<std::string> files = experiment::files_in(request.experiment, error);
  if (error) throw experiment::ReadError(request.experiment + ": cannot be read: " + error.message());
  std::erase_if(files, [&](const std::string& file) {
    const bool is_read = file.ends_with(".refrain") || file.ends_with(".json");
    return !is_read || (request.without_events && is_of_events(file));
  });
  return files;
}

void add(experiment::NewFile& archive, const std::string& folder, const fs::path& path) {
  const experiment::InputFile file(path);
  archive.write(experiment::tar_head(folder + "/" + path.filename().string(), file.size()));
  file.for_each_piece([&](std::span<const std::byte> bytes) {
    archive.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  archive.write(experiment::tar_padding(file.size()));
}

/// A temporary directory, which the destructor removes.
class ScratchDirectory {
 public:
  ScratchDirectory() : path_((fs::temp_directory_path() / "refrain-pack-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Writes an anonymous copy into the directory and returns its path.
std::string make_anonymous(const std::string& experiment, const std::string& directory) {
  const auto opened = experiment::Experiment::open(experiment, true);
  symbols::Symbolizer symbolizer;
  symbols::use_names(*opened, symbolizer, {.has_ended = true});
  std::string copy = directory + "/experiment";
  anonymous::copy_experiment(*opened, symbolizer, anonymous::Pseudonyms(), copy);
  return copy;
}

int run(PackRequest request) {
  if (!find_experiment(pack_name, request.experiment)) return exit_usage;
  std::string folder = name_of_experiment(request.experiment);
  if (request.output.empty()) request.output = folder + ".tar";
  std::optional<ScratchDirectory> scratch;
  if (request.anonymous) {
    request.experiment = make_anonymous(request.experiment, scratch.emplace().path());
    folder = "experiment";
  }
  const auto experiment = experiment::Experiment::open(request.experiment);
  const bool is_kept = keep_what_is_known(*experiment);
  const std::vector<std::string> files = files_to_pack(request);
  std::error_code error;
  const bool has_events = std::ranges::any_of(experiment::files_in(request.experiment, error), is_of_events);
  if (request.without_events && has_events && !is_kept)
    return complain(pack_name, exit_usage,
                    fmt::format("--without-events: what its events tell cannot be kept in {}, so it would be lost",
                                request.experiment));
  constexpr std::size_t longest_folder = 60;  // leaves room for a file's name in 100 bytes
  experiment::NewFile archive(request.output);
  for (const std::string& file : files)
    add(archive, folder.size() > longest_folder ? "experiment" : folder, fs::path(request.experiment) / file);
  archive.write(experiment::tar_end());
  archive.finish();
  constexpr double bytes_of_megabyte = 1e6;
  if (!archive.is_standard_output())
    show("{}: {:.1f} MB\n", request.output, static_cast<double>(archive.size()) / bytes_of_megabyte);
  return exit_ok;
}

}  // namespace

void add_pack(Command root, Invocation& invocation) {
  auto request = std::make_shared<PackRequest>();
  Command command = root.add("pack", "Make one file of an experiment, which all commands open like the directory");
  add_experiment(command, request->experiment, "Experiment directory");
  command.option("-o,--output", request->output, "File to write, - for standard output (default: EXPERIMENT.tar here)")
      .type("FILE");
  command.flag("--without-events", request->without_events,
               "Leave out the files of events; what was found in them stays, and so does the sample of iterations");
  command.flag(
      "--anonymous", request->anonymous,
      "Put hashes in the place of names: of functions, machines, files, threads, and of the program's arguments");
  command.footer(
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read.\n"
      "The file is an archive of tar: tar -xf makes the directory of it.");
  command.when_chosen(
      [request, &invocation] { invocation.exit_code = guarded(pack_name, [&] { return run(*request); }); });
}

}  // namespace refrain::tools

#include "offline/analysis/named_paths.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>

#include "format/mpi_functions.hpp"
#include "offline/symbols/layers.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::analysis {
namespace {

using experiment::NodeKind;
using symbols::Lookup;
using symbols::SourceFrame;

constexpr std::string_view start_up_functions[] = {"_start",
                                                   "__libc_start_main",
                                                   "__libc_start_main_impl",
                                                   "__libc_start_call_main",
                                                   "generic_start_main",
                                                   "clone",
                                                   "__clone",
                                                   "clone3",
                                                   "__clone3",
                                                   "start_thread"};

std::string in_small_letters(std::string_view text) {
  std::string letters(text);
  for (char& c : letters) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

void strip(std::string& text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
}

/// "send" for a function of MPI's Fortran layer ("mpi_send_", "mpi_send_f08ts_large_", "MPIR_Send_cdesc"); nothing for
/// other functions.
std::optional<std::string> called_by_fortran_layer(std::string_view function) {
  std::string name = in_small_letters(function);
  if (name != function && !function.ends_with("_cdesc") &&
      std::any_of(function.begin(), function.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
    return std::nullopt;  // a C function
  while (name.ends_with('_')) name.pop_back();
  for (const std::string_view suffix : {"_cdesc", "_large", "_f08ts", "_f08", "_cptr"}) strip(name, suffix);
  for (const std::string_view prefix : {"pmpixr_", "pmpir_", "mpixr_", "mpir_", "pmpix_", "pmpi_", "mpix_", "mpi_"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return std::nullopt;
}

/// True when `function` is MPI's Fortran layer of `region` ("MPI_Send").
bool is_fortran_layer_of(std::string_view function, std::string_view region) {
  const auto called = called_by_fortran_layer(function);
  if (!called) return false;
  std::string wanted = in_small_letters(region);
  strip(wanted, "_c");
  return *called == wanted.substr(wanted.find('_') + 1);
}

bool is_start_up_function(std::string_view name) {
  return std::find(std::begin(start_up_functions), std::end(start_up_functions), name) != std::end(start_up_functions);
}
/// Whether the function is a constructor or destructor of the marks' C++ objects, which are always inlined: what they
/// do belongs to the function around them, and so does the unwinding of an exception that continues where one of them
/// ends a scope.
bool is_scope_object(std::string_view function) {
  constexpr std::string_view objects[] = {"refrain::Loop::", "refrain::Iteration::", "refrain::Region::"};
  return std::any_of(std::begin(objects), std::end(objects), [&](auto object) { return function.starts_with(object); });
}
bool is_libc(std::string_view file) {
  return file.starts_with("libc.so") || file.starts_with("libc-") || file.starts_with("libpthread");
}

}  // namespace

bool is_told_by_name(std::string_view function) {
  const auto called = called_by_fortran_layer(function);
  return is_start_up_function(function) || is_scope_object(function) ||
         (called && format::find_mpi_function("MPI_" + *called) != nullptr);
}

bool is_parallel_body(std::string_view function) {
  return function.find("._omp_fn.") != std::string_view::npos ||
         function.find(".omp_outlined") != std::string_view::npos ||
         function.find("..omp_par.") != std::string_view::npos;
}
bool is_openmp_runtime(std::string_view name) {
  constexpr std::string_view begins[] = {"libgomp", "[libgomp", "gomp_",    "GOMP_", "libomp",
                                         "[libomp", "libiomp",  "[libiomp", "__kmp", "kmp_"};
  return std::any_of(std::begin(begins), std::end(begins), [&](auto begin) { return name.starts_with(begin); });
}

namespace {

const char* name_of_special(std::uint64_t path) {
  return path == static_cast<std::uint64_t>(format::SpecialPath::ArenaFull) ? run::arena_full_name
                                                                            : run::truncated_name;
}

}  // namespace

NamedPaths::NamedPaths(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer,
                       const CallTreeOptions& options)
    : profile_(definitions), symbolizer_(symbolizer), options_(options) {
  nodes_.emplace_back();
  depths_.push_back(0);
}

void NamedPaths::place_all() {
  const auto& paths = profile_.paths;
  places_.resize(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    places_[i] = i == 0 || paths[i].parent >= i ? Place{} : place(paths[i]);
    if (options_.progress && i % 64 == 0) options_.progress(i, paths.size());
  }
  move_workers();
  if (options_.progress) options_.progress(paths.size(), paths.size());
}

/// The bodies of parallel constructs that worker threads run: those with only the OpenMP runtime above them.
std::vector<std::uint32_t> NamedPaths::bodies_of_workers() const {
  std::vector<std::uint32_t> bodies;
  std::vector<bool> in_runtime(nodes_.size());
  in_runtime[0] = true;
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    const auto parent = static_cast<std::uint32_t>(nodes_[node].parent);
    if (!in_runtime[parent]) continue;
    in_runtime[node] = is_openmp_runtime(nodes_[node].name);
    if (parent != 0 && is_parallel_body(nodes_[node].name)) bodies.push_back(node);
  }
  return bodies;
}

/// Where the threads that started the construct run the same body. If that is at several places, a node for the body
/// below what calls them all. 0: nowhere.
std::uint32_t NamedPaths::construct_of(std::uint32_t body, const std::vector<std::uint32_t>& same_bodies) {
  const auto above = [&](std::uint32_t node) {
    std::vector<std::uint32_t> path;
    for (; node != 0; node = static_cast<std::uint32_t>(nodes_[node].parent)) path.push_back(node);
    std::ranges::reverse(path);
    return path;
  };
  std::vector<std::uint32_t> common;
  for (const std::uint32_t node : same_bodies) {
    std::vector<std::uint32_t> path = above(node);
    if (node == same_bodies[0]) common = std::move(path);
    else common.erase(std::ranges::mismatch(common, path).in1, common.end());
  }
  const std::size_t places = same_bodies.size();
  if (common.empty()) return 0;
  const TreeNode of = nodes_[body];
  return places == 1 ? common.back()
                     : child(common.back(), of.name, run::PathKind::User, {of.module, of.file, of.line, of.offset},
                             false, of.runtime);
}

/// Moves the work of OpenMP worker threads below the construct that has started it.
void NamedPaths::move_workers() {
  const std::vector<std::uint32_t> bodies = bodies_of_workers();
  if (bodies.empty()) return;
  std::vector<bool> of_workers(nodes_.size());
  for (const std::uint32_t body : bodies) of_workers[body] = true;
  for (std::uint32_t node = 1; node < of_workers.size(); ++node)
    if (of_workers[static_cast<std::size_t>(nodes_[node].parent)]) of_workers[node] = true;
  std::map<std::string, std::vector<std::uint32_t>> of_constructs;  // by name, the bodies that first threads run
  for (std::uint32_t node = 1; node < of_workers.size(); ++node)
    if (!of_workers[node] && is_parallel_body(nodes_[node].name)) of_constructs[nodes_[node].name].push_back(node);
  std::vector<std::uint32_t> moved(of_workers.size());
  for (std::uint32_t node = 0; node < of_workers.size(); ++node) {
    moved[node] = node;
    if (!of_workers[node]) continue;
    const auto parent = static_cast<std::uint32_t>(nodes_[node].parent);
    if (!of_workers[parent]) {
      if (const std::uint32_t to = construct_of(node, of_constructs[nodes_[node].name]); to != 0) moved[node] = to;
    } else if (moved[parent] != parent) {
      const TreeNode from = nodes_[node];
      moved[node] = child(moved[parent], from.name, from.kind, {from.module, from.file, from.line, from.offset},
                          from.marked, from.runtime);
    }
  }
  for (Place& place : places_) place.node = moved[place.node];
}

std::uint32_t NamedPaths::child(std::uint32_t parent, const std::string& name, run::PathKind kind, const Site& site,
                                bool marked, Runtime runtime) {
  const auto [at, fresh] =
      index_.try_emplace({parent, name, kind, marked, site}, static_cast<std::uint32_t>(nodes_.size()));
  if (!fresh) return at->second;
  nodes_[parent].children.push_back(static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back({.parent = static_cast<std::int32_t>(parent),
                    .kind = kind,
                    .name = name,
                    .marked = marked,
                    .module = site.module,
                    .file = site.file,
                    .line = site.line,
                    .offset = site.address,
                    .runtime = runtime});
  depths_.push_back(depths_[parent] + 1);
  return at->second;
}

NamedPaths::Place NamedPaths::place(const experiment::CallPath& path) {
  const Place& parent = places_[path.parent];
  switch (path.kind) {
    case NodeKind::Root: return {};
    case NodeKind::Region: {
      const std::string name = path.offset < profile_.regions.size() ? profile_.regions[path.offset] : "MPI";
      std::uint32_t node = parent.node;  // below MPI's Fortran layer, when it is linked into the program
      while (node != 0 && is_fortran_layer_of(nodes_[node].name, name))
        node = static_cast<std::uint32_t>(nodes_[node].parent);
      return {child(node, name, run::PathKind::Mpi, {}), StartUp::Done};
    }
    case NodeKind::Special:
      return {child(parent.node, name_of_special(path.offset), run::PathKind::Other, {}), StartUp::Done};
    case NodeKind::Marked: {
      const std::string name = path.offset < profile_.regions.size() ? profile_.regions[path.offset] : "region";
      return {child(parent.node, name, run::PathKind::User, {}, true), StartUp::Done, path.parent};
    }
    case NodeKind::Frame: return place_frames(path, parent, Lookup::ReturnAddress);
    case NodeKind::Function: return place_frames(path, parent, Lookup::Entry);
  }
  return parent;
}

const experiment::ProfileModule& NamedPaths::module_of(const experiment::CallPath& path) const {
  static const experiment::ProfileModule no_module;
  const bool known = path.module >= 0 && static_cast<std::size_t>(path.module) < profile_.modules.size();
  return known ? profile_.modules[path.module] : no_module;
}

/// How many of the functions at a place, from the outermost on, are already above a mark in the same activation: the
/// one that is not inlined, and the inlined ones that contain the mark, too.
std::size_t NamedPaths::shared_with_mark(const std::vector<SourceFrame>& frames, std::uint32_t mark_site) {
  const experiment::CallPath& site = profile_.paths[mark_site];
  const auto& module = module_of(site);
  const auto& of_mark = symbolizer_.resolve(module.path, module.build_id, site.offset, Lookup::ReturnAddress);
  std::size_t shared = 1;
  while (shared < frames.size() && shared < of_mark.size() &&
         frames[frames.size() - 1 - shared].function == of_mark[of_mark.size() - 1 - shared].function)
    ++shared;
  return shared;
}

NamedPaths::Place NamedPaths::place_frames(const experiment::CallPath& path, Place at, Lookup lookup) {
  const std::uint32_t mark_site = at.mark_site;
  at.mark_site = 0;
  const auto& module = module_of(path);
  const std::string_view file = symbols::base_name(module.path);
  const bool has_values = path.kind == NodeKind::Function;
  if (has_values ? at.node != 0 && symbols::is_refrain(file) : symbols::is_layer(file)) return at;
  const auto& frames = symbolizer_.resolve(module.path, module.build_id, path.offset, lookup);
  const SourceFrame& outer = frames.back();
  if (!has_values && at.node == 0 && at.stage != StartUp::Done) {
    // libc seldom has names of its hidden functions, but what it calls on the way to main is known.
    const bool hidden_in_libc = !outer.named && is_libc(file);
    if (is_start_up_function(outer.function) || hidden_in_libc) {
      const bool libc_main = outer.function.starts_with("__libc_start_main");
      const bool calls_main =
          outer.function == "__libc_start_call_main" || (hidden_in_libc && at.stage == StartUp::LibcMain);
      at.stage = calls_main ? StartUp::CallsMain : libc_main ? StartUp::LibcMain : StartUp::Outside;
      return at;
    }
  }
  const bool is_main = at.node == 0 && at.stage == StartUp::CallsMain && !outer.named;
  at.stage = StartUp::Done;
  const Runtime runtime = runtime_of(file);
  if (options_.fold.folds(file) || (!outer.named && options_.fold.folds_unnamed(file))) {
    const std::string name = name_of_fold(file);
    const bool is_full = options_.depth > 0 && depths_[at.node] >= options_.depth;
    const Site site = options_.callsites ? Site{module.path, {}, 0, 0} : Site{};
    if (!is_full && nodes_[at.node].name != name)
      at.node = child(at.node, name, run::PathKind::User, site, false, runtime);
    return at;
  }
  for (std::size_t i = frames.size() - (mark_site ? shared_with_mark(frames, mark_site) : 0); i-- > 0;) {
    const SourceFrame& frame = frames[i];
    if (is_scope_object(frame.function)) continue;
    if (options_.depth > 0 && depths_[at.node] >= options_.depth) break;
    if (frame.part && nodes_[at.node].name == frame.function) continue;  // one activation, two pieces of code
    Site site;
    if (options_.callsites) site = {module.path, frame.file, frame.line, path.offset};
    at.node = child(at.node, is_main ? "main" : frame.function, run::PathKind::User, site, false, runtime);
  }
  return at;
}

}  // namespace refrain::analysis

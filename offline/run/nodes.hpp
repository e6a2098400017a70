#pragma once
/// The call paths of a run by name, in columns. Nodes are in preorder: the descendants of a node follow it directly, so
/// the nodes of an inclusive value are a range.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/time_rules.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::run {

enum class PathKind : std::uint8_t { User, Mpi, Other };
const char* name_of(PathKind kind);

/// Names of paths that are not functions.
inline constexpr const char* waited_name = "(waited for a core)";  ///< ready to run
inline constexpr const char* blocked_name = "(blocked)";           ///< sleep, locks, files, page faults, stops
/// Time off the CPU that is not known to be one of the two above: from formats before 1.10, where the time itself is
/// uncertain too, and from kernels that do not count how long a thread is ready.
inline constexpr const char* not_on_cpu_name = "(not on CPU)";
inline bool is_off_cpu(std::string_view name) {
  return name == waited_name || name == blocked_name || name == not_on_cpu_name;
}
inline constexpr const char* no_sample_name = "(no sample)";
inline constexpr const char* refrain_name = "(refrain)";
inline constexpr const char* stopped_name = "(measurement off)";
inline constexpr const char* truncated_name = "(truncated)";
inline constexpr const char* arena_full_name = "(arena full)";
inline constexpr const char* mpi_without_path_name = "(MPI without call path)";

/// Call paths that the time rules define: nodes below the root, for times that belong to no call path of the file.
struct PseudoPath {
  const char* name;
  PathKind kind;
};
enum class Pseudo : std::uint8_t {
  NotOnCpu,
  NoSample,
  ArenaFull,
  Refrain,
  Stopped,
  MpiWithoutPath,
  WaitedForCore,
  Blocked
};
inline constexpr PseudoPath pseudo_paths[] = {
    {not_on_cpu_name, PathKind::Other}, {no_sample_name, PathKind::Other}, {arena_full_name, PathKind::Other},
    {refrain_name, PathKind::Other},    {stopped_name, PathKind::Other},   {mpi_without_path_name, PathKind::Mpi},
    {waited_name, PathKind::Other},     {blocked_name, PathKind::Other}};
/// Whether the time of a path follows from exact sums by the time rules, not from a division by samples.
bool is_exact(PathKind kind, std::string_view name);
/// Time off the CPU has no standard error in files of versions that did not count it: its uncertainty does not depend
/// on the number of samples.
inline bool has_standard_error(std::string_view name) { return name != not_on_cpu_name; }

/// What distinguishes a node from its siblings. The call site is set if nodes are distinguished by it.
struct Node {
  std::uint32_t parent = 0;
  PathKind kind = PathKind::User;
  std::string_view name;
  bool is_marked = false;  ///< a loop or region of the program, below the function that marks it
  std::string_view module, file;
  int line = 0;
};

class Nodes {
 public:
  /// Node 0 is the root. Nodes are added in preorder; names are copied.
  Nodes() { add({}); }
  Nodes(Nodes&&) = default;
  Nodes& operator=(Nodes&&) = default;
  std::uint32_t add(const Node& node);
  /// `of_path`: the node of each call path of the definitions; 0: not in the tree. Finds the nodes of the time rules by
  /// name.
  void finish(std::vector<std::uint32_t> of_path);

  std::size_t size() const { return parent_.size(); }
  std::uint32_t parent(std::uint32_t node) const { return parent_[node]; }
  /// One past the last node below `node`.
  std::uint32_t end(std::uint32_t node) const { return end_[node]; }
  PathKind kind(std::uint32_t node) const { return kind_[node]; }
  bool is_marked(std::uint32_t node) const { return is_marked_[node]; }
  /// Equal names have equal numbers.
  std::uint32_t name_number(std::uint32_t node) const { return name_[node]; }
  const std::string& name(std::uint32_t node) const { return *strings_[name_[node]]; }
  const std::string& module(std::uint32_t node) const { return *strings_[module_[node]]; }
  const std::string& file(std::uint32_t node) const { return *strings_[file_[node]]; }
  int line(std::uint32_t node) const { return line_[node]; }
  std::uint32_t of_path(std::uint32_t path) const { return path < of_path_.size() ? of_path_[path] : 0; }
  std::uint32_t of(Pseudo path) const { return pseudo_[static_cast<std::size_t>(path)]; }

  /// By node, whether it is one of `nodes` or, if `inclusive`, below one of them.
  std::vector<bool> select(std::span<const std::uint32_t> nodes, bool inclusive) const;

 private:
  std::uint32_t number_of(std::string_view text);

  std::vector<std::uint32_t> parent_, end_, name_, module_, file_;
  std::vector<PathKind> kind_;
  std::vector<bool> is_marked_;
  std::vector<int> line_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> strings_;  ///< keys of numbers_
  std::vector<std::uint32_t> of_path_;
  std::array<std::uint32_t, std::size(pseudo_paths)> pseudo_{};
};

/// The keys by which values are added up: each node has a key, which is a number.
struct Keys {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> of_node;  ///< none: not shown
  std::vector<std::uint32_t> first;    ///< by key, the first of its nodes
  /// By node: no node above it has the same key. So a recursive function counts once in inclusive values.
  std::vector<bool> is_outermost;

  std::size_t size() const { return first.size(); }
  /// Whether each node is its own key, with the same number.
  bool is_by_node() const { return first.size() == of_node.size(); }
  /// Assigns a key to the next node; parents come before their children.
  void put(const Nodes& nodes, std::uint32_t node, std::uint32_t key);

 private:
  std::vector<std::uint32_t> inside_until_;  ///< by key: nodes before this one are below a node of the key
};

/// `key_of(node)` returns an optional of a comparable type, nullopt for nodes that are not shown. Keys are numbered in
/// the order of their first nodes.
template <class KeyOf>
Keys keys_by(const Nodes& nodes, const KeyOf& key_of) {
  Keys keys;
  std::map<typename decltype(key_of(std::uint32_t{}))::value_type, std::uint32_t> known;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    const auto key = key_of(node);
    keys.put(nodes, node,
             key ? known.try_emplace(*key, static_cast<std::uint32_t>(known.size())).first->second : Keys::none);
  }
  return keys;
}
/// One key per node, including the root.
Keys by_node(const Nodes& nodes);
/// One key per kind and name; the root has none.
Keys by_function(const Nodes& nodes);

}  // namespace refrain::run

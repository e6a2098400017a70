#pragma once
/// Short names of functions and call paths, as people say them.

#include <map>
#include <set>
#include <span>
#include <string>

namespace refrain::analysis {

/// The name of a C++ function without arguments, template arguments, and what stands before the name:
/// "void a<int>::f<int>(int) const" is "a::f". A name that is not understood stays as it is.
std::string qualified_name(const std::string& name);

/// The last two parts of the qualified name, which mostly are class and function: "physics::Solver::solve" is
/// "Solver::solve". Names of the standard library stay whole.
std::string short_name(const std::string& name);

/// The last names of a path, which tell most; a function that calls itself is named once. "(unknown)" without names.
std::string short_path(std::span<const std::string> names);

/// Names of functions for people: the short name if no other function has it, else the qualified name if no other has
/// it, else the name with arguments and folded template arguments, and the whole name only if that is not unique, too.
class ReadableNames {
 public:
  /// Call this for all functions that are shown; a name may be added again.
  void add(const std::string& name);
  /// The name for people of a function that was added.
  std::string of(const std::string& name) const;

 private:
  std::map<std::string, std::set<std::string>> by_short_, by_qualified_, by_folded_;
};

}  // namespace refrain::analysis

#pragma once
/// Names of functions and call paths as one says them.

#include <map>
#include <set>
#include <span>
#include <string>

namespace refrain::analysis {

/// Of C++ without arguments, those of templates, and what stands before the name: "void a<int>::f<int>(int) const" is
/// "a::f". What is not understood stays.
std::string qualified_name(const std::string& name);

/// Of that the last two parts, which mostly are class and function: "physics::Solver::solve" is "Solver::solve". Names
/// of the standard library stay whole.
std::string short_name(const std::string& name);

/// The last names of a path tell most; one that calls itself is told once. "(unknown)" for none.
std::string short_path(std::span<const std::string> names);

/// What functions are called for people: the short name where no other function of them has it, else the qualified one,
/// else with the arguments, those of templates folded, and only where this does not tell them apart either the whole
/// name.
class ReadableNames {
 public:
  /// Of all functions that are shown; the same one may come again.
  void add(const std::string& name);
  /// Of one that was added.
  std::string of(const std::string& name) const;

 private:
  std::map<std::string, std::set<std::string>> by_short_, by_qualified_, by_folded_;
};

}  // namespace refrain::analysis

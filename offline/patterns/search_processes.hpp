#pragma once
/// How the processes of a distributed search talk with each other.

#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::patterns {

/// Another process is no longer there, or has another trace before it.
class ProcessError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SearchProcesses {
 public:
  virtual ~SearchProcesses() = default;
  virtual int process() const = 0;
  virtual int count() const = 0;
  /// By process: what each one gets from this one, and what this one gets from each. All processes call it equally
  /// often. Throws ProcessError.
  virtual std::vector<std::string> all_to_all(std::vector<std::string> outgoing) = 0;
};

}  // namespace refrain::patterns

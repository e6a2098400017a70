#pragma once
/// How the processes of a distributed search communicate.

#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::patterns {

/// Another process is gone, or has a different trace.
class ProcessError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SearchProcesses {
 public:
  virtual ~SearchProcesses() = default;
  virtual int process() const = 0;
  virtual int count() const = 0;
  /// Sends to each process its part of `outgoing` and returns what each process sent to this one, both by process. All
  /// processes must call it equally often. Throws ProcessError.
  virtual std::vector<std::string> all_to_all(std::vector<std::string> outgoing) = 0;
};

}  // namespace refrain::patterns

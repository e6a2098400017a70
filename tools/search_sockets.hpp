#pragma once
/// The processes of a search that a launcher started, all connected to each other by TCP. They find each other through
/// files (offline/export/process_group.hpp), so any MPI's launcher will do and no MPI is linked.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "offline/export/process_group.hpp"
#include "offline/patterns/search_processes.hpp"

namespace refrain::tools {

class SearchSockets final : public patterns::SearchProcesses {
 public:
  /// Collective over all processes of the group. Throws patterns::ProcessError, exports::ExportError.
  SearchSockets(exports::ProcessGroup& group, std::chrono::milliseconds patience);
  ~SearchSockets() override;
  SearchSockets(const SearchSockets&) = delete;
  SearchSockets& operator=(const SearchSockets&) = delete;

  int process() const override { return process_; }
  int count() const override { return static_cast<int>(sockets_.size()); }
  std::vector<std::string> all_to_all(std::vector<std::string> outgoing) override;

 private:
  void connect_to(int process, const std::string& host, const std::string& port, std::uint64_t token);
  void accept_one(int listener, std::uint64_t token, std::chrono::steady_clock::time_point until);
  [[noreturn]] void lost(std::size_t process) const;

  int process_;
  std::vector<int> sockets_;  ///< by process; -1: this one
};

}  // namespace refrain::tools

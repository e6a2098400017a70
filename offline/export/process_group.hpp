#pragma once
/// The processes that write one archive together. They communicate through files beside the archive, without MPI.
///
/// A launcher (mpirun, srun) starts the processes and passes each its rank in environment variables. So one program
/// serves the jobs of every MPI, even where none is installed, and a user who starts it alone needs no MPI library. The
/// processes need little: to find each other at the start, and to report once what they have written.
///
/// Each process appends lines to a file that only it writes. The others reopen that file for each look, since a shared
/// file system guarantees that a reader who opens a file sees what had been written when its writer closed it. Random
/// names distinguish the processes of this job from those of an earlier one that left its files. Each process appends a
/// line regularly while it lives: a process that appends none for `patience` is taken for dead, and processes that wait
/// for it give up with an error.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "offline/export/otf2.hpp"

namespace refrain::exports {

struct PlaceInJob {
  int rank = 0, size = 1;
};

/// Rank and size from the launcher's environment variables; a job of one process when there are none.
PlaceInJob place_in_job();

/// All processes call the collective functions in the same order. Used by one thread at a time.
class ProcessGroup {
 public:
  /// The final report of a process.
  struct LastWord {
    int code = 0;
    std::vector<std::string> lines;
  };

  /// Waits for all other processes. `directory` is created, and removed by the first process at the end. Throws
  /// ExportError.
  ProcessGroup(std::filesystem::path directory, PlaceInJob place, std::chrono::milliseconds patience);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  bool is_first() const { return place_.rank == 0; }

  // Collective functions. They throw ExportError when an awaited process is taken for dead or has ended; the message is
  // then the last line of its report.
  /// Returns the texts of all processes in the first one, and nothing in the others. Only the first one waits.
  std::vector<std::string> gather(const std::string& mine);
  /// Returns the text of the first process.
  std::string broadcast(const std::string& of_first);
  /// Not collective. Throws ExportError when the first process has ended or died, as seen some seconds ago. Cheap.
  void check() const;
  /// State of the first process as the others know it.
  enum class First : std::uint8_t { Lives, HasEnded, IsSilent };
  First first() const { return first_; }

  /// Writes the final report of this process; later calls do nothing. Throws ExportError when it cannot be written.
  void end(const LastWord& word);
  /// Called by the first process after its own end(): waits for the reports of the others and removes the files. The
  /// report of a dead process is empty. Later calls return the same. A process is dead when it has been silent for
  /// longer than `most` or the patience.
  const std::vector<LastWord>& dismiss(std::chrono::milliseconds most = std::chrono::hours(1000));

 private:
  using Clock = std::chrono::steady_clock;
  /// Contents of a process's file.
  struct Heard {
    std::string name;                ///< random; empty: the process has no file yet
    std::vector<std::string> names;  ///< of the other processes that the first one has seen
    std::string answers;             ///< name of the first process, as this process has seen it
    std::vector<std::string> words;
    bool has_ended = false;
    LastWord last;
    std::uintmax_t bytes = 0;
  };
  struct Peer {
    std::string name;
    std::uintmax_t bytes = 0;
    Clock::time_point changed;
  };

  std::filesystem::path file_of(int rank) const { return directory_ / std::to_string(rank); }
  void make_own_file();
  void remove_files();
  void append(const std::string& line);
  Heard hear(int rank) const;
  /// Reads the file of a process, checks that it belongs to this job, and notes when it changed.
  Heard listen(int rank);
  void find_others();
  void find_first();
  [[noreturn]] void give_up(int rank) const;
  bool is_silent(const Peer& peer) const { return Clock::now() - peer.changed > patience_; }
  /// Gets word `number` of the process; false when it has not been written yet. Throws ExportError.
  bool take_word(int rank, std::size_t number, std::string& word);
  void stay_alive(const std::stop_token& stop);

  const std::filesystem::path directory_;
  const PlaceInJob place_;
  const std::chrono::milliseconds patience_;
  const std::string name_;
  std::vector<Peer> peers_;  ///< by rank
  std::size_t gathered_ = 0, broadcast_ = 0;
  bool has_ended_ = false;
  std::vector<LastWord> last_words_;
  std::atomic<First> first_{First::Lives};
  std::mutex writing_;
  std::mutex sleeping_;
  std::condition_variable_any sleep_;
  std::jthread life_;  ///< last member: its thread ends before the others are destroyed
};

}  // namespace refrain::exports

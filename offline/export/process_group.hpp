#pragma once
/// The processes that write one archive together, and how they talk: through files beside it, without MPI.
///
/// A launcher (mpirun, srun) starts them and tells each its place by environment variables. So one program serves the
/// jobs of every MPI, where none is installed, too, and who starts it alone needs no library of an MPI. The processes
/// need little: to find each other at the begin, and to say once what they have written.
///
/// Each process has one file that it alone writes, by appending lines; others open it anew each time they look, since a
/// shared file system promises a reader who opens a file what its writer had written when it closed it. Random numbers
/// tell the processes of this job from those of an earlier one that left its files. Each process adds a line now and
/// then as long as it lives: who adds none for `patience` is taken for dead, and who waits for it gives up with an
/// error.

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

/// What the launcher has told this process; alone when it has told nothing.
PlaceInJob place_in_job();

/// All processes call the functions for all in the same order. Of one thread at a time.
class ProcessGroup {
 public:
  /// What a process says in the end.
  struct LastWord {
    int code = 0;
    std::vector<std::string> lines;
  };

  /// Waits for all others. `directory` is made, and removed by the first process in the end. Throws ExportError.
  ProcessGroup(std::filesystem::path directory, PlaceInJob place, std::chrono::milliseconds patience);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  bool is_first() const { return place_.rank == 0; }

  // For all. Throw ExportError when a process that is waited for has ended, with what it has said, or is taken for
  // dead.
  /// In the first process what each has given; in others nothing. Only the first one waits.
  std::vector<std::string> gather(const std::string& mine);
  /// What the first process has given.
  std::string broadcast(const std::string& of_first);
  /// Throws ExportError when the first process has ended or died, as it was some seconds ago. Quick.
  void check() const;
  /// What is known of the first process, for others.
  enum class First : std::uint8_t { Lives, HasEnded, IsSilent };
  First first() const { return first_; }

  /// The last that this process says; more than once is like once. Throws ExportError when nobody can read it.
  void end(const LastWord& word);
  /// In the first process, after its own end(): waits for the last words of the others and removes the files. Who has
  /// died has said nothing. More than once is like once. `most`: who is silent for longer, or for the patience, is
  /// dead.
  const std::vector<LastWord>& dismiss(std::chrono::milliseconds most = std::chrono::hours(1000));

 private:
  using Clock = std::chrono::steady_clock;
  /// What is in a process's file.
  struct Heard {
    std::string name;                ///< a random one; empty: it has no file yet
    std::vector<std::string> names;  ///< of the others that the first one has seen
    std::string answers;             ///< the name of the first one that it has seen
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
  /// What it says as a process of this job. Notes whether it lives.
  Heard listen(int rank);
  void find_others();
  void find_first();
  [[noreturn]] void give_up(int rank) const;
  bool is_silent(const Peer& peer) const { return Clock::now() - peer.changed > patience_; }
  /// The word number `number` of that process, if it is there. Throws ExportError.
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
  std::jthread life_;  ///< the last member: ends before the others
};

}  // namespace refrain::exports

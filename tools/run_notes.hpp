#pragma once
/// What `refrain run` learns about the processes that it started directly or indirectly: lines of a file in the
/// directory for temporary files, to which `refrain exec` and the runtime (record/run_notes.hpp) append. Other nodes do
/// not see the file and write no notes.

#include <string>
#include <vector>

namespace refrain::tools {

/// The variable that names the file.
inline constexpr const char* notes_variable = "REFRAIN_INTERNAL_RUN";

/// The beginning of a line: the kind of note.
inline constexpr const char* note_experiment = "experiment ";  ///< the directory that a job made
inline constexpr const char* note_through = "through ";        ///< an unmeasured program that passed the runtime on
inline constexpr const char* note_replaced = "replaced ";      ///< a program that a measured one became by exec
inline constexpr const char* note_unseen = "unseen ";          ///< a program that loaded MPI without a visible MPI_Init
inline constexpr const char* note_forked = "forked ";          ///< process id and executable of an unmeasured child
inline constexpr const char* note_said = "said ";              ///< why something is not measured, as printed on stderr

/// In a note "\\n" stands for a newline and "\\\\" for a backslash: paths may contain both.

inline constexpr const char* note_root = "root ";  ///< first line: the root directory of `refrain run`

/// Whether the waiting `refrain run` sees the same files as this process: it is on this machine and in no other
/// container.
bool run_sees_our_files();

/// Appends a note if a `refrain run` is waiting.
void leave_note(const char* kind, const std::string& text);

class RunNotes {
 public:
  /// Creates the file. If that fails (no room, no permission) there are no notes.
  RunNotes();
  ~RunNotes();
  RunNotes(const RunNotes&) = delete;
  RunNotes& operator=(const RunNotes&) = delete;

  const std::string& file() const { return file_; }
  /// The one line for the user at the end, without newline: where the results are and what to type, or why there are
  /// none. Empty: the reason has been printed already.
  std::string line() const;
  /// A line about processes that measured ones forked and that are still running; empty: there are none.
  std::string left_behind() const;
  /// The directories with results: of one job, or of all jobs that a script started.
  std::vector<std::string> experiments() const;
  /// The directory that line() names, if it has results; else empty.
  std::string experiment() const;

 private:
  std::string file_;
};

}  // namespace refrain::tools

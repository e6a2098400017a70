#pragma once
/// What `refrain run` learns of the processes that it has started in some way: a file of lines in the directory for
/// temporary files, to which `refrain exec` and the runtime (guest/launch.hpp) append; other nodes do not see it and
/// leave it be.

#include <string>
#include <vector>

namespace refrain::tools {

/// The variable that names the file.
inline constexpr const char* notes_variable = "REFRAIN_INTERNAL_RUN";

/// What a line begins with.
inline constexpr const char* note_experiment = "experiment ";  ///< the directory that a job has made
inline constexpr const char* note_through = "through ";        ///< a program that was not measured, but led on
inline constexpr const char* note_replaced = "replaced ";      ///< a program that a measured one has become by exec
inline constexpr const char* note_unseen = "unseen ";  ///< a program that has loaded MPI, and no MPI_Init was seen
inline constexpr const char* note_forked = "forked ";  ///< process id and executable of a child that is not measured
inline constexpr const char* note_said = "said ";      ///< why something is not measured, on stderr

/// In a note "\\n" stands for the end of a line and "\\\\" for a backslash: paths may have both.

inline constexpr const char* note_root = "root ";  ///< of `refrain run`: its root directory, in the first line

/// Whether the `refrain run` that waits sees the same files as this process: it is on this machine, in no other
/// container.
bool run_sees_our_files();

/// Appends a note if there is a `refrain run`.
void leave_note(const char* kind, const std::string& text);

class RunNotes {
 public:
  /// Makes the file. Without one (no room, no rights) there are no notes.
  RunNotes();
  ~RunNotes();
  RunNotes(const RunNotes&) = delete;
  RunNotes& operator=(const RunNotes&) = delete;

  const std::string& file() const { return file_; }
  /// The one line for the user at the end: where the results are and what to type, or why there are none. Empty: that
  /// has been said. Without newline.
  std::string line() const;
  /// A line about processes that the measured ones have forked and that go on now; empty: there are none.
  std::string left_behind() const;
  /// The directories with results: of one job, or of those that a script has started.
  std::vector<std::string> experiments() const;
  /// The directory that the line names, where there are results; else empty.
  std::string experiment() const;

 private:
  std::string file_;
};

}  // namespace refrain::tools

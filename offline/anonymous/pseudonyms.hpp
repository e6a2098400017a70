#pragma once
/// Pseudonyms for the names of a program, its user and its machines: hashes with a key that is made for one experiment
/// and then forgotten, so that nobody can look them up. Equal names have equal pseudonyms.
///
/// Public names stay: functions of MPI, `main` and start-up code, the files of the system below /usr/lib and /lib with
/// their functions, Refrain's own libraries and the objects of its marks, runtimes of languages, and those of OpenMP
/// with their functions. So call trees fold, leave out and move the same frames as in the experiment.

#include <string>
#include <string_view>

#include "offline/experiment/name_places.hpp"
#include "offline/symbols/source_frame.hpp"

namespace refrain::anonymous {

class Pseudonyms {
 public:
  /// Takes a key from the kernel. Throws std::system_error.
  Pseudonyms();
  /// Takes this key; for tests.
  explicit Pseudonyms(std::string key) : key_(std::move(key)) {}

  /// The pseudonym of a name, as experiment::Rename returns it.
  std::string of(experiment::NameKind kind, std::string_view name) const;
  /// The pseudonym of a module's path, which is a path, too: it begins with a slash.
  std::string module(std::string_view path) const;
  /// The pseudonym of a build id in hexadecimal digits, as ProfileModule has it; of(NameKind::BuildId) takes its bytes.
  std::string build_id(std::string_view hexadecimal) const;
  /// The pseudonym of a frame. `module`: the path of its module.
  symbols::SourceFrame frame(const symbols::SourceFrame& frame, std::string_view module) const;
  /// "KIND_HASH".
  std::string word(std::string_view kind, std::string_view name) const;

 private:
  std::uint64_t hash(std::string_view kind, std::string_view name) const;
  std::string function(const std::string& name) const;
  std::string key_;
};

/// Whether the module is a file of the system, or Refrain's own.
bool is_public_module(std::string_view path);

}  // namespace refrain::anonymous

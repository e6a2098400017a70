#pragma once
/// Words that stand for the names of a program, its user and its machines: hashes with a key that is made for one
/// experiment and then forgotten, so that nobody can look them up. Equal names have equal words.
///
/// Public names stay: functions of MPI, `main` and start-up code, the files of the system below /usr/lib and /lib with
/// their functions, Refrain's own libraries and the objects of its marks, runtimes of languages, and those of OpenMP
/// with their functions. So call trees fold, leave out and move what they do in the experiment.

#include <string>
#include <string_view>

#include "offline/experiment/name_places.hpp"
#include "offline/symbols/source_frame.hpp"

namespace refrain::anonymous {

class Pseudonyms {
 public:
  /// With a key from the kernel. Throws std::system_error.
  Pseudonyms();
  /// With this key: for tests.
  explicit Pseudonyms(std::string key) : key_(std::move(key)) {}

  /// As experiment::Rename has it.
  std::string of(experiment::NameKind kind, std::string_view name) const;
  /// The path of a module, which stays one: it begins with a slash.
  std::string module(std::string_view path) const;
  /// In hexadecimal digits, as ProfileModule has it; of the bytes that of(NameKind::BuildId) has.
  std::string build_id(std::string_view hexadecimal) const;
  /// A frame of a module of the path.
  symbols::SourceFrame frame(const symbols::SourceFrame& frame, std::string_view module) const;
  /// "KIND_HASH".
  std::string word(std::string_view kind, std::string_view name) const;

 private:
  std::uint64_t hash(std::string_view kind, std::string_view name) const;
  std::string function(const std::string& name) const;
  std::string key_;
};

/// A file of the system, or Refrain's own.
bool is_public_module(std::string_view path);

}  // namespace refrain::anonymous

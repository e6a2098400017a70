#pragma once
/// The bytes of a file that is being read, from the disk or from memory, and the errors about it.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offline/experiment/damage.hpp"

namespace refrain::experiment {

class NamePlaces;  // name_places.hpp

/// Identifies a file that is opened again later: the files of thousands of ranks are not all kept open.
struct FileSource {
  std::filesystem::path path;
  std::string name;  ///< used in messages
  std::span<const std::byte> memory;
  std::uint64_t device = 0, number = 0;         ///< of the file opened first; a replacement of the same name is refused
  std::shared_ptr<DamageLog> damage;            ///< never null
  std::shared_ptr<NamePlaces> names = nullptr;  ///< readers add the places of names here; null: not wanted
};

class InputFile {
 public:
  /// `path` may name a file in a packed experiment (folder.hpp). Throws ReadError.
  explicit InputFile(const std::filesystem::path& path,
                     std::shared_ptr<DamageLog> damage = std::make_shared<DamageLog>(true),
                     std::shared_ptr<NamePlaces> names = nullptr);
  /// `bytes` must outlive this object; `name` is used in messages.
  InputFile(std::string name, std::span<const std::byte> bytes,
            std::shared_ptr<DamageLog> damage = std::make_shared<DamageLog>(true));
  /// Opens the same file again. Throws ReadError when it has been replaced.
  explicit InputFile(std::shared_ptr<const FileSource> source);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }
  const std::string& name() const { return source_->name; }
  const std::shared_ptr<const FileSource>& source() const { return source_; }
  DamageLog& damage() const { return *source_->damage; }
  /// Reads bytes [offset, offset + size). Throws ReadError, which names them `what`, when some are missing; this is
  /// checked before anything is allocated.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t size, std::string_view what) const;
  /// Passes the whole file to `take`, a megabyte at a time.
  void for_each_piece(const std::function<void(std::span<const std::byte> bytes)>& take) const;
  /// "NAME: at byte OFFSET: WHAT".
  std::string place(std::uint64_t offset, std::string_view what) const;
  /// Throws ReadError with the text of place().
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;

 private:
  void open(FileSource& found);

  std::shared_ptr<const FileSource> source_;
  int descriptor_ = -1;
  std::uint64_t begin_ = 0;  ///< offset in the opened file, which is the archive for a packed experiment
  std::uint64_t size_ = 0;
};

}  // namespace refrain::experiment

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

/// What to open again later: files of thousands of ranks are not all kept open.
struct FileSource {
  std::filesystem::path path;
  std::string name;  ///< stands in the messages
  std::span<const std::byte> memory;
  std::uint64_t device = 0, number = 0;  ///< of the file that was opened first: another one of its name is not taken
  std::shared_ptr<DamageLog> damage;     ///< never null
  std::shared_ptr<NamePlaces> names = nullptr;  ///< readers put in where they meet names; null: nobody asks
};

class InputFile {
 public:
  /// `path` may be that of a file in a packed experiment (folder.hpp). Throws ReadError.
  explicit InputFile(const std::filesystem::path& path,
                     std::shared_ptr<DamageLog> damage = std::make_shared<DamageLog>(true),
                     std::shared_ptr<NamePlaces> names = nullptr);
  /// `bytes` must outlive this; `name` stands in the messages.
  InputFile(std::string name, std::span<const std::byte> bytes,
            std::shared_ptr<DamageLog> damage = std::make_shared<DamageLog>(true));
  /// The same file once more. Throws ReadError when it has been replaced.
  explicit InputFile(std::shared_ptr<const FileSource> source);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }
  const std::string& name() const { return source_->name; }
  const std::shared_ptr<const FileSource>& source() const { return source_; }
  DamageLog& damage() const { return *source_->damage; }
  /// Bytes [offset, offset + size). Throws ReadError, which calls them `what`, when they are not all there; nothing is
  /// allocated before that is known.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t size, std::string_view what) const;
  /// All of it, a megabyte at a time.
  void for_each_piece(const std::function<void(std::span<const std::byte> bytes)>& take) const;
  /// "NAME: at byte OFFSET: WHAT".
  std::string place(std::uint64_t offset, std::string_view what) const;
  /// Throws ReadError with that.
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;

 private:
  void open(FileSource& found);

  std::shared_ptr<const FileSource> source_;
  int descriptor_ = -1;
  std::uint64_t begin_ = 0;  ///< in what was opened: a file of a packed experiment lies within it
  std::uint64_t size_ = 0;
};

}  // namespace refrain::experiment

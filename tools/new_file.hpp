#pragma once
/// A file that is there as a whole, or not at all.

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace refrain::tools {

/// Written as "NAME.part", which becomes NAME in the end. All members throw std::runtime_error, and nothing is left
/// behind then.
class NewFile {
 public:
  explicit NewFile(std::string path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  void finish();
  std::size_t size() const { return size_; }

 private:
  [[noreturn]] void fail() const;
  std::string path_, partial_;
  std::FILE* file_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace refrain::tools

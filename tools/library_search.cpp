#include "tools/library_search.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

constexpr const char* standard_directories[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

/// Reads /etc/ld.so.cache in the format that glibc has written since 2.2 ("glibc-ld.so.cache1.1"): a header of 48
/// bytes, then entries of 24 bytes that refer to strings by their offset from the header.
std::map<std::string, fs::path> read_cache(const fs::path& file) {
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr std::size_t header_size = 48, entry_size = 24;
  constexpr std::int32_t x86_64_libc6 = 0x0303;
  std::map<std::string, fs::path> libraries;
  std::ifstream stream{file, std::ios::binary};
  std::string content{std::istreambuf_iterator<char>(stream), {}};
  std::size_t start = content.find(magic);
  if (start == std::string::npos || content.size() - start < header_size) return libraries;
  std::string_view cache = std::string_view(content).substr(start);
  auto number = [&](std::size_t offset) {
    std::uint32_t value;
    std::memcpy(&value, cache.data() + offset, sizeof value);
    return value;
  };
  auto text = [&](std::uint32_t offset) {
    return offset < cache.size() ? std::string(cache.substr(offset, cache.find('\0', offset) - offset)) : std::string();
  };
  std::size_t count = std::min<std::size_t>(number(magic.size()), (cache.size() - header_size) / entry_size);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t entry = header_size + i * entry_size;
    if (static_cast<std::int32_t>(number(entry)) == x86_64_libc6)
      libraries.try_emplace(text(number(entry + 4)), text(number(entry + 8)));
  }
  return libraries;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

/// The directories of a search path, with $ORIGIN and $LIB expanded.
std::vector<fs::path> directories_of(const std::string& search_path, const fs::path& origin) {
  std::vector<fs::path> directories;
  std::string separators = search_path;
  for (char& c : separators) c = c == ';' ? ':' : c;
  std::istringstream stream{separators};
  for (std::string directory; std::getline(stream, directory, ':');) {
    for (const char* name : {"$ORIGIN", "${ORIGIN}"}) directory = replaced(directory, name, origin.string());
    for (const char* name : {"$LIB", "${LIB}"}) directory = replaced(directory, name, "lib/x86_64-linux-gnu");
    directories.emplace_back(directory.empty() ? "." : directory);
  }
  return directories;
}

class Search {
 public:
  explicit Search(const ElfImage& program, const fs::path& origin) {
    if (program.runpath.empty()) program_rpath_ = directories_of(program.rpath, origin);
    if (const char* path = std::getenv("LD_LIBRARY_PATH"); path && *path) environment_ = directories_of(path, origin);
  }

  fs::path find(const std::string& name, const ElfImage& by, const fs::path& origin) {
    if (name.find('/') != std::string::npos) return usable(name) ? fs::path(name) : fs::path();
    if (by.runpath.empty()) {
      if (fs::path found = in(directories_of(by.rpath, origin), name); !found.empty()) return found;
      if (fs::path found = in(program_rpath_, name); !found.empty()) return found;
    }
    if (fs::path found = in(environment_, name); !found.empty()) return found;
    if (fs::path found = in(directories_of(by.runpath, origin), name); !found.empty()) return found;
    if (!cache_is_read_) {
      cache_ = read_cache("/etc/ld.so.cache");
      cache_is_read_ = true;
    }
    if (auto entry = cache_.find(name); entry != cache_.end() && usable(entry->second)) return entry->second;
    return in({std::begin(standard_directories), std::end(standard_directories)}, name);
  }

 private:
  static bool usable(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) return false;
    auto image = read_elf_image(file);
    return image && image->is_64_bit && image->machine == EM_X86_64;
  }

  static fs::path in(const std::vector<fs::path>& directories, const std::string& name) {
    for (const fs::path& directory : directories)
      if (usable(directory / name)) return directory / name;
    return {};
  }

  std::vector<fs::path> program_rpath_;
  std::vector<fs::path> environment_;
  std::map<std::string, fs::path> cache_;
  bool cache_is_read_ = false;
};

}  // namespace

std::vector<NeededLibrary> needed_libraries(const fs::path& file, const ElfImage& image) {
  std::error_code error;
  fs::path origin = fs::weakly_canonical(file, error).parent_path();
  Search search{image, origin};
  std::vector<NeededLibrary> found;
  std::set<std::string> seen;
  auto add = [&](const ElfImage& by, const fs::path& by_origin) {
    for (const std::string& name : by.needed)
      if (seen.insert(name).second) found.push_back({name, search.find(name, by, by_origin)});
  };
  add(image, origin);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].file.empty()) continue;
    fs::path next = fs::weakly_canonical(found[i].file, error);
    if (auto library = read_elf_image(next)) add(*library, next.parent_path());
  }
  return found;
}

fs::path find_library(const std::string& name) {
  const ElfImage nobody;
  return Search{nobody, {}}.find(name, nobody, {});
}

}  // namespace refrain::tools

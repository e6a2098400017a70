#include "offline/anonymous/pseudonyms.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/random.h>
#include <system_error>

#include "format/checksum.hpp"
#include "format/mpi_functions.hpp"
#include "offline/analysis/module_fold.hpp"
#include "offline/analysis/named_paths.hpp"
#include "offline/symbols/layers.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::anonymous {
namespace {

using experiment::NameKind;

constexpr std::size_t key_size = 32;

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

/// Whether this is a function that analyses find by its name, or one of MPI.
bool is_public_function(std::string_view name) {
  return name == "main" || name == "MAIN__" || analysis::is_told_by_name(name) ||
         format::find_mpi_function(name) != nullptr;
}

bool is_openmp_library(std::string_view file) { return analysis::ModuleFold{{}, true}.folds_unnamed(file); }

/// What is public of the file name of a library that analyses find by its name: all of it ("libpython3.11.so.1.0"), or
/// its beginning if more than a version follows. Empty: analyses do not look for this file.
std::string_view public_file(std::string_view file) {
  // Refrain's own frames are recognised by the name of its library.
  if (symbols::is_layer(file)) return file;
  if (!analysis::ModuleFold{{}, true}.folds(file) && !is_openmp_library(file)) return {};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto letters = static_cast<std::size_t>(std::ranges::find_if_not(file, is_letter) - file.begin());
  return file.find_first_not_of("0123456789.-som", letters) == file.npos ? file : file.substr(0, letters);
}

std::string bytes_of_hex(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  return bytes;
}

std::string hex_of_bytes(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

}  // namespace

bool is_public_module(std::string_view path) {
  return path.empty() || begins_with_any(path, {"/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/", "[", "("});
}

Pseudonyms::Pseudonyms() : key_(key_size, '\0') {
  if (getrandom(key_.data(), key_.size(), 0) != static_cast<ssize_t>(key_.size()))
    throw std::system_error(errno, std::generic_category(), "no random numbers");
}

std::uint64_t Pseudonyms::hash(std::string_view kind, std::string_view name) const {
  std::string text = key_;
  text.append(kind).append(1, '\0').append(name).append(key_);
  return format::checksum(text.data(), text.size());
}

std::string Pseudonyms::word(std::string_view kind, std::string_view name) const {
  constexpr unsigned dropped_bits = 16;  // twelve digits are enough, and fit into columns
  return name.empty() ? std::string() : fmt::format("{}_{:012x}", kind, hash(kind, name) >> dropped_bits);
}

std::string Pseudonyms::of(NameKind kind, std::string_view name) const {
  switch (kind) {
    case NameKind::Region: return format::find_mpi_function(name) ? std::string(name) : word("mark", name);
    case NameKind::Module: return module(name);
    case NameKind::BuildId: {
      std::string bytes;
      for (char part = 0; bytes.size() < name.size(); ++part) {
        const std::uint64_t more = hash(std::string("build-id") + part, name);
        bytes.append(reinterpret_cast<const char*>(&more), std::min(sizeof more, name.size() - bytes.size()));
      }
      return bytes;
    }
    case NameKind::Host: return word("machine", name);
    case NameKind::Thread: return word("thread", name);
    case NameKind::Communicator: {
      const bool is_of_mpi = name == "MPI_COMM_WORLD" || name == "MPI_COMM_SELF" || name == "mpi://WORLD";
      return is_of_mpi ? std::string(name) : word("communicator", name);
    }
    case NameKind::Window: return word("window", name);
    case NameKind::Metric: {
      // After the component of PAPI, names have devices and file systems of the machine: "net:::ib0:rx:bytes".
      constexpr std::string_view behind_component = ":::";
      const std::size_t end = name.find(behind_component);
      if (end == name.npos) return std::string(name);
      return std::string(name.substr(0, end)) + std::string(behind_component) + word("event", name);
    }
  }
  return {};
}

std::string Pseudonyms::module(std::string_view path) const {
  if (is_public_module(path)) return std::string(path);
  // The directory of an installation is not kept.
  const std::string_view file = public_file(symbols::base_name(path));
  return "/" + (file.empty() ? word("module", path) : std::string(file));
}

std::string Pseudonyms::build_id(std::string_view hexadecimal) const {
  return hex_of_bytes(of(NameKind::BuildId, bytes_of_hex(hexadecimal)));
}

std::string Pseudonyms::function(const std::string& name) const {
  if (is_public_function(name)) return name;
  // A function that a compiler has made from an OpenMP construct is recognised by its suffix.
  for (const std::string_view part : {"._omp_fn.", ".omp_outlined", "..omp_par."}) {
    const std::size_t at = name.find(part);
    if (at == name.npos) continue;
    const std::size_t end = std::min(name.find_first_not_of("0123456789.", at + part.size()), name.size());
    return word("function", name.substr(0, at)) + name.substr(at, end - at) + word("", name.substr(end));
  }
  return word("function", name);
}

symbols::SourceFrame Pseudonyms::frame(const symbols::SourceFrame& of, std::string_view module) const {
  symbols::SourceFrame frame = of;
  if (is_public_module(module)) return frame;
  if (of.named && !is_openmp_library(symbols::base_name(module))) frame.function = function(of.function);
  if (!of.file.empty()) frame.file = "/" + word("file", of.file);
  return frame;
}

}  // namespace refrain::anonymous

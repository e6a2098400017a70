#include "offline/anonymous/pseudonyms.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/random.h>
#include <system_error>

#include "format/checksum.hpp"
#include "format/mpi_functions.hpp"
#include "offline/symbols/layers.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::anonymous {
namespace {

using experiment::NameKind;

constexpr std::size_t key_size = 32;

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool is_public_region(std::string_view name) {
  return begins_with_any(name, {"MPI_", "pthread_"}) || format::find_mpi_function(name) != nullptr;
}

/// Functions that analyses find by their names.
bool is_public_function(std::string_view name) {
  constexpr std::string_view names[] = {"main",  "_start",  "MAIN__", "start_thread", "generic_start_main",
                                        "clone", "__clone", "clone3", "__clone3"};
  return std::ranges::find(names, name) != std::end(names) ||
         begins_with_any(name, {"MPI_", "PMPI_", "MPIR_", "mpi_", "pmpi_", "__libc_start"});
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
    case NameKind::Region: return is_public_region(name) ? std::string(name) : word("mark", name);
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
    case NameKind::Communicator: return name.starts_with("MPI_COMM_") ? std::string(name) : word("communicator", name);
    case NameKind::Window: return word("window", name);
  }
  return {};
}

std::string Pseudonyms::module(std::string_view path) const {
  if (is_public_module(path)) return std::string(path);
  const std::string base(symbols::base_name(path));
  // The name of Refrain's library tells its own frames; the directory of its installation does not stay.
  return symbols::is_layer(base) ? "/" + base : "/" + word("module", path);
}

std::string Pseudonyms::build_id(std::string_view hexadecimal) const {
  return hex_of_bytes(of(NameKind::BuildId, bytes_of_hex(hexadecimal)));
}

std::string Pseudonyms::function(const std::string& name) const {
  if (is_public_function(name)) return name;
  // A function that a compiler has made of a construct of OpenMP is known by its end.
  const std::size_t end = std::min(name.find("._omp_fn."), name.size());
  return word("function", name.substr(0, end)) + name.substr(end);
}

symbols::SourceFrame Pseudonyms::frame(const symbols::SourceFrame& of, std::string_view module) const {
  symbols::SourceFrame frame = of;
  if (is_public_module(module)) return frame;
  if (of.named) frame.function = function(of.function);
  if (!of.file.empty()) frame.file = "/" + word("file", of.file);
  return frame;
}

}  // namespace refrain::anonymous

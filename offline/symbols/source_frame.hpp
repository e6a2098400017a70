#pragma once
/// The names of an address: the functions that are active there, inlined ones included, and their source lines.

#include <cstdint>
#include <string>

namespace refrain::symbols {

struct SourceFrame {
  std::string function;
  std::string file;         ///< empty: unknown
  int line = 0;             ///< 0: unknown; that of the call if there is an inner frame
  bool inlined = false;     ///< expanded into the next frame of the list
  bool part = false;        ///< the rest of a function inlined in part: see FunctionName
  bool named = true;        ///< false: `function` is module+0x... (NamedModule writes it)
  bool full = true;         ///< false: without the parameters that the linker's name has
  std::uint64_t begin = 0;  ///< without a name: where the function begins, if unwind tables tell, else the address

  bool operator==(const SourceFrame&) const = default;
};

enum class Lookup : std::uint8_t {
  ReturnAddress,  ///< of a call in progress: the call is just before it
  Entry,          ///< a function as a whole: inlined functions are not expanded
};

/// An address in a module's file, and how it is to be read.
struct Place {
  std::uint64_t address = 0;
  Lookup lookup = Lookup::ReturnAddress;

  auto operator<=>(const Place&) const = default;
};

/// Where the names of a module come from. A later source tells what an earlier one tells, and more.
enum class NameSource : std::uint8_t {
  None,       ///< its file was not there, or was another one
  Exported,   ///< its file has been stripped: exported functions only
  Functions,  ///< the table of functions that `refrain exec` has kept: no lines, no inlined functions
  Symbols,    ///< the symbol table of its file
  Debug,      ///< debug information
};

}  // namespace refrain::symbols

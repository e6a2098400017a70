#pragma once
/// Identifies a run: a 128-bit hash of its files, as 32 hexadecimal digits.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace refrain::database {

class Digest {
 public:
  Digest();
  ~Digest();
  void add(std::span<const std::byte> bytes);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace refrain::database

#pragma once
/// Bins of calls that take about the same time when no process waits: calls of one MPI function that move about as many
/// bytes, in the same directions, among about as many processes (Mao et al., "Catching Idlers with Ease", EuroMPI 2014,
/// section 3.1). The number of processes distinguishes communicators, the directions distinguish roots from others.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace refrain::waits {

/// The data that a call has moved; for a call that completes receives, what these have received. Both members are
/// words: a processor forwards a store to a load of the same size without delay.
struct Transfer {
  std::int64_t bytes = 0;
  std::uint64_t what = 0;  ///< `sends`, `receives`, `among()`

  /// The call has sent, or received, data or an empty message.
  static constexpr std::uint64_t sends = 1, receives = 2;
  /// A collective operation of this number of processes.
  static constexpr std::uint64_t among(int processes) {
    return static_cast<std::uint64_t>(std::max(processes, 0)) << 2;
  }
  constexpr std::uint32_t processes() const { return static_cast<std::uint32_t>(what >> 2); }
};

/// Sizes: 0: no bytes; k: 2^(k-1) to 2^k - 1 bytes. Numbers of processes: 0: not collective; 1: one process; k: more
/// than 2^(k-2) and up to 2^(k-1).
class CallBin {
 public:
  constexpr CallBin() = default;
  constexpr explicit CallBin(const Transfer& transfer)
      : code_(static_cast<std::uint16_t>(static_cast<unsigned>(std::bit_width(
                                             static_cast<std::uint64_t>(std::max(transfer.bytes, std::int64_t{0})))) |
                                         static_cast<unsigned>(transfer.what & 3) << size_bits |
                                         bin_of_processes(transfer.processes()) << (size_bits + 2))) {}
  /// A bin from a file. Bins of newer versions are treated like others.
  static constexpr CallBin from(std::uint16_t code) {
    CallBin bin;
    bin.code_ = code;
    return bin;
  }
  constexpr std::uint16_t code() const { return code_; }
  constexpr unsigned size() const { return code_ & largest_size; }
  constexpr bool sends() const { return (code_ >> size_bits & 1) != 0; }
  constexpr bool receives() const { return (code_ >> (size_bits + 1) & 1) != 0; }
  constexpr unsigned processes() const { return code_ >> (size_bits + 2); }
  constexpr std::int64_t max_bytes() const { return static_cast<std::int64_t>((std::uint64_t{1} << size()) - 1); }
  constexpr bool operator==(const CallBin&) const = default;
  constexpr auto operator<=>(const CallBin&) const = default;

 private:
  static constexpr int size_bits = 6, largest_size = (1 << size_bits) - 1;
  static constexpr unsigned bin_of_processes(std::uint32_t number) {
    return number == 0 ? 0 : static_cast<unsigned>(std::bit_width(number - 1)) + 1;
  }

  std::uint16_t code_ = 0;
};

}  // namespace refrain::waits

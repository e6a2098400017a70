#pragma once
/// Whether frames of a program can be unwound, tried on its file before it runs: the segments are mapped as the dynamic
/// linker maps them, and the walker of the runtime leaves functions all over the code. No code of the file is executed.
/// Ordinary context, one thread; the process that asks cannot measure itself afterwards.

namespace refrain::unwind {

struct UnwindProof {
  bool is_mapped = false;  ///< the file was mapped; else nothing is known
  unsigned tried = 0;      ///< places in its code
  unsigned covered = 0;    ///< of those, in a function with an entry in the unwind tables
  unsigned unwound = 0;    ///< of those, in a function whose frame was left to its caller
};

UnwindProof prove_unwinding(const char* path);

}  // namespace refrain::unwind

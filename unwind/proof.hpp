#pragma once
/// Tests on a program's file, before it runs, whether its frames can be unwound: maps the segments as the dynamic
/// linker does, and lets the walker of the runtime step out of functions all over the code. No code of the file is
/// executed. Ordinary context, one thread; the calling process cannot measure itself afterwards.

namespace refrain::unwind {

struct UnwindProof {
  bool is_mapped = false;  ///< the file was mapped; otherwise nothing is known
  unsigned tried = 0;      ///< number of addresses in its code
  unsigned covered = 0;    ///< those in a function with an entry in the unwind tables
  unsigned unwound = 0;    ///< those in a function that the walker has stepped out of
};

UnwindProof prove_unwinding(const char* path);

}  // namespace refrain::unwind

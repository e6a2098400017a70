#pragma once
/// The functions by which a process becomes another program.
///
/// A program that becomes itself again (to set a search path, limits or the layout of its memory first) goes on being
/// measured: its next image gets the traces of `refrain exec` that were taken out of this one's environment. Nothing
/// else gets them: neither another program nor what a child executes.

#include <string_view>

namespace refrain::guest {

struct Traces {
  const char* library;  ///< the runtime; empty: it was not preloaded
  const char* first;    ///< what is preloaded in front of it, separated by colons
  const char* notes;    ///< the file of notes for `refrain run`
  std::string_view inlined_code;
};

/// Looks up what these functions call: in a child there may be no other chance. Ordinary context.
void find_exec_functions();

}  // namespace refrain::guest

#pragma once
/// The abilities of the place that a text is written to.

#include <cstdio>

namespace refrain::report {

struct Terminal {
  int width = 0;      ///< columns, 0: no limit
  bool utf8 = false;  ///< tree lines and ellipses
  bool colour = false;
  bool is_screen = false;  ///< a page is seen at once: what is long is left out
};

/// Width from COLUMNS or the terminal (no limit elsewhere); UTF-8 by the locale of the environment where there is a
/// width, always elsewhere: a file has the same bytes for everybody. Colour on a terminal unless NO_COLOR is set or
/// TERM is dumb.
Terminal detect_terminal(std::FILE* out);

}  // namespace refrain::report

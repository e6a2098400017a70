#pragma once
/// What the place that a text is written to can show.

#include <cstdio>

namespace refrain::report {

struct Terminal {
  int width = 0;      ///< columns, 0: no limit
  bool utf8 = false;  ///< tree lines and ellipses
  bool colour = false;
  bool is_screen = false;  ///< a page should fit on the screen: long pages leave more out
};

/// Width from COLUMNS or the terminal, otherwise without limit. UTF-8 by the locale of the environment if there is a
/// width, otherwise always: a file has the same bytes for everybody. Colour on a terminal unless NO_COLOR is set or
/// TERM is dumb.
Terminal detect_terminal(std::FILE* out);

}  // namespace refrain::report

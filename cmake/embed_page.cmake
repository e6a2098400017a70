# cmake -D OUTPUT=FILE -D PAGE=FILE -D PATTERNS=FILE -P embed_page.cmake: both texts as constants of C++; a page that is not there is
# empty. A literal of C++ may be long, but no preprocessor need take one of a megabyte: they are put together from pieces.
function(literal file result)
  set(text "")
  if(EXISTS ${file})
    file(READ ${file} hex HEX)
    string(LENGTH "${hex}" length)
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${hex}" ${at} 8000 piece)
      string(REGEX REPLACE "(..)" "\\\\x\\1" piece "${piece}")
      string(APPEND text "\n  \"${piece}\"")
      math(EXPR at "${at} + 8000")
    endwhile()
    math(EXPR size "${length} / 2")
    set(${result} "{${text},\n  ${size}}" PARENT_SCOPE)
  else()
    set(${result} "{}" PARENT_SCOPE)
  endif()
endfunction()
literal(${PAGE} page)
literal(${PATTERNS} patterns)
file(WRITE ${OUTPUT} "// Generated from page/dist/explorer.html and docs/patterns.md.\n#include <string_view>\n\nnamespace refrain::explorer {\n"
  "extern const std::string_view embedded_page, embedded_patterns;\n"
  "const std::string_view embedded_page${page};\n"
  "const std::string_view embedded_patterns${patterns};\n"
  "}  // namespace refrain::explorer\n")

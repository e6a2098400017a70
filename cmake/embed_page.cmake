# cmake -D OUTPUT=FILE -D PAGE=FILE -D PATTERNS=FILE -P embed_page.cmake: writes both texts as C++ constants; a missing
# page is empty. No compiler need accept a literal of a megabyte, so each is split into adjacent pieces.
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

# cmake -D OUTPUT=FILE -D MODEL=FILE -D LIBRARY=FILE -P embed_asl.cmake: writes both texts as C++ constants.
file(READ ${MODEL} model)
file(READ ${LIBRARY} library)
file(WRITE ${OUTPUT} "// Generated from model.asl and library.asl.\n#pragma once\n#include <string_view>\n\nnamespace refrain::properties {\n"
  "inline constexpr std::string_view embedded_model = R\"asl(${model})asl\";\n"
  "inline constexpr std::string_view embedded_library = R\"asl(${library})asl\";\n"
  "}  // namespace refrain::properties\n")

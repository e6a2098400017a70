#include <iterator>

#include "config/configuration.hpp"

namespace refrain::config {

// The columns type, unit and allowed values for each kind in options.def.
#define UNIT_OF_SIZES "bytes; K, M, G: 1024, 1024^2, 1024^3"
#define AS_BOOLEAN "boolean", "", "on | off | true | false | yes | no | 1 | 0"
#define AS_INTEGER(low, high, unit) "integer", unit, #low " to " #high
#define AS_INTEGER_OR_ZERO(low, high, unit) "integer", unit, "0, " #low " to " #high
#define AS_SIZE(low, high) "size", UNIT_OF_SIZES, #low " to " #high
#define AS_SIZE_OR_ZERO(low, high) "size", UNIT_OF_SIZES, "0, " #low " to " #high
#define AS_CHOICE(first, second) "choice", "", #first " | " #second
#define AS_CHOICE_OF_4(first, second, third, fourth) "choice", "", #first " | " #second " | " #third " | " #fourth
#define AS_TEXT(check, allowed) "text", "", allowed
#define AS_PATH "path", "", "at most 1023 characters"
#define OPTION(field, variable, as_kind, standard, help, long_help) {#variable, as_kind, standard, help, long_help},
const OptionRow option_table[] = {
#include "config/options.def"
};
const std::size_t option_count = std::size(option_table);

#define TOOL_VARIABLE(variable, standard, allowed, help, long_help) \
  {#variable, "tool", "", allowed, #standard, help, long_help},
const OptionRow tool_variable_table[] = {
#include "config/options.def"
};
const std::size_t tool_variable_count = std::size(tool_variable_table);

}  // namespace refrain::config

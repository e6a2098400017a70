#include <iterator>

#include "config/configuration.hpp"

namespace refrain::config {

// clang-format off
#define OPTION_BOOLEAN(field, variable, standard, help, long_help) \
  {#variable, "boolean", "", #standard, "on | off | true | false | yes | no | 1 | 0", help, long_help},
#define OPTION_INTEGER(field, variable, standard, low, high, unit, help, long_help) \
  {#variable, "integer", unit, #standard, #low " to " #high, help, long_help},
#define OPTION_INTEGER_OR_ZERO(field, variable, standard, low, high, unit, help, long_help) \
  {#variable, "integer", unit, #standard, "0, " #low " to " #high, help, long_help},
#define OPTION_SIZE(field, variable, standard, low, high, help, long_help) \
  {#variable, "size", "bytes; K, M, G: 1024, 1024^2, 1024^3", #standard, #low " to " #high, help, long_help},
#define OPTION_SIZE_OR_ZERO(field, variable, standard, low, high, help, long_help) \
  {#variable, "size", "bytes; K, M, G: 1024, 1024^2, 1024^3", #standard, "0, " #low " to " #high, help, long_help},
#define OPTION_CHOICE(field, variable, standard, first, second, help, long_help) \
  {#variable, "choice", "", #standard, #first " | " #second, help, long_help},
#define OPTION_CHOICE_OF_4(field, variable, standard, first, second, third, fourth, help, long_help) \
  {#variable, "choice", "", #standard, #first " | " #second " | " #third " | " #fourth, help, long_help},
#define OPTION_TEXT(field, variable, standard, check, allowed, help, long_help) \
  {#variable, "text", "", standard, allowed, help, long_help},
#define OPTION_PATH(field, variable, help, long_help) \
  {#variable, "path", "", "", "at most 1023 characters", help, long_help},
// clang-format on
const OptionRow option_table[] = {
#include "config/options.def"
};
const std::size_t option_count = std::size(option_table);

#define TOOL_VARIABLE(variable, standard, allowed, help, long_help) \
  {#variable, "tool", "", #standard, allowed, help, long_help},
const OptionRow tool_variable_table[] = {
#include "config/options.def"
};
const std::size_t tool_variable_count = std::size(tool_variable_table);

}  // namespace refrain::config

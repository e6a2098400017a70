#pragma once
/// The option table as a text table, JSON, a Markdown page or a man page.

#include <string>
#include <vector>

#include "config/configuration.hpp"

namespace refrain::tools {

struct OptionInForce {
  config::OptionRow option;
  std::string value;
  bool from_environment;  ///< else the default
};

/// `format` is text, json, markdown or man. The last two do not depend on the values in force.
std::string option_page(const std::vector<OptionInForce>& options, const std::string& format);

}  // namespace refrain::tools

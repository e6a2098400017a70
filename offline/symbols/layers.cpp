#include "offline/symbols/layers.hpp"

#include <algorithm>
#include <iterator>

namespace refrain::symbols {

bool is_refrain(std::string_view file) { return file.starts_with("librefrain-"); }

bool is_layer(std::string_view file) {
  constexpr std::string_view layers[] = {"libmpi_mpifh", "libmpi_usempi", "libmpichfort", "libmpifort"};
  return is_refrain(file) ||
         std::any_of(std::begin(layers), std::end(layers), [&](auto layer) { return file.starts_with(layer); });
}

}  // namespace refrain::symbols

#include "offline/analysis/functions.hpp"

#include <algorithm>
#include <tuple>

namespace refrain::analysis {

std::vector<FunctionTotals> function_totals(const CallTree& tree) {
  const run::Keys by = run::by_function(columns_of(tree));
  std::vector<FunctionTotals> functions(by.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    FunctionTotals& to = functions[by.of_node[i]];
    to.exclusive_s += node.exclusive_s;
    to.exclusive += node.exclusive;
    if (by.is_outermost[i]) to.inclusive_s += node.inclusive_s;
  }
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const TreeNode& first = tree.nodes[by.first[f]];
    functions[f].kind = first.kind;
    functions[f].name = first.name;
    if (const auto of = tree.function_errors.find({first.kind, first.name}); of != tree.function_errors.end()) {
      functions[f].exclusive_error_s = of->second.exclusive_s;
      functions[f].inclusive_error_s = of->second.inclusive_s;
    }
  }
  std::ranges::sort(functions, [](const FunctionTotals& a, const FunctionTotals& b) {
    return std::tie(b.exclusive_s, b.inclusive_s, a.kind, a.name) <
           std::tie(a.exclusive_s, a.inclusive_s, b.kind, b.name);
  });
  return functions;
}

}  // namespace refrain::analysis

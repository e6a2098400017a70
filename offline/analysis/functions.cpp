#include "offline/analysis/functions.hpp"

#include <algorithm>
#include <map>

#include "offline/analysis/run_totals.hpp"

namespace refrain::analysis {
namespace {

class Flattener {
 public:
  explicit Flattener(const CallTree& tree) : tree_(tree) {}

  std::vector<FunctionTotals> run() {
    // Depth first without recursion: a path may be as deep as the program's stack.
    struct Step {
      std::uint32_t node;
      bool leaving;
    };
    std::vector<Step> steps;
    for (const auto child : tree_.nodes[0].children) steps.push_back({child, false});
    while (!steps.empty()) {
      const Step step = steps.back();
      steps.pop_back();
      const TreeNode& node = tree_.nodes[step.node];
      Entry& entry = entries_[{node.kind, node.name}];
      if (step.leaving) {
        --entry.active;
        continue;
      }
      entry.totals.exclusive_s += node.exclusive_s;
      entry.totals.exclusive += node.exclusive;
      entry.exclusive_weight_s += node.exclusive_weight_s;
      if (entry.active++ == 0) {
        entry.totals.inclusive_s += node.inclusive_s;
        entry.weight_s += node.weight_s;
      }
      steps.push_back({step.node, true});
      for (const auto child : node.children) steps.push_back({child, false});
    }
    std::vector<FunctionTotals> result;
    for (auto& [key, entry] : entries_) {
      entry.totals.kind = key.first;
      entry.totals.name = key.second;
      entry.totals.exclusive_error_s = tree_.standard_error_of(entry.exclusive_weight_s);
      entry.totals.inclusive_error_s = tree_.standard_error_of(entry.weight_s);
      result.push_back(std::move(entry.totals));
    }
    std::stable_sort(result.begin(), result.end(), [](const FunctionTotals& a, const FunctionTotals& b) {
      return a.exclusive_s != b.exclusive_s ? a.exclusive_s > b.exclusive_s : a.inclusive_s > b.inclusive_s;
    });
    return result;
  }

 private:
  struct Entry {
    FunctionTotals totals;
    double exclusive_weight_s = 0, weight_s = 0;
    int active = 0;
  };
  const CallTree& tree_;
  std::map<std::pair<PathKind, std::string>, Entry> entries_;
};

}  // namespace

std::vector<FunctionTotals> function_totals(const CallTree& tree) { return Flattener(tree).run(); }

}  // namespace refrain::analysis

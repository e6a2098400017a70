#pragma once
/// What a run should be told of at first sight: sentences, each with its figure, its error, and what shows more.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refrain::analysis {
struct CallTree;
}

namespace refrain::findings {

struct Facts;

struct Finding {
  std::string rule;               ///< its name in the table of rules
  double share = 0;               ///< of the elapsed time of all ranks: what it costs; 0: it is no cost
  double error = 0;               ///< standard error of the share; below 0: not known
  std::string text;               ///< one sentence, without the share
  std::vector<std::string> more;  ///< words behind `refrain report EXPERIMENT` that show it
};

/// "12.3 +- 0.4 % of the time: late sender in exchange > MPI_Wait".
std::string line_of(const Finding& finding);

/// A kind of finding.
struct Rule {
  const char* name;
  const char* help;  ///< what it finds, and when it says nothing
  void (*find)(const Facts& facts, std::vector<Finding>& found);
  bool of_iterations = false;  ///< looks at Facts::loops
};

/// The table.
std::span<const Rule> rules();

/// What the rules have found, the largest share first. `facts`: without loops, which are read when the other rules are
/// done. A rule that cannot read what it needs finds nothing, and the others go on.
std::vector<Finding> find(Facts& facts);

/// "; only 0.9 s measured", for the end of each sentence of a run that says little of longer ones; else empty.
std::string how_short(const analysis::CallTree& tree);

/// What may as well be nothing is not claimed.
bool is_certain(const Finding& finding);

/// A rank that is late for a while is late over the whole run, too: what says less of the same is left out.
void leave_out_repeats(std::vector<Finding>& all);

}  // namespace refrain::findings

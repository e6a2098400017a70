#pragma once
/// The options of a request besides its views, one row each. The command line, its help, its checks and the message for
/// an option that a view does not know are made from the rows; the views list the options that they know (views.hpp).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "offline/report/request.hpp"

namespace refrain::report {

enum class Ask : std::uint8_t {
  Metric,
  Callpath,
  Loop,
  Thread,
  Iteration,
  Cluster,
  Sort,
  Limit,
  Columns,
  Callsites,
  CallpathDepth,
  MinShare,
  Region
};

struct RequestOption {
  /// The values that an option takes.
  enum Values : std::uint8_t {
    None,     ///< a flag
    Name,     ///< not empty
    AnyName,  ///< checked where it is used
    List,     ///< names with commas between them
    Ordinal,  ///< a number, counted from 0, also as reports print it: 1,000
    Count,    ///< a whole number, 0 or more
    Range     ///< a number from `least` to `most`
  };
  /// The member of the request that the option sets. Its default is false, empty or nullopt.
  using Member = std::variant<bool Request::*, std::string Request::*, std::vector<std::string> Request::*,
                              std::optional<std::int64_t> Request::*, std::optional<double> Request::*>;

  Ask ask;
  const char* name;   ///< "--loop"
  const char* value;  ///< the word for its value in the help
  const char* about;  ///< its subject, as in "of call paths, which --windows does not show"
  Member member;
  Values values;
  std::string help;
  double least = 0, most = 0;
  std::vector<std::string> likely = {};  ///< values that the shell offers

  bool is_given(const Request& request) const;
  bool is_of_tables() const { return ask == Ask::Sort || ask == Ask::Limit || ask == Ask::Columns; }
  /// The reason why a value is wrong; empty: it is right.
  std::string wrong(const std::string& value) const;
};

/// In the order of the help.
std::span<const RequestOption> request_options();

/// Why a name (of a function, a file or a loop) or a number is wrong; empty: it is right.
std::string wrong_as_name(const std::string& text);
std::string wrong_as_number(const std::string& text, double least, double most);

}  // namespace refrain::report

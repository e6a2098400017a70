#include "offline/report/columns.hpp"

#include <algorithm>

namespace refrain::report {
namespace {

/// The names of columns of one kind, each with a space before and behind it.
struct NamesOfKind {
  Kind kind;
  std::string_view names;
};

constexpr NamesOfKind names_of_kinds[] = {
    {Kind::Path, " path names call after before apart_path "},
    {Kind::Share, " share standard_error of_function wait_confidence efficiency severity "},
    {Kind::Seconds, " seconds "},
    {Kind::Number,
     " bound confidence speedup threshold cpu_quota cluster_mean loop_mean before_calls now_calls "
     "apart_cluster_mean apart_loop_mean "},
    {Kind::Flag, " overflow reconstructed samples_recorded problem is_least saw_whole "},
    {Kind::Words, " callers "},
    {Kind::Id,
     " rank thread id on_rank ordinal leader origin target world_rank window line offset class first last "
     "exemplar cluster iteration peer tag request message operation receive_rank receive_thread send_rank "
     "send_thread "},
    {Kind::Text,
     " name kind loop function module file node which members site metric precision rule text options command "
     "directory mode kept_hash wait_method wait_kind communicator parent stands_for wanted region event value "
     "what program version started experiment source basis sentence why context property objects apart_metric "
     "ideal_by factor cores_at_begin cores_at_end receive_region posted_region send_region in_events state unknown "
     "notes "}};

bool contains_name(std::string_view names, std::string_view name) {
  for (std::size_t at = 0; (at = names.find(name, at)) != names.npos; ++at)
    if (names[at - 1] == ' ' && names[at + name.size()] == ' ') return true;
  return false;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

}  // namespace

Kind kind_of_name(std::string_view name) {
  for (const auto& [kind, names] : names_of_kinds)
    if (contains_name(names, name)) return kind;
  if (name.ends_with("_s")) return Kind::Seconds;
  if (name.ends_with("_share")) return Kind::Share;
  return name.starts_with("bytes") || name.ends_with("_bytes") ? Kind::Bytes : Kind::Count;
}

std::vector<Column> columns(std::string_view names, unsigned in) {
  std::vector<Column> all;
  while (!names.empty()) {
    const std::string_view one = trimmed(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), names.find(',')));
    if (!names.empty()) names.remove_prefix(1);
    const std::size_t colon = one.find(':');
    const std::string_view name = one.substr(0, colon);
    all.push_back({std::string(name), kind_of_name(name), in,
                   colon == one.npos ? std::string() : std::string(trimmed(one.substr(colon + 1)))});
  }
  return all;
}

}  // namespace refrain::report

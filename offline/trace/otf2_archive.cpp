#include "offline/trace/otf2_archive.hpp"

#include <algorithm>
#include <map>
#include <otf2/OTF2_Definitions.h>
#include <utility>

#include "offline/trace/event.hpp"
#include "offline/trace/otf2_events.hpp"

namespace refrain::trace {

using experiment::ReadError;

std::optional<std::filesystem::path> find_otf2_anchor(const std::filesystem::path& path) {
  constexpr const char* ending = ".otf2";
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return path.extension() == ending ? std::optional(path) : std::nullopt;
  std::optional<std::filesystem::path> found;
  if (std::filesystem::exists(path / "manifest.json", ignored)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    if (entry.path().extension() != ending || !entry.is_regular_file(ignored)) continue;
    if (found) throw ReadError(path.string() + ": there are several archives in it; name one by its .otf2");
    found = entry.path();
  }
  return found;
}

namespace {

/// The first item of each reference.
template <class Item>
std::unordered_map<std::uint32_t, const Item*> by_reference(const std::vector<Item>& items) {
  std::unordered_map<std::uint32_t, const Item*> found;
  for (const Item& item : items) found.try_emplace(item.reference, &item);
  return found;
}

/// The locations that stand for the ranks of a paradigm, in rank order.
const std::vector<std::uint64_t>* locations_of(const Otf2Definitions& from, std::uint8_t paradigm) {
  const std::vector<std::uint64_t>* found = nullptr;
  for (const std::uint32_t reference : from.groups_in_order) {
    const Otf2Definitions::Group& group = from.groups.at(reference);
    const bool is_it = group.type == OTF2_GROUP_TYPE_COMM_LOCATIONS && group.paradigm == paradigm;
    if (is_it && (!found || found->empty())) found = &group.members;
  }
  return found;
}

/// The ranks of the job by location group. If nothing defines them, processes are counted.
class GroupRanks {
 public:
  explicit GroupRanks(const Otf2Definitions& from) {
    std::unordered_map<std::uint64_t, std::uint32_t> group_of;
    for (const Otf2Definitions::Location& location : from.locations)
      group_of.try_emplace(location.reference, location.group);
    if (const auto* mpi = locations_of(from, OTF2_PARADIGM_MPI)) {
      for (std::size_t i = 0; i < mpi->size(); ++i) {
        first_.try_emplace((*mpi)[i], static_cast<std::int32_t>(i));
        const auto group = group_of.find((*mpi)[i]);
        if (group != group_of.end()) ranks_.try_emplace(group->second, static_cast<std::int32_t>(i));
      }
    } else {
      for (const Otf2Definitions::LocationGroup& group : from.location_groups)
        if (group.type != OTF2_LOCATION_GROUP_TYPE_ACCELERATOR)
          ranks_.try_emplace(group.reference, static_cast<std::int32_t>(ranks_.size()));
    }
    for (const Otf2Definitions::LocationGroup& group : from.location_groups) {  // part of its process
      const auto of = ranks_.find(group.creator);
      if (of != ranks_.end()) ranks_.try_emplace(group.reference, of->second);
    }
  }
  std::int32_t of_group(std::uint32_t group) const {
    const auto of = ranks_.find(group);
    return of == ranks_.end() ? -1 : of->second;
  }
  /// Whether the location is the one that stands for an MPI rank.
  bool is_first(std::uint64_t location) const { return first_.contains(location); }

 private:
  std::unordered_map<std::uint32_t, std::int32_t> ranks_;
  std::unordered_map<std::uint64_t, std::int32_t> first_;
};

LocationKind kind_of(std::uint8_t type) {
  switch (type) {
    case OTF2_LOCATION_TYPE_ACCELERATOR_STREAM: return LocationKind::AcceleratorStream;
    case OTF2_LOCATION_TYPE_METRIC: return LocationKind::Metric;
    default: return LocationKind::Thread;
  }
}

/// The system tree, from the machine down.
class SystemTree {
 public:
  explicit SystemTree(const Otf2Definitions& from) : from_(from), nodes_(by_reference(from.nodes)) {}
  std::vector<std::string> placement(std::uint32_t node) const {
    std::vector<std::string> names;
    constexpr std::size_t deepest = 64;  // a damaged tree may have cycles
    for (auto at = nodes_.find(node); at != nodes_.end() && names.size() < deepest;
         at = nodes_.find(at->second->parent))
      names.push_back(from_.text(at->second->class_name) + " " + from_.text(at->second->name));
    std::ranges::reverse(names);
    return names;
  }
  /// The nearest node of class "node", or else the nearest node.
  std::string host(std::uint32_t node) const {
    const auto nearest = nodes_.find(node);
    if (nearest == nodes_.end()) return {};
    std::size_t depth = 0;
    for (auto at = nearest; at != nodes_.end() && depth < 64; at = nodes_.find(at->second->parent), ++depth)
      if (from_.text(at->second->class_name) == "node") return from_.text(at->second->name);
    return from_.text(nearest->second->name);
  }

 private:
  const Otf2Definitions& from_;
  std::unordered_map<std::uint32_t, const Otf2Definitions::SystemTreeNode*> nodes_;
};

/// Successive ranks at the same distance form one run.
experiment::MemberList runs_of(const std::vector<std::int32_t>& ranks) {
  experiment::MemberList list;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    const std::int64_t stride = end < ranks.size() ? std::int64_t{ranks[end]} - ranks[begin] : 0;
    while (end < ranks.size() && std::int64_t{ranks[end]} - ranks[end - 1] == stride) ++end;
    list.append(ranks[begin], static_cast<std::int32_t>(stride), end - begin);
    begin = end;
  }
  return list;
}

}  // namespace

Otf2Archive::Otf2Archive(const std::filesystem::path& anchor, const std::function<bool(std::int32_t)>& chosen)
    : anchor_path_(anchor), name_(anchor.string()), anchor_(read_otf2_anchor(anchor)) {
  std::filesystem::path definitions = anchor;
  const Otf2Definitions from = read_otf2_definitions(definitions.replace_extension(".def"), anchor_, *damage_);
  definitions_clock_ = {from.global_offset, from.length, from.begin_epoch_ns};
  is_in_ns_ = from.ticks_per_second == 1'000'000'000 || from.ticks_per_second == 0;
  if (!is_in_ns_) ns_per_tick_ = 1e9 / static_cast<double>(from.ticks_per_second);
  for (const auto& [reference, text] : from.strings) {
    text_of_.set(reference, static_cast<std::uint32_t>(texts_.size()));
    texts_.push_back(text);
  }
  make_regions(from);
  make_parameters(from);
  make_locations(from, chosen);
  make_communicators(from);
  make_metrics(from);
  make_contexts(from);
  require_files();
}

void Otf2Archive::make_regions(const Otf2Definitions& from) {
  regions_.push_back({.name = "(unknown)"});
  for (const Otf2Definitions::Region& region : from.regions) {
    region_of_.set(region.reference, static_cast<std::uint32_t>(regions_.size()));
    RegionOfTrace& made = regions_.emplace_back();
    made.name = from.text(region.name);
    if (made.name.empty()) made.name = from.text(region.canonical_name);
    if (made.name.empty()) made.name = "(unknown)";
    made.file = from.text(region.file);
    made.line = region.line == OTF2_UNDEFINED_UINT32 ? 0 : region.line;
    if (region.paradigm < paradigms) made.paradigm = static_cast<Paradigm>(region.paradigm);
    if (region.role < roles) made.role = static_cast<Role>(region.role);
  }
}

/// In Refrain's archives a parameter marks the end of an iteration of a loop.
void Otf2Archive::make_parameters(const Otf2Definitions& from) {
  for (const Otf2Definitions::Parameter& parameter : from.parameters) {
    parameter_of_.set(parameter.reference, static_cast<std::uint32_t>(parameters_.size()));
    const std::string& name = parameters_.emplace_back(from.text(parameter.name));
    constexpr std::string_view of_loop = "iteration of ";
    const bool is_of_loop = anchor_.creator == "Refrain" && name.starts_with(of_loop);
    loops_.push_back(is_of_loop ? name.substr(of_loop.size()) : std::string());
  }
  if (std::ranges::all_of(loops_, &std::string::empty)) return;
  for (const RegionOfTrace& region : regions_) {
    const auto loop = std::ranges::find(loops_, region.name);
    loop_of_region_.push_back(loop == loops_.end() ? ReferenceMap::none
                                                   : static_cast<std::uint32_t>(loop - loops_.begin()));
  }
}

void Otf2Archive::make_locations(const Otf2Definitions& from, const std::function<bool(std::int32_t)>& chosen) {
  const GroupRanks ranks(from);
  const SystemTree system(from);
  const auto groups = by_reference(from.location_groups);
  struct Place {
    const Otf2Definitions::Location* location;
    std::int32_t rank;
  };
  std::vector<Place> places;
  for (const Otf2Definitions::Location& location : from.locations) {
    const std::int32_t rank = ranks.of_group(location.group);
    if (job_rank_of_.try_emplace(location.reference, rank).second && (!chosen || chosen(rank)))
      places.push_back({&location, rank});
  }
  // In rank order, processes without a rank last; within each rank the thread that stands for it first.
  std::ranges::stable_sort(places, {}, [&](const Place& place) {
    return std::pair(static_cast<std::uint32_t>(place.rank), !ranks.is_first(place.location->reference));
  });
  for (const Place& place : places) {
    LocationOfTrace made{.rank = place.rank,
                         .name = from.text(place.location->name),
                         .records = place.location->events == OTF2_UNDEFINED_UINT64 ? 0 : place.location->events,
                         .kind = kind_of(place.location->type)};
    const auto group = groups.find(place.location->group);
    if (group != groups.end()) {
      made.process = from.text(group->second->name);
      made.placement = system.placement(group->second->node);
      made.host = system.host(group->second->node);
    }
    if (ranks_.empty() || ranks_.back().rank != place.rank)
      ranks_.push_back({place.rank, made.host, format::EventMode::All, 0, 0, {}, {}});
    else made.thread = locations_.back().thread + 1;
    rank_of_location_.push_back(static_cast<std::uint32_t>(ranks_.size() - 1));
    locations_.push_back(std::move(made));
    reference_of_location_.push_back(place.location->reference);
    std::error_code missing;
    const auto bytes =
        std::filesystem::file_size(file_of(static_cast<std::uint32_t>(locations_.size() - 1), ".evt"), missing);
    if (!missing) ranks_.back().bytes += bytes;
  }
}

void Otf2Archive::make_communicators(const Otf2Definitions& from) {
  std::unordered_map<std::uint64_t, std::uint32_t> place_of_location;
  for (std::size_t i = 0; i < reference_of_location_.size(); ++i)
    place_of_location.try_emplace(reference_of_location_[i], static_cast<std::uint32_t>(i));
  std::map<std::uint8_t, const std::vector<std::uint64_t>*> all_of_paradigm;
  for (const Otf2Definitions::Communicator& of : from.communicators) {
    communicator_of_.set(of.reference, static_cast<std::uint32_t>(communicators_.all().size()));
    CommunicatorOfTrace made;
    made.name = from.text(of.name);
    std::vector<std::int32_t> members;
    for (const std::uint32_t reference : {of.group, of.remote_group}) {
      const auto group = from.groups.find(reference);
      if (group == from.groups.end()) continue;
      made.paradigm =
          group->second.paradigm < paradigms ? static_cast<Paradigm>(group->second.paradigm) : Paradigm::Unknown;
      made.is_self |= group->second.type == OTF2_GROUP_TYPE_COMM_SELF;
      const auto [known, is_new] = all_of_paradigm.try_emplace(group->second.paradigm, nullptr);
      if (is_new) known->second = locations_of(from, group->second.paradigm);
      const std::vector<std::uint64_t>* all = known->second;
      for (std::uint64_t member : group->second.members) {
        if (group->second.type == OTF2_GROUP_TYPE_COMM_GROUP)
          member = all && member < all->size() ? (*all)[member] : OTF2_UNDEFINED_LOCATION;
        const auto rank = job_rank_of_.find(member);
        members.push_back(rank == job_rank_of_.end() ? -1 : rank->second);
        if (made.paradigm == Paradigm::Mpi) continue;  // there the ranks suffice
        const auto place = place_of_location.find(member);
        made.locations.push_back(place == place_of_location.end() ? CommunicatorOfTrace::no_location : place->second);
      }
      (reference == of.group ? made.size : made.remote_size) = static_cast<std::int32_t>(group->second.members.size());
      if (of.remote_group == of.group) break;
    }
    if (made.is_self) made.size = 1;
    made.members = runs_of(members);
    communicators_.add(std::move(made));
  }
  for (std::size_t i = 0; i < from.communicators.size(); ++i) {
    const std::uint32_t parent = communicator_of_[from.communicators[i].parent];
    if (parent != ReferenceMap::none) communicators_.set_parent(i, static_cast<std::int32_t>(parent));
  }
  for (const Otf2Definitions::Window& window : from.windows) {
    window_of_.set(window.reference, static_cast<std::uint32_t>(windows_.size()));
    windows_.push_back({from.text(window.name), static_cast<std::int32_t>(communicator_of_[window.communicator])});
  }
}

void Otf2Archive::make_metrics(const Otf2Definitions& from) {
  std::unordered_map<std::uint32_t, std::uint32_t> place_of_metric;
  for (const auto& [reference, metric] : from.metrics) {
    place_of_metric[reference] = static_cast<std::uint32_t>(metrics_.size());
    const MetricOfTrace::Type type = metric.value_type == OTF2_TYPE_DOUBLE   ? MetricOfTrace::Real
                                     : metric.value_type == OTF2_TYPE_UINT64 ? MetricOfTrace::Unsigned
                                                                             : MetricOfTrace::Signed;
    metrics_.push_back({from.text(metric.name), from.text(metric.unit), type});
  }
  for (const auto& [reference, of_class] : from.metric_classes)
    for (const std::uint32_t member : of_class.members) {
      const auto place = place_of_metric.find(member);
      metrics_of_[reference].push_back(place == place_of_metric.end() ? ReferenceMap::none : place->second);
    }
  for (const auto& [reference, of_class] : from.metric_instances) {
    const auto members = metrics_of_.find(of_class);
    if (members != metrics_of_.end()) metrics_of_.try_emplace(reference, members->second);
  }
}

/// Parents are mostly defined before their children.
void Otf2Archive::make_contexts(const Otf2Definitions& from) {
  has_samples_ = !from.contexts.empty();
  const auto contexts = by_reference(from.contexts);
  std::vector<const Otf2Definitions::CallingContext*> above;
  for (const Otf2Definitions::CallingContext& context : from.contexts) {
    above.clear();
    const Otf2Definitions::CallingContext* at = &context;
    while (at && path_of_context_[at->reference] == ReferenceMap::none && above.size() < PathTree::deepest) {
      above.push_back(at);
      const auto parent = contexts.find(at->parent);
      at = parent == contexts.end() ? nullptr : parent->second;
    }
    std::uint32_t path = at ? path_of_context_[at->reference] : no_path;
    for (auto next = above.rbegin(); next != above.rend(); ++next) {
      const std::uint32_t region = region_of_[(*next)->region];
      path = paths_->child_of(path, region == ReferenceMap::none ? 0 : region);
      path_of_context_.set((*next)->reference, path);
    }
  }
}

void Otf2Archive::require_files() const {
  std::string first;
  std::size_t missing = 0, needed = 0;
  for (std::uint32_t i = 0; i < locations_.size(); ++i) {
    if (locations_[i].records == 0) continue;
    ++needed;
    std::error_code ignored;
    const std::filesystem::path file = file_of(i, ".evt");
    if (std::filesystem::exists(file, ignored)) continue;
    if (missing++ == 0) first = file.string();
  }
  if (missing > 0)
    throw ReadError(first + ": this file of events is missing" +
                    (missing > 1 ? ", and " + std::to_string(missing - 1) + " more of the " + std::to_string(needed) +
                                       " that the archive should have"
                                 : ""));
}

std::filesystem::path Otf2Archive::file_of(std::uint32_t location, const char* ending) const {
  std::filesystem::path directory = anchor_path_;
  return directory.replace_extension() / (std::to_string(reference_of_location_[location]) + ending);
}

const std::vector<std::uint32_t>* Otf2Archive::metrics_of(std::uint32_t reference) const {
  const auto at = metrics_of_.find(reference);
  return at == metrics_of_.end() ? nullptr : &at->second;
}

void Otf2Archive::leave_out(std::uint32_t location, std::uint8_t kind, std::uint64_t records) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t& known = left_out_[{kind, location}];
  known = std::max(known, records);
}

std::vector<Otf2Archive::LeftOutRecords> Otf2Archive::take_left_out() const {
  const std::lock_guard lock(mutex_);
  std::vector<LeftOutRecords> taken;
  for (const auto& [of, records] : std::exchange(left_out_, {})) taken.push_back({of.second, of.first, records});
  return taken;
}

std::vector<std::pair<std::string, std::uint64_t>> Otf2Archive::left_out() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::uint64_t>> found;
  std::uint8_t last = 0;  // no event's kind
  for (const auto& [of, records] : left_out_) {
    if (of.first != last) found.emplace_back(name_of_otf2_event(of.first), 0);
    last = of.first;
    found.back().second += records;
  }
  return found;
}

}  // namespace refrain::trace

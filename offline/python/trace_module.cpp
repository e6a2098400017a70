// The Python module refrain.trace: the event model (offline/trace/event_model.hpp) of an experiment or an OTF2 archive.
#include <algorithm>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <set>

#include "offline/patterns/path_names.hpp"
#include "offline/python/event_types.hpp"
#include "offline/python/values.hpp"
#include "offline/trace/event_model.hpp"

namespace py = pybind11;

namespace refrain::python {
namespace {

using events::Kind;
using trace::Event;
using trace::LinkedEvent;
using trace::Position;
using trace::Type;

/// The groups of the paradigms, in their order.
constexpr const char* groups[trace::paradigms] = {
    "unknown", "user",   "user",  "openmp",   "mpi",   "cuda",      "measurement", "pthread", "hmpp",
    "ompss",   "hw",     "gaspi", "upc",      "shmem", "winthread", "qtthread",    "ace",     "tbb",
    "openacc", "opencl", "mtapi", "sampling", "none",  "hip",       "kokkos"};

const char* group_of(const trace::RegionOfTrace& region) {
  const auto paradigm = static_cast<std::size_t>(region.paradigm);
  return paradigm < trace::paradigms ? groups[paradigm] : groups[0];
}

py::object position_or_none(Position position) {
  return position == trace::no_position ? py::object(py::none()) : py::object(py::int_(position));
}

std::set<std::int32_t> numbers_of(const py::iterable& numbers) {
  std::set<std::int32_t> all;
  for (const py::handle number : numbers) all.insert(number.cast<std::int32_t>());
  return all;
}

std::shared_ptr<const trace::Trace> open(const std::string& path, const std::optional<std::set<std::int32_t>>& ranks) {
  const auto chosen = [&](std::int32_t rank) { return !ranks || ranks->contains(rank); };
  std::shared_ptr<const trace::Trace> trace;
  if (const auto anchor = trace::find_otf2_anchor(path)) trace = trace::Trace::open_archive(*anchor, chosen);
  else trace = trace::Trace::open(experiment::Experiment::open(path), chosen);
  if (!trace)
    throw py::value_error(path + (ranks ? " has no events of these ranks"
                                        : " has no events; REFRAIN_TRACE=all keeps them when it is measured"));
  for (const std::int32_t rank : ranks.value_or(std::set<std::int32_t>()))
    if (std::ranges::find(trace->ranks(), rank, &trace::RankOfTrace::rank) == trace->ranks().end())
      throw py::value_error("there are no events of rank " + std::to_string(rank));
  return trace;
}

class EventTrace {
 public:
  EventTrace(const std::filesystem::path& path, const std::optional<py::iterable>& ranks)
      : trace_(open(path.string(), ranks ? std::optional(numbers_of(*ranks)) : std::nullopt)), model_(trace_) {
    model_.check_while_reading([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
  }

  Position size() { return model_.size(); }

  py::dict event(std::int64_t position) {
    const LinkedEvent* linked = position < 0 ? nullptr : model_.event(static_cast<Position>(position));
    if (!linked) throw py::index_error("there is no event " + std::to_string(position));
    return dict_of(*linked);
  }

  /// The event in one line: its number, time and type, and what else is known of it.
  std::string literal(std::int64_t position) {
    const py::dict of = event(position);
    const auto said = [](const py::handle value) { return py::str(value).cast<std::string>(); };
    std::string line = said(of["pos"]) + " " + said(py::str("{:.9f}").format(of["time"])) + " " + said(of["type"]);
    for (const auto& [key, value] : of) {
      const std::string name = said(key);
      if (name != "pos" && name != "type" && !name.starts_with("time") && !value.is_none())
        line += " " + name + "=" + said(value);
    }
    return line;
  }

  std::vector<Position> stack(std::int64_t position, std::uint32_t location) {
    return model_.stack(checked(position), location);
  }
  std::vector<Position> queue(std::int64_t position, std::optional<std::int32_t> source,
                              std::optional<std::int32_t> destination) {
    return model_.queue(checked(position), source, destination);
  }

  std::vector<Position> collective(std::int64_t position) { return model_.collective(checked(position)); }

  py::list locations() const {
    py::list all;
    for (const trace::LocationOfTrace& of : trace_->locations()) {
      py::dict location;
      location["rank"] = rank_or_none(of.rank);
      location["thread"] = of.thread;
      location["name"] = text(of.name);
      location["host"] = text(of.host);
      all.append(location);
    }
    return all;
  }
  py::list regions() const {
    py::list all;
    for (const trace::RegionOfTrace& of : trace_->regions()) {
      py::dict region;
      region["name"] = text(of.name);
      region["group"] = group_of(of);
      region["file"] = of.file.empty() ? py::object(py::none()) : py::object(text(of.file));
      region["line"] = of.line == 0 ? py::object(py::none()) : py::object(py::int_(of.line));
      all.append(region);
    }
    return all;
  }
  py::list communicators() const {
    py::list all;
    for (const trace::CommunicatorOfTrace& of : trace_->communicators().all()) {
      py::dict communicator;
      communicator["name"] = text(of.name);
      communicator["size"] = of.size;
      all.append(communicator);
    }
    return all;
  }

  py::list callpath(std::uint32_t path) {
    // The call paths of an archive are known as far as it was read.
    if (path >= trace_->path_count()) (void)model_.size();
    if (path >= trace_->path_count()) throw py::index_error("there is no call path " + std::to_string(path));
    if (!names_) names_ = std::make_unique<patterns::PathNames>(*trace_);
    return texts(names_->names_of(names_->node_of(path)));
  }

  py::list damage() const { return texts(trace_->damage().lines()); }

 private:
  Position checked(std::int64_t position) {
    if (position < 0 || !model_.event(static_cast<Position>(position)))
      throw py::index_error("there is no event " + std::to_string(position));
    return static_cast<Position>(position);
  }

  py::dict dict_of(const LinkedEvent& linked) {
    const Event& event = linked.event;
    const trace::LocationOfTrace& location = trace_->locations()[event.location];
    py::dict of;
    of["pos"] = linked.position;
    of["type"] = type_of(event);
    of["time"] = static_cast<double>(event.time_ns) * 1e-9;
    of["time_ns"] = event.time_ns;
    of["location"] = event.location;
    of["rank"] = rank_or_none(location.rank);
    of["thread"] = location.thread;
    const bool has_path = event.path != trace::no_path;
    of["region"] = has_path ? py::object(text(trace_->region(event.path).name)) : py::object(py::none());
    of["group"] = has_path ? py::object(py::str(group_of(trace_->region(event.path)))) : py::object(py::none());
    of["callpath"] = has_path ? py::object(py::int_(event.path)) : py::object(py::none());
    of["enterptr"] = position_or_none(linked.enter);
    of["cnodeptr"] = position_or_none(has_path ? model_.first_enter(event.path) : trace::no_position);
    if (event.type == Type::Communication) add_communication(of, linked);
    if (event.type == Type::SpanEnd) {
      const std::string loop = trace_->loop_of(event);
      of["loop"] = loop.empty() ? py::object(py::none()) : py::object(text(loop));
      of["iteration"] = event.record.value;
    }
    if (event.type == Type::Metric && event.record.node < trace_->metrics().size()) {
      of["metric"] = text(trace_->metrics()[event.record.node].name);
      of["value"] = trace_->value_of(event);
    }
    if (event.type == Type::Leave && !trace_->archive() && event.record.value > 0)
      of["off_cpu_ns"] = event.record.value;
    return of;
  }

  void add_communication(py::dict& of, const LinkedEvent& linked) {
    const Event& event = linked.event;
    const events::Record& record = event.record;
    const std::int32_t rank = trace_->locations()[event.location].rank;
    of["beginptr"] = position_or_none(linked.begin);
    of["communicator"] = events::is_of_window(record.kind)
                             ? py::object(py::none())
                             : rank_or_none(trace_->communicators().index_of(rank, record.communicator));
    if (events::is_message(record.kind)) {
      const trace::ChannelEnds ends = trace::ends_of(*trace_, event);
      const bool is_send = record.kind == Kind::Send;
      of["source"] = rank_or_none(is_send ? ends.own : ends.other);
      of["destination"] = rank_or_none(is_send ? ends.other : ends.own);
      const std::int64_t length = is_send ? record.bytes_sent : record.bytes_received;
      const bool is_known = events::has_number(record.kind, record.phase);
      of["tag"] = is_known || record.tag >= 0 ? py::object(py::int_(record.tag)) : py::object(py::none());
      of["length"] = is_known || length > 0 ? py::object(py::int_(length)) : py::object(py::none());
      if (!is_send) of["sendptr"] = position_or_none(linked.send);
      return;
    }
    // An archive has the bytes at the end of the operation.
    const bool is_known = !trace_->archive() || record.phase != events::Phase::Begun;
    of["sent"] = is_known ? py::object(py::int_(record.bytes_sent)) : py::object(py::none());
    of["received"] = is_known ? py::object(py::int_(record.bytes_received)) : py::object(py::none());
    if (record.kind != Kind::Collective) return;
    const bool is_root = record.peer == events::this_side;
    of["root"] = rank_or_none(is_root ? rank : trace_->communicators().rank_of(rank, record.communicator, record.peer));
    const bool has_number = linked.operation != events::no_ordinal;
    of["operation"] = has_number ? py::object(py::int_(linked.operation)) : py::object(py::none());
  }

  std::shared_ptr<const trace::Trace> trace_;
  trace::EventModel model_;
  std::unique_ptr<patterns::PathNames> names_;
};

}  // namespace
}  // namespace refrain::python

PYBIND11_MODULE(trace, module) {
  using refrain::python::EventTrace;
  module.doc() = "The events of a Refrain experiment or of an OTF2 archive, after the event model of EARL.";
  py::register_local_exception<refrain::experiment::ReadError>(module, "ReadError", PyExc_OSError);
  py::class_<EventTrace>(
      module, "EventTrace",
      "Events in chronological order over all locations, numbered from 0. Positions may be asked for "
      "in any order; the next one is the quickest.")
      .def(py::init<const std::filesystem::path&, const std::optional<py::iterable>&>(), py::arg("path"),
           py::arg("ranks") = py::none(),
           "An experiment directory, an archive's .otf2 or its directory. ranks: only these. Raises ReadError.")
      .def("__len__", &EventTrace::size, "How many events there are. Reads all of them, once.")
      .def("__getitem__", &EventTrace::event, py::arg("pos"))
      .def("event", &EventTrace::event, py::arg("pos"), "The event as a dictionary. Raises IndexError.")
      .def("literal", &EventTrace::literal, py::arg("pos"), "The event as one line of text. Raises IndexError.")
      .def("stack", &EventTrace::stack, py::arg("pos"), py::arg("location"),
           "After the event: the enter events of the calls in which the location is, outermost first.")
      .def("queue", &EventTrace::queue, py::arg("pos"), py::arg("source") = py::none(),
           py::arg("destination") = py::none(),
           "After the event: the send events of messages on their way, from and to these ranks.")
      .def("collective", &EventTrace::collective, py::arg("pos"),
           "The collective operation that the event belongs to: in which events processes have begun it; empty: none.")
      .def("callpath", &EventTrace::callpath, py::arg("callpath"), "The names of a call path, from the root.")
      .def_property_readonly("locations", &EventTrace::locations, "By location: rank, thread, name, host.")
      .def_property_readonly("regions", &EventTrace::regions, "Name, group, file and line of each.")
      .def_property_readonly("communicators", &EventTrace::communicators, "By number: name and size.")
      .def_property_readonly("damage", &EventTrace::damage, "What was damaged as far as events were read; lines.");
}

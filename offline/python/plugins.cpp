// A plug-in that makes patterns of the classes in a module of Python, with an interpreter of its own.
#include <cctype>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <pybind11/embed.h>
#include <pybind11/stl.h>
#include <unordered_map>

#include "offline/patterns/plugin.hpp"
#include "offline/python/event_types.hpp"

namespace py = pybind11;

namespace refrain::python {
namespace {

using patterns::Call;
using patterns::Search;

/// "late.py:12: ZeroDivisionError: division by zero", of the innermost line in the file.
std::string said_of(const py::error_already_set& error, const std::string& file) {
  const std::string what =
      py::str(error.type().attr("__name__")).cast<std::string>() + ": " + py::str(error.value()).cast<std::string>();
  if (py::isinstance(error.value(), py::module_::import("builtins").attr("SyntaxError")) &&
      !error.value().attr("lineno").is_none())
    return py::str(error.value().attr("filename")).cast<std::string>() + ":" +
           std::to_string(error.value().attr("lineno").cast<int>()) + ": " + what;
  std::string place = file;
  if (error.trace())
    for (const py::handle frame : py::module_::import("traceback").attr("extract_tb")(error.trace()))
      if (frame.attr("filename").cast<std::string>() == file)
        place = file + ":" + std::to_string(frame.attr("lineno").cast<int>());
  return place + ": " + what;
}

/// Runs `ask`; what it raises becomes a std::runtime_error.
template <class Ask>
auto asked(const std::string& file, const Ask& ask) {
  try {
    return ask();
  } catch (const py::error_already_set& error) {
    throw std::runtime_error(said_of(error, file));
  } catch (const py::cast_error& error) {
    throw std::runtime_error(file + ": " + error.what());
  }
}

/// LateSender: late_sender.
std::string small_name(const std::string& name) {
  std::string small;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !small.empty()) small += '_';
    small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return small;
}

class PythonPattern final : public patterns::Pattern {
 public:
  PythonPattern(patterns::About about, std::string file, py::object self, const trace::Trace& trace, py::object event)
      : Pattern(std::move(about)),
        file_(std::move(file)),
        self_(std::move(self)),
        trace_(trace),
        event_(std::move(event)) {}

  void subscribe(Search& search) override {
    self_.attr("_add") = py::cpp_function([this, &search](const py::dict& event, std::int64_t ns) {
      search.add(quantity(), call_of(search, event), ns);
    });
    subscribe_primitive(search);
    on<Call>(search, "call", [this](const Call& of) { return dict_of(of); });
    on<patterns::Receiving>(search, "receiving", [this](const patterns::Receiving& of) { return dict_of(of); });
    on<patterns::Sending>(search, "sending", [this](const patterns::Sending& of) { return dict_of(of); });
    on<patterns::LateSender>(search, "late_sender",
                             [this](const patterns::LateSender& of) { return dict_of(of.receiving); });
    on<patterns::LateReceiver>(search, "late_receiver",
                               [this](const patterns::LateReceiver& of) { return dict_of(of.sending); });
    on<patterns::Collective>(search, "collective", [this](const patterns::Collective& of) { return dict_of(of); });
  }
  void wrap_up() override {
    asked(file_, [&] { self_.attr("wrapup")(); });
  }
  double confidence(const patterns::SearchCounts&) const override {
    return asked(file_, [&] { return self_.attr("confidence")().cast<double>(); });
  }
  std::optional<double> severity_s() const override {
    return asked(file_, [&] { return self_.attr("severity")().cast<std::optional<double>>(); });
  }
  std::vector<std::string> results() const override {
    return asked(file_, [&] { return self_.attr("results")().cast<std::vector<std::string>>(); });
  }

 private:
  py::object callback(const std::string& type) const {
    return py::getattr(self_, (type + "_callback").c_str(), py::none());
  }

  template <class Event, class Convert>
  void on(Search& search, const char* name, Convert convert) {
    const py::object method = callback(name);
    if (method.is_none()) return;
    search.subscribe<Event>([this, method, convert](const Event& of) { asked(file_, [&] { method(convert(of)); }); });
  }

  /// Of an event its type, as a number: for most there is no callback.
  static std::size_t key_of(const trace::Event& event) {
    if (event.type != trace::Type::Communication) return static_cast<std::size_t>(event.type);
    return trace::types + static_cast<std::size_t>(event.record.kind) * 4 +
           static_cast<std::size_t>(event.record.phase);
  }

  void subscribe_primitive(Search& search) {
    // "collective" is a compound event, which has all its processes.
    std::vector<py::object> methods(trace::types + events::kinds * 4, py::none());
    bool has_some = false;
    for (unsigned type = 0; type < trace::types; ++type)
      for (unsigned kind = 0; kind < events::kinds; ++kind)
        for (unsigned phase = 0; phase < 4; ++phase) {
          trace::Event event;
          event.type = static_cast<trace::Type>(type);
          event.record.kind = static_cast<events::Kind>(kind);
          event.record.phase = static_cast<events::Phase>(phase);
          const std::string name = type_of(event);
          if (name == "collective") continue;
          py::object& method = methods[key_of(event)];
          method = callback(name);
          has_some |= !method.is_none();
        }
    if (!has_some) return;
    search.subscribe<patterns::Primitive>([this, methods](const patterns::Primitive& of) {
      const py::object& method = methods[key_of(of.event)];
      if (!method.is_none()) asked(file_, [&] { method(event_(of.position)); });
    });
  }

  py::dict dict_of(const Call& of) const {
    py::dict call;
    const trace::LocationOfTrace& location = trace_.locations()[of.location];
    call["location"] = of.location;
    call["rank"] = location.rank;
    call["thread"] = location.thread;
    call["callpath"] = of.path;
    call["region"] = trace_.region_of(of.path);
    call["enter_ns"] = of.enter_ns;
    call["leave_ns"] = of.leave_ns;
    call["inner_ns"] = of.inner_ns;
    call["span"] = of.span;
    return call;
  }
  py::dict dict_of(const patterns::Receiving& of) const {
    py::dict receiving = dict_of(of.call);
    receiving["waiting_ns"] = of.waiting_ns;
    receiving["sender"] = trace_.locations()[of.latest.sender].rank;
    receiving["send_callpath"] = of.latest.send_path;
    receiving["send_enter_ns"] = of.latest.send_enter_ns;
    receiving["tag"] = of.latest.tag;
    receiving["length"] = of.latest.bytes;
    return receiving;
  }
  py::dict dict_of(const patterns::Sending& of) const {
    py::dict sending = dict_of(of.call);
    sending["waiting_ns"] = of.waiting_ns;
    sending["receiver"] = trace_.locations()[of.receiver].rank;
    sending["receiver_callpath"] = of.receiver_path;
    sending["posted_ns"] = of.posted_ns;
    return sending;
  }
  py::dict dict_of(const patterns::Collective& of) const {
    py::dict collective;
    collective["communicator"] = of.operation.communicator;
    collective["last_enter_ns"] = of.last_enter_ns;
    collective["first_leave_ns"] = of.first_leave_ns;
    py::list parts;
    for (const trace::CollectivePart& part : of.operation.parts) {
      Call call;
      call.location = part.location;
      call.path = part.path;
      call.span = part.span;
      call.enter_ns = part.enter_ns;
      call.leave_ns = part.leave_ns;
      call.inner_ns = part.inner_ns;
      py::dict of_part = dict_of(call);
      of_part["begin_ns"] = part.begin_ns;
      of_part["is_root"] = part.is_root;
      parts.append(of_part);
    }
    collective["parts"] = parts;
    return collective;
  }

  /// Of a compound event its call; else the one in which the event happened, of which only the begin is known.
  Call call_of(const Search& search, const py::dict& event) const {
    Call call;
    call.location = event["location"].cast<std::uint32_t>();
    if (call.location >= trace_.locations().size()) throw py::value_error("there is no such location");
    if (event["callpath"].is_none()) throw py::value_error("the event has no call path");
    call.path = event["callpath"].cast<std::uint32_t>();
    if (event.contains("leave_ns")) {
      call.enter_ns = event["enter_ns"].cast<std::int64_t>();
      call.leave_ns = event["leave_ns"].cast<std::int64_t>();
      call.inner_ns = event["inner_ns"].cast<std::int64_t>();
      call.span = event["span"].cast<std::uint32_t>();
      return call;
    }
    call.enter_ns = event["time_ns"].cast<std::int64_t>();
    constexpr std::int64_t not_known = INT64_MAX / 2;
    call.leave_ns = not_known;
    call.span = search.findings().span(call.location);
    return call;
  }

  std::string file_;
  py::object self_;
  const trace::Trace& trace_;
  py::object event_;  ///< of EventTrace
};

/// Where the package `refrain` lies: beside this file.
std::filesystem::path package_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&package_directory), &info) == 0 || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path() / "python";
}

/// Never ended: patterns live until the process ends.
void start_interpreter() {
  static const bool is_started = [] {
    // Modules of Python look for the interpreter's functions among what all may use.
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&Py_InitializeEx), &info) != 0)
      (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    // Signals stay with the program.
    py::initialize_interpreter(false);
    py::module_::import("sys").attr("path").attr("insert")(0, package_directory().string());
    return true;
  }();
  (void)is_started;
}

void make(const patterns::PluginRequest& request, patterns::Patterns& patterns) {
  start_interpreter();
  asked(request.file, [&] {
    const py::object base = py::module_::import("refrain.patterns").attr("Pattern");
    const py::object event_trace = py::module_::import("refrain.trace").attr("EventTrace");
    const py::module_ importing = py::module_::import("importlib.util");
    const std::string name = std::filesystem::path(request.file).stem().string();
    py::module_::import("sys").attr("path").attr("insert")(
        0, std::filesystem::absolute(request.file).parent_path().string());
    const py::object specification = importing.attr("spec_from_file_location")(name, request.file);
    const py::object module = importing.attr("module_from_spec")(specification);
    py::module_::import("sys").attr("modules")[name.c_str()] = module;
    specification.attr("loader").attr("exec_module")(module);
    const py::object inspect = py::module_::import("inspect");
    bool has_some = false;
    py::object trace;
    // In the order of the file.
    for (const py::handle item : module.attr("__dict__").attr("values")()) {
      if (!inspect.attr("isclass")(item).cast<bool>() || item.is(base) ||
          !py::module_::import("builtins").attr("issubclass")(item, base).cast<bool>() ||
          item.attr("__module__").cast<std::string>() != name)
        continue;
      has_some = true;
      if (!trace) trace = event_trace(request.trace_path, request.ranks);
      item.attr("trace") = trace;
      item.attr("settings") = request.settings;
      const py::object self = item();
      patterns::About about{self.attr("name").cast<std::string>(), self.attr("parent").cast<std::string>(),
                            self.attr("title").cast<std::string>()};
      if (about.name.empty()) about.name = small_name(item.attr("__name__").cast<std::string>());
      patterns.push_back(
          std::make_unique<PythonPattern>(about, request.file, self, request.trace, trace.attr("event")));
    }
    if (!has_some) throw std::runtime_error(request.file + ": has no subclass of refrain.patterns.Pattern");
  });
}

}  // namespace
}  // namespace refrain::python

REFRAIN_PLUGIN(refrain::python::make)

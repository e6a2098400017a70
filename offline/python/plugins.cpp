// A plug-in that makes patterns from the classes in a Python module, with an interpreter of its own.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include "offline/patterns/dependences.hpp"
#include "offline/patterns/plugin.hpp"
#include "offline/python/event_types.hpp"
#include "offline/python/values.hpp"

namespace py = pybind11;

namespace refrain::python {
namespace {

using patterns::Call;
using patterns::Search;

/// The text of an object, in one line.
std::string text_of(const py::handle object) {
  try {
    const py::bytes bytes = py::str(object).attr("encode")("utf-8", "backslashreplace");
    std::string text = bytes;
    std::ranges::replace(text, '\n', ' ');
    return text;
  } catch (const py::error_already_set&) {
    return "(it cannot be said)";
  }
}

/// "late.py:12: ZeroDivisionError: division by zero", of the innermost line in the file.
std::string said_of(const py::error_already_set& error, const std::string& file) {
  const std::string what = text_of(error.type().attr("__name__")) + ": " + text_of(error.value());
  try {
    const std::string whole = std::filesystem::absolute(file).string();
    if (py::isinstance(error.value(), py::module_::import("builtins").attr("SyntaxError")) &&
        !error.value().attr("lineno").is_none()) {
      const std::string name = text_of(error.value().attr("filename"));
      return (name == whole ? file : name) + ":" + text_of(error.value().attr("lineno")) + ": " + what;
    }
    std::string place = file;
    if (error.trace())
      for (const py::handle frame : py::module_::import("traceback").attr("extract_tb")(error.trace()))
        if (text_of(frame.attr("filename")) == whole) place = file + ":" + text_of(frame.attr("lineno"));
    return place + ": " + what;
  } catch (const py::error_already_set&) {
    return file + ": " + what;
  }
}

/// Runs `ask`; an exception of Python becomes a std::runtime_error.
template <class Ask>
auto asked(const std::string& file, const Ask& ask) {
  try {
    return ask();
  } catch (const py::error_already_set& error) {
    throw std::runtime_error(said_of(error, file));
  } catch (const py::cast_error& error) {
    throw std::runtime_error(file + ": what it returned cannot be used: " + error.what());
  }
}

/// LateSender becomes late_sender.
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
  ~PythonPattern() override {
    // `_add` refers to the search.
    if (py::hasattr(self_, "_add")) PyObject_SetAttrString(self_.ptr(), "_add", Py_None);
    PyErr_Clear();
  }

  void subscribe(Search& search) override {
    self_.attr("_add") = py::cpp_function([this, &search](const py::dict& event, std::int64_t ns) {
      if (ns < 0) throw py::value_error("a time is below 0");
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
    on<patterns::WindowWait>(search, "window_wait", [this](const patterns::WindowWait& of) { return dict_of(of); });
    on<patterns::IdleThreads>(search, "idle_threads", [this](const patterns::IdleThreads& of) { return dict_of(of); });
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

  /// The type of an event, as an index of callbacks: most types have no callback.
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
    call["rank"] = rank_or_none(location.rank);
    call["thread"] = location.thread;
    call["callpath"] = path_or_none(of.path);
    call["region"] = text(trace_.region_of(of.path));
    call["enter_ns"] = of.enter_ns;
    call["leave_ns"] = of.leave_ns;
    call["inner_ns"] = of.inner_ns;
    call["off_cpu_ns"] = of.off_cpu_ns;
    call["span"] = of.span;
    return call;
  }
  py::dict dict_of(const patterns::Receiving& of) const {
    py::dict receiving = dict_of(of.call);
    receiving["waiting_ns"] = of.waiting_ns;
    receiving["sender"] = rank_or_none(trace_.locations()[of.latest.sender].rank);
    receiving["send_callpath"] = path_or_none(of.latest.send_path);
    receiving["send_enter_ns"] = of.latest.send_enter_ns;
    receiving["tag"] = of.latest.tag;
    receiving["length"] = of.latest.bytes;
    return receiving;
  }
  py::dict dict_of(const patterns::Sending& of) const {
    py::dict sending = dict_of(of.call);
    sending["waiting_ns"] = of.waiting_ns;
    sending["receiver"] = rank_or_none(trace_.locations()[of.receiver].rank);
    sending["receiver_callpath"] = path_or_none(of.receiver_path);
    sending["posted_ns"] = of.posted_ns;
    return sending;
  }
  py::dict dict_of(const patterns::WindowWait& of) const {
    constexpr const char* names[] = {"fence", "post", "complete", "unlock"};
    py::dict wait = dict_of(of.call);
    wait["until"] = names[static_cast<std::size_t>(of.of)];
    wait["waiting_ns"] = of.waiting_ns;
    wait["delayer"] = rank_or_none(trace_.locations()[of.delayer.location].rank);
    wait["delayer_callpath"] = path_or_none(of.delayer.path);
    wait["delayer_enter_ns"] = of.delayer.ns;
    return wait;
  }
  py::dict dict_of(const patterns::IdleThreads& of) const {
    py::dict piece = dict_of(of.first);
    py::list threads;
    for (const std::uint32_t location : of.idle) threads.append(trace_.locations()[location].thread);
    piece["idle"] = threads;
    piece["are_all"] = of.are_all;
    return piece;
  }
  py::dict dict_of(const patterns::Collective& of) const {
    py::dict collective;
    collective["communicator"] = of.operation.communicator;
    collective["last_enter_ns"] = of.last_enter_ns;
    collective["first_leave_ns"] = of.first_leave_ns;
    py::list parts;
    for (const trace::CollectivePart& part : of.operation.parts) {
      py::dict of_part = dict_of(patterns::call_of(part));
      of_part["begin_ns"] = part.begin_ns;
      of_part["is_root"] = part.is_root;
      parts.append(of_part);
    }
    collective["parts"] = parts;
    return collective;
  }

  /// The call of a compound event; else the call in which the event happened, of which only the beginning is known.
  Call call_of(const Search& search, const py::dict& event) const {
    Call call;
    call.location = event["location"].cast<std::uint32_t>();
    if (call.location >= trace_.locations().size()) throw py::value_error("there is no such location");
    if (event["callpath"].is_none()) throw py::value_error("the event has no call path");
    call.path = event["callpath"].cast<std::uint32_t>();
    if (call.path >= trace_.path_count()) throw py::value_error("there is no such call path");
    if (event.contains("leave_ns")) {
      call.enter_ns = event["enter_ns"].cast<std::int64_t>();
      call.leave_ns = event["leave_ns"].cast<std::int64_t>();
      call.inner_ns = event["inner_ns"].cast<std::int64_t>();
      call.span = event["span"].cast<std::uint32_t>();
      if (call.span > search.findings().span(call.location)) throw py::value_error("there is no such span");
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
  py::object event_;  ///< method of EventTrace
};

/// The directory of the package `refrain`: beside this library.
std::filesystem::path package_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&package_directory), &info) == 0 || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).parent_path() / "python";
}

/// The interpreter ends when the process exits, after all patterns.
void start_interpreter() {
  static const bool is_started = [] {
    // Extension modules look for the interpreter's functions among the global symbols.
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&Py_InitializeEx), &info) != 0)
      (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    // Signals stay with the program.
    py::initialize_interpreter(false);
    // The output of plug-ins must not get between the results.
    const py::module_ sys = py::module_::import("sys");
    sys.attr("stdout") = sys.attr("stderr");
    sys.attr("path").attr("insert")(0, package_directory().string());
    // Import these before users' directories get into the path.
    for (const char* name : {"refrain.patterns", "refrain.trace", "importlib.util", "traceback"})
      py::module_::import(name);
    std::atexit([] { (void)Py_FinalizeEx(); });
    return true;
  }();
  (void)is_started;
}

/// Runs the file as a module with a unique name.
py::object module_of(const std::string& file) {
  static int plugins = 0;
  const std::string name = "refrain_plugin_" + std::to_string(plugins++);
  const std::filesystem::path whole = std::filesystem::absolute(file);
  const py::module_ sys = py::module_::import("sys");
  sys.attr("path").attr("append")(whole.parent_path().string());
  const py::module_ importing = py::module_::import("importlib.util");
  const py::object specification = importing.attr("spec_from_file_location")(name, whole.string());
  const py::object module = importing.attr("module_from_spec")(specification);
  sys.attr("modules")[name.c_str()] = module;
  specification.attr("loader").attr("exec_module")(module);
  return module;
}

/// The pattern classes that the module itself defines, in its order, without base classes: these are abstract, or their
/// names begin with an underscore.
std::vector<py::object> classes_of(const py::object& module, const py::object& base) {
  std::vector<py::object> classes;
  for (const py::handle item : py::list(module.attr("__dict__").attr("values")())) {
    if (!PyType_Check(item.ptr()) || item.is(base) || PyObject_IsSubclass(item.ptr(), base.ptr()) != 1) continue;
    const bool is_abstract = (reinterpret_cast<PyTypeObject*>(item.ptr())->tp_flags & Py_TPFLAGS_IS_ABSTRACT) != 0;
    if (is_abstract || text_of(item.attr("__name__")).starts_with("_")) continue;
    if (!item.attr("__module__").equal(module.attr("__name__"))) continue;
    const bool is_known = std::ranges::any_of(classes, [&](const py::object& of) { return of.is(item); });
    if (!is_known) classes.push_back(py::reinterpret_borrow<py::object>(item));
  }
  return classes;
}

void make(const patterns::PluginRequest& request, patterns::Patterns& patterns) {
  start_interpreter();
  asked(request.file, [&] {
    const py::object base = py::module_::import("refrain.patterns").attr("Pattern");
    const std::vector<py::object> classes = classes_of(module_of(request.file), base);
    if (classes.empty()) throw std::runtime_error(request.file + ": has no subclass of refrain.patterns.Pattern");
    const py::object trace = py::module_::import("refrain.trace").attr("EventTrace")(request.trace_path, request.ranks);
    for (const py::object& of : classes) {
      of.attr("trace") = trace;
      of.attr("settings") = request.settings;
      const py::object self = of();
      patterns::About about{self.attr("name").cast<std::string>(), self.attr("parent").cast<std::string>(),
                            self.attr("title").cast<std::string>()};
      if (about.name.empty()) about.name = small_name(text_of(of.attr("__name__")));
      patterns.push_back(
          std::make_unique<PythonPattern>(about, request.file, self, request.trace, trace.attr("event")));
    }
  });
}

}  // namespace
}  // namespace refrain::python

REFRAIN_PLUGIN(refrain::python::make)

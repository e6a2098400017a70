#include "runtime/metrics.hpp"

#include <algorithm>
#include <atomic>
#include <errno.h>
#include <iterator>
#include <string_view>

#include "adapters/papi/papi.hpp"
#include "config/line.hpp"
#include "config/metric_list.hpp"
#include "config/near_names.hpp"
#include "measurement/call_tree.hpp"
#include "measurement/extra_metrics.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/kernel_counters.hpp"
#include "platform/message.hpp"
#include "platform/pages.hpp"
#include "platform/resource_usage.hpp"
#include "record/run_notes.hpp"

namespace refrain::runtime {
namespace {

using measurement::extra_metrics;
using measurement::max_extra_metrics;
using platform::KernelEvent;
using platform::Resource;
using platform::say;
namespace papi = adapters::papi;

static_assert(config::max_metrics == max_extra_metrics);

enum class Source : std::uint8_t { Resource, Kernel, Papi };

struct Known {
  Source source;
  std::uint8_t number;  ///< platform::Resource or platform::KernelEvent
  const char* name;
  const char* unit;
};
constexpr Known known_metrics[] = {
#define RESOURCE_METRIC(id, name, unit, help) {Source::Resource, static_cast<std::uint8_t>(Resource::id), name, unit},
#define KERNEL_METRIC(id, name, unit, help) {Source::Kernel, static_cast<std::uint8_t>(KernelEvent::id), name, unit},
#include "config/metrics.def"
};

/// Where the values of each extra metric come from.
struct CounterReference {
  Source source;
  std::uint8_t number;  ///< the resource, or the index among the counters of its source
};
CounterReference references[max_extra_metrics];
bool uses[3] = {};
KernelEvent kernel_events[platform::kernel_event_count];
std::uint32_t kernel_events_used = 0;

// ---- reading --------------------------------------------------------------------------------------------------------

struct Counters {
  platform::KernelCounters kernel;
  papi::EventSets* papi;
  std::int64_t high_water_growth;  ///< growth that this thread was the first to see, in the unit of the metric
};

/// The highest mark of the process's memory that a thread has counted as growth.
std::atomic<std::int64_t> high_water_mark{0};

/// Growth of the high-water mark belongs to the thread that sees it first, so that sums over threads are right.
/// Async-signal-safe.
std::int64_t take_growth(std::int64_t mark) {
  std::int64_t before = high_water_mark.load(std::memory_order_relaxed);
  while (mark > before)
    if (high_water_mark.compare_exchange_weak(before, mark, std::memory_order_relaxed)) return mark - before;
  return 0;
}

/// Async-signal-safe if `at_tick`.
bool read(void* handle, bool at_tick, std::int64_t* values) {
  auto& counters = *static_cast<Counters*>(handle);
  std::int64_t resources[platform::resource_count], kernel[platform::kernel_event_count], events[max_extra_metrics];
  bool good_kernel = true, good_papi = true;
  if (uses[static_cast<int>(Source::Resource)]) {
    platform::read_resource_usage(resources);
    std::int64_t& mark = resources[static_cast<std::size_t>(Resource::HighWaterMark)];
    mark = counters.high_water_growth += take_growth(mark);
  }
  if (uses[static_cast<int>(Source::Kernel)]) good_kernel = platform::read_kernel_counters(counters.kernel, kernel);
  if (uses[static_cast<int>(Source::Papi)]) {
    for (std::uint32_t i = 0; i < extra_metrics.count; ++i)
      if (references[i].source == Source::Papi) events[references[i].number] = values[i];
    good_papi = papi::read(counters.papi, at_tick, events);
  }
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) switch (references[i].source) {
      case Source::Resource: values[i] = resources[references[i].number]; break;
      case Source::Kernel:
        if (good_kernel) values[i] = kernel[references[i].number];
        break;
      case Source::Papi: values[i] = events[references[i].number]; break;
    }
  return good_kernel && good_papi;
}

void close(void* handle) {
  auto* counters = static_cast<Counters*>(handle);
  platform::close_kernel_counters(counters->kernel);
  if (counters->papi) papi::close(counters->papi);
  platform::unmake_on_pages(counters);
}

/// Opens the chosen kernel events for the calling thread. False: `error` is the errno value.
bool add_kernel_events(platform::KernelCounters& counters, int& error) {
  for (std::uint32_t i = 0; i < kernel_events_used; ++i)
    if (!platform::add_kernel_counter(counters, kernel_events[i], error)) return false;
  return true;
}

void* open() {
  auto* counters = platform::make_on_pages<Counters>();
  if (!counters) return nullptr;
  int error = 0;
  bool good = add_kernel_events(counters->kernel, error);
  if (good && papi::event_count() > 0) good = (counters->papi = papi::open());
  if (good) return counters;
  close(counters);
  return nullptr;
}

// ---- choosing -------------------------------------------------------------------------------------------------------

/// Reports that `name` is left out. All ranks leave out the same, so only one of them reports it.
void say_left_out(std::string_view name, const char* reason, bool with_near) {
  if (record::rank_by_environment() > 0) return;
  config::NearNames near(name);
  if (with_near) {
    for (const Known& known : known_metrics) near.consider(known.name);
    if (!papi::load()) papi::for_each_event([&](std::string_view event) { near.consider(event); });
  }
  char line[768];
  config::Line text(line, sizeof line);
  text << "REFRAIN_METRICS: ";
  text.foreign(name, config::longest_metric_name) << " cannot be counted here (" << std::string_view(reason) << ")";
  // A name that is spelled right needs no suggestion.
  const bool show_near = with_near && !near.is_known() && near.count() > 0;
  if (with_near && !show_near)
    text << (near.is_known() ? "; " : "; nothing is near it, ") << "refrain info metrics lists what there is";
  for (std::size_t i = 0; show_near && i < near.count(); ++i) text << (i == 0 ? "; near it: " : ", ") << near.name(i);
  text << ". The run goes on without it.";
  say("%s", line);
}

const Known* find_known(std::string_view name) {
  const auto* at = std::find_if(std::begin(known_metrics), std::end(known_metrics),
                                [&](const Known& known) { return name == known.name; });
  return at == std::end(known_metrics) ? nullptr : at;
}

/// Tries whether the kernel counts `event` beside the events chosen before. Returns null, or the reason why it does
/// not.
const char* try_kernel_event(KernelEvent event) {
  platform::KernelCounters counters{};
  int error = 0;
  const bool good = add_kernel_events(counters, error) && platform::add_kernel_counter(counters, event, error);
  platform::close_kernel_counters(counters);
  if (good) return nullptr;
  switch (error) {
    case EACCES:
    case EPERM: return "not permitted: see kernel.perf_event_paranoid";
    case EMFILE:
    case ENFILE: return "too many open files";
    case ENOENT:
    case EINVAL:
    case ENOSYS: return "this kernel does not count it";
    default: return "the kernel refuses";
  }
}

/// A copy of the name, zero-terminated and valid until exit.
const char* kept(std::string_view name) {
  static char texts[max_extra_metrics][config::longest_metric_name + 1];
  char* text = texts[extra_metrics.count];
  config::Line(text, sizeof texts[0]) << name;
  return text;
}

void choose(std::string_view name) {
  const char* text = kept(name);
  const char* unit = "1";
  CounterReference reference{Source::Papi, 0};
  if (const Known* known = find_known(name)) {
    reference = {known->source, known->number};
    unit = known->unit;
    if (known->source == Source::Kernel) {
      const auto event = static_cast<KernelEvent>(known->number);
      if (const char* fault = try_kernel_event(event)) return say_left_out(name, fault, false);
      reference.number = static_cast<std::uint8_t>(kernel_events_used);
      kernel_events[kernel_events_used++] = event;
    }
  } else {
    // A name with the prefix of a resource is a mistyped resource, not an event of PAPI.
    if (name.starts_with("ru_")) return say_left_out(name, "no such resource", true);
    if (const char* fault = papi::load()) return say_left_out(name, fault, true);
    reference.number = static_cast<std::uint8_t>(papi::event_count());
    if (const char* fault = papi::add_event(text, unit)) return say_left_out(name, fault, true);
  }
  uses[static_cast<int>(reference.source)] = true;
  references[extra_metrics.count] = reference;
  extra_metrics.metric[extra_metrics.count++] = {text, unit};
}

}  // namespace

void choose_metrics(const config::Configuration& configuration) {
  if (!*configuration.metrics) return;
  const config::MetricList list = config::parse_metric_list(configuration.metrics);
  for (std::size_t i = 0; i < list.count; ++i) choose(list.name[i]);
  if (extra_metrics.count == 0) return;
  std::int64_t resources[platform::resource_count];
  platform::read_resource_usage(resources);
  high_water_mark.store(resources[static_cast<std::size_t>(Resource::HighWaterMark)], std::memory_order_relaxed);
  extra_metrics.open = open;
  extra_metrics.close = close;
  extra_metrics.read = read;
  measurement::CallTree::set_extra_columns(extra_metrics.count);
  measurement::calls_have_extras.store(true, std::memory_order_release);
}

}  // namespace refrain::runtime

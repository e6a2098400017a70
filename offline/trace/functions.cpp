#include "offline/trace/functions.hpp"

#include <algorithm>
#include <utility>

#include "format/mpi_functions.hpp"

namespace refrain::trace {
namespace {

using format::MpiWaits;

constexpr FunctionOfMpi classes[] = {
#define MPI_CLASS(name, time, called, needs, ...) \
  {.call_class = CallClass::time, .exchange = Exchange::needs, .role = Role::called},
#include "format/mpi_classes.def"
#undef MPI_CLASS
};

WindowStep step_of(std::string_view effect) {
  constexpr std::pair<std::string_view, WindowStep> steps[] = {
      {"WindowFenced", WindowStep::Fence},       {"AccessStarted", WindowStep::Start},
      {"AccessCompleted", WindowStep::Complete}, {"ExposurePosted", WindowStep::Post},
      {"ExposureAwaited", WindowStep::Wait},     {"ExposureTested", WindowStep::Wait},
      {"TargetLocked", WindowStep::Lock},        {"TargetUnlocked", WindowStep::Unlock}};
  const auto* at = std::ranges::find(steps, effect, &std::pair<std::string_view, WindowStep>::first);
  return at == std::end(steps) ? WindowStep::None : at->second;
}

}  // namespace

FunctionOfMpi function_of_mpi(std::string_view name) {
  const format::MpiFunction* known = format::find_mpi_function(name);
  if (!known) return {.call_class = format::is_mpi_name(name) ? CallClass::OtherMpi : CallClass::NotMpi};
  FunctionOfMpi is = classes[static_cast<std::size_t>(known->of)];
  is.job_call = known->waits == MpiWaits::init  ? JobCall::Init
                : known->waits == MpiWaits::job ? JobCall::Finalize
                                                : JobCall::None;
  is.window_step = step_of(known->effect);
  is.waits_untold =
      known->waits == MpiWaits::others || known->waits == MpiWaits::probe || known->waits == MpiWaits::poll;
  return is;
}

}  // namespace refrain::trace

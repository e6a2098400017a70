#pragma once
/// A reference to a function object, not to a plain function, for the time of a call, so that the receiver need not be
/// a template. It must not outlive the object.

#include <type_traits>

namespace refrain::platform {

template <class Signature>
class FunctionRef;

template <class Result, class... Parameters>
class FunctionRef<Result(Parameters...)> {
 public:
  template <class Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, FunctionRef>)
      FunctionRef(Function&& function)  // NOLINT: functions convert implicitly
      : call_([](void* of, Parameters... parameters) -> Result {
          return (*static_cast<std::remove_reference_t<Function>*>(of))(static_cast<Parameters>(parameters)...);
        }),
        function_(const_cast<void*>(static_cast<const void*>(__builtin_addressof(function)))) {}
  Result operator()(Parameters... parameters) const { return call_(function_, static_cast<Parameters>(parameters)...); }

 private:
  Result (*call_)(void*, Parameters...);
  void* function_;
};

}  // namespace refrain::platform

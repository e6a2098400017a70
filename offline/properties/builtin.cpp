#include "offline/properties/builtin.hpp"

#include "offline/properties/embedded.hpp"

namespace refrain::properties {

Source builtin_model() { return {"model.asl", std::string(embedded_model)}; }
Source builtin_library() { return {"library.asl", std::string(embedded_library), true}; }

Program compile_with_builtin(const std::vector<Source>& further) {
  std::vector<Source> sources{builtin_model(), builtin_library()};
  sources.insert(sources.end(), further.begin(), further.end());
  return compile(sources);
}

}  // namespace refrain::properties

#include "offline/python/event_types.hpp"

namespace refrain::python {
namespace {

std::string type_of_communication(const events::Record& record) {
  using events::Kind;
  const bool is_receive = record.kind == Kind::Receive;
  const std::string name = is_receive ? "recv" : trace::name_of(record.kind);
  switch (record.phase) {
    case events::Phase::Whole: return name;
    case events::Phase::Begun: return is_receive ? "recv_post" : record.kind == Kind::Send ? name : name + "_begin";
    case events::Phase::Completed: return record.kind == Kind::Send ? "send_complete" : name;
    case events::Phase::Cancelled: return name + "_cancel";
  }
  return name;
}

}  // namespace

std::string type_of(const trace::Event& event) {
  switch (event.type) {
    case trace::Type::Leave: return "exit";
    case trace::Type::Communication: return type_of_communication(event.record);
    default: return trace::name_of(event.type);
  }
}

}  // namespace refrain::python

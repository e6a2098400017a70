// A plug-in for `refrain analyze`: late senders as Refrain defines them, and what a plug-in can do beside that.
#include <stdexcept>

#include "offline/patterns/plugin.hpp"

namespace {

using namespace refrain::patterns;

class OwnLateSender final : public Pattern {
 public:
  OwnLateSender(const PluginRequest& request, std::int64_t least_ns)
      : Pattern({"own_late_sender", "late_sender", "Receivers wait for senders"}),
        request_(request),
        least_ns_(least_ns) {}
  void subscribe(Search& search) override {
    search.subscribe<Receiving>([this, &search](const Receiving& receiving) {
      if (receiving.waiting_ns > least_ns_) search.add(quantity(), receiving.call, receiving.waiting_ns);
    });
    search.subscribe<Primitive>([this](const Primitive& of) { events_ = of.position + 1; });
  }
  void wrap_up() override { said_ = std::to_string(events_) + " events"; }
  std::vector<std::string> results() const override { return {said_, request_.file}; }

 private:
  const PluginRequest& request_;
  std::int64_t least_ns_;
  std::uint64_t events_ = 0;
  std::string said_;
};

class Broken final : public Pattern {
 public:
  Broken() : Pattern({"broken", "mpi", "It throws"}) {}
  void subscribe(Search& search) override {
    search.subscribe<Call>([](const Call&) { throw std::runtime_error("this pattern is broken"); });
  }
};

void make(const PluginRequest& request, Patterns& patterns) {
  const auto least = request.settings.find("least_ns");
  patterns.push_back(
      std::make_unique<OwnLateSender>(request, least == request.settings.end() ? 0 : std::stoll(least->second)));
  if (request.settings.contains("broken")) patterns.push_back(std::make_unique<Broken>());
}

}  // namespace

REFRAIN_PLUGIN(make)

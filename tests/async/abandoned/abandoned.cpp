/// Ticks that the program leaves by a jump, at one instruction after the other: a single-step trap plays the signal
/// handler of the program that comes on top of a tick. Fault 42 of docs/faults.md.

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <ucontext.h>
#include <utility>
#include <vector>

#include "measurement/boundaries.hpp"
#include "measurement/entrance.hpp"
#include "measurement/event_log.hpp"
#include "measurement/follower.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"
#include "sampling/sampler.hpp"
#include "sampling/thread_sampler.hpp"
#include "sampling/tick.hpp"
#include "unwind/walker.hpp"

namespace refrain::sampling {
namespace {

using measurement::Inside;
using measurement::Loss;
using measurement::MetricId;
using measurement::Node;
using measurement::NodeId;
using measurement::NodeKind;

constexpr measurement::RegionId region{7};

/// What the trap does at the instruction `at`, counted from the first that is stepped: of a tick's handler, or of a
/// call.
enum class Then { Jump, Call, Tick };
struct Trap {
  Then then;
  volatile long at, count;
  volatile bool is_reached, was_inside, was_entering, was_measured;
  sigjmp_buf back;
} trap;

measurement::Location* location = nullptr;

[[gnu::noinline]] void call() {
  measured(
      region, [] { return 0; }, [](measurement::MpiCall&, int) {});
}

/// A call as the wrappers of Fortran functions make it.
[[gnu::noinline]] void fortran_call() {
  const platform::Registers caller = unwind::calling_registers();
  count_call(*location);
  run_call(
      begin_counted_call(*location, region, caller), [] {}, [] { return 0; }, [](measurement::MpiCall&, int) {});
}

std::int64_t counted_calls() { return location->unit.mpi_calls + location->outside.mpi_calls; }

constexpr greg_t trap_flag = 0x100;

void on_trap(int, siginfo_t* info, void* context) {
  trap.count = trap.count + 1;
  if (trap.count != trap.at) return;
  // The rest of the tick runs without traps: they are what takes time.
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
  trap.is_reached = true;
  trap.was_inside = location->inside == Inside::Tick;
  trap.was_entering = location->inside == Inside::Measurement;
  if (trap.then == Then::Jump) siglongjmp(trap.back, 1);
  if (trap.then == Then::Tick) return handle_tick(SIGUSR1, info, context);
  const std::int64_t before = counted_calls();
  call();
  trap.was_measured = counted_calls() == before + 1;
}

void on_tick(int signal, siginfo_t* info, void* context) { handle_tick(signal, info, context); }

/// With a trap after each instruction up to the one where something happens.
template <class F>
[[gnu::always_inline]] inline void stepped(F f) {
  asm volatile("pushfq; orq %0, (%%rsp); popfq" ::"i"(trap_flag) : "memory", "cc");
  f();
  asm volatile("pushfq; andq %0, (%%rsp); popfq" ::"i"(~trap_flag) : "memory", "cc");
}

void on_stepped_tick(int signal, siginfo_t* info, void* context) {
  stepped([&] { handle_tick(signal, info, context); });
}

/// A tick that is left by a jump in its bookkeeping.
void on_left_tick(int, siginfo_t*, void* context) {
  const measurement::Hold hold(*location, Inside::User, context);
  siglongjmp(trap.back, 1);
}

/// Leaves the call by a jump.
[[gnu::noinline]] void call_and_jump() {
  measured(
      region,
      []() -> int {
        siglongjmp(trap.back, 1);
        return 0;
      },
      [](measurement::MpiCall&, int) {});
}

volatile int keep_frame;
[[gnu::noinline]] void call_from(int frames) {
  if (frames == 0) call();
  else call_from(frames - 1);
  keep_frame = frames;
}
[[gnu::noinline]] void dive(int frames, int signal) {
  if (frames == 0) raise(signal);
  else dive(frames - 1, signal);
  keep_frame = frames;
}

class AbandonedTick : public testing::Test {
 public:
  static void SetUpTestSuite() {
    ASSERT_TRUE(unwind::start_rule_cache());
    platform::refresh_modules();
    measurement::start_events({.selection = config::parse_trace("sampled"), .memory = std::size_t{1} << 20});
    ASSERT_EQ(start_sampler({10'000, platform::TimerClock::ThreadCpu, false, 0}), SamplerStart::Ok);
    install(SIGUSR1, on_tick);
    install(SIGUSR2, on_stepped_tick);
    install(SIGALRM, on_left_tick);
    install(SIGTRAP, on_trap);
  }
  static void install(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, nullptr);
  }
  void SetUp() override {
    location = measurement::make_detached_location({std::size_t{8} << 20, 256, unwind::Backend::Incremental});
    ASSERT_NE(location, nullptr);
    begin_events(*location);
    ASSERT_NE(location->events, nullptr);
    ASSERT_TRUE(measurement::enter_location(*location));
    ASSERT_TRUE(make_sampler(*location));
    location->sampler->active = location->sampler->takes_any_signal = true;
  }
  void TearDown() override {
    measurement::set_own_location(nullptr);
    free_sampler(*location);
    measurement::free_detached_location(location);
  }

  static void set_trap(long at, Then then) {
    trap.then = then;
    trap.at = at;
    trap.count = 0;
    trap.is_reached = false;
    trap.was_inside = false;
    trap.was_entering = false;
    trap.was_measured = false;
  }
  /// False: the tick was over before the instruction `at`.
  bool step_to(long at, Then then, int frames) {
    set_trap(at, then);
    if (sigsetjmp(trap.back, 1) == 0) dive(frames, SIGUSR2);
    return trap.is_reached;
  }

  /// Nothing is half made.
  void expect_to_be_whole() {
    EXPECT_EQ(location->inside, Inside::User);
    std::vector<std::pair<const std::int64_t*, const std::int64_t*>> rows;
    for (std::uint32_t id = 1; id < location->tree.size(); ++id) {
      const Node& node = location->tree.node(NodeId{id});
      ASSERT_LT(node.parent, id);
      if (const std::int64_t* values = location->tree.values_of(node))
        rows.emplace_back(values, values + 2 * measurement::CallTree::width(node.kind));
    }
    std::sort(rows.begin(), rows.end());
    for (std::size_t i = 1; i < rows.size(); ++i) ASSERT_LE(rows[i - 1].second, rows[i].first) << "rows share columns";
    std::vector<std::uint32_t> touched(location->tree.touched().begin(), location->tree.touched().end());
    std::sort(touched.begin(), touched.end());
    EXPECT_EQ(std::adjacent_find(touched.begin(), touched.end()), touched.end()) << "a row would be counted twice";
    expect_events_to_be_whole();
  }
  static void expect_events_to_be_whole() {
    const measurement::EventLog& log = *location->events;
    const events::Buffer::Position begin = log.spans.begin(), end = log.records.end();
    const std::span<const std::byte> all = log.records.until(end).records;
    events::Context context = begin.context;
    std::uint32_t count = begin.count;
    for (std::size_t at = begin.size; at < end.size; ++count) {
      events::Record record;
      const std::size_t size = events::decode(all.subspan(at), context, record);
      ASSERT_GT(size, 0U);
      if (record.kind == events::Kind::Sample) {
        ASSERT_LT(record.node, location->tree.size());
      }
      at += size;
    }
    EXPECT_EQ(count, end.count);
    EXPECT_EQ(context, end.context);
  }

  static std::int64_t sum_of(NodeKind kind, MetricId metric) {
    std::int64_t sum = 0;
    for (std::uint32_t id = 0; id < location->tree.size(); ++id) {
      const Node& node = location->tree.node(NodeId{id});
      const std::int64_t* values = location->tree.values_of(node);
      if (values && node.kind == kind) sum += values[column_of(metric)];
    }
    return sum;
  }
  static std::int64_t losses(Loss loss) { return location->losses[static_cast<std::size_t>(loss)]; }
};

/// The instructions that a test stops at: all, or some of them at random distances.
class Instructions {
 public:
  explicit Instructions(unsigned longest = 500) : longest_(longest) {}
  long next() {
    static const bool all = std::getenv("REFRAIN_TEST_ALL_INSTRUCTIONS") != nullptr;
    return at_ += all || at_ == 0 ? 1 : 1 + static_cast<long>(random_() % longest_);
  }

 private:
  unsigned longest_;
  std::mt19937_64 random_{std::random_device{}()};
  long at_ = 0;
};

TEST_F(AbandonedTick, leaves_nothing_half_made_and_holds_nothing) {
  std::int64_t ticks = 0, calls = 0, jumps = 0, inside = 0;
  Instructions instructions;
  for (long at = instructions.next();; at = instructions.next()) {
    location->walker.forget();  // all of the path is looked for
    if (!step_to(at, Then::Jump, static_cast<int>(jumps % 8))) break;
    ++jumps;
    inside += trap.was_inside;
    // Found out by the next tick, or by the next call.
    if (jumps % 2) dive(static_cast<int>(jumps % 7), SIGUSR1), ++ticks;
    call();
    ++calls;
    ASSERT_NO_FATAL_FAILURE(expect_to_be_whole()) << "instruction " << at;
    ASSERT_EQ(sum_of(NodeKind::Region, MetricId::Visits), calls) << "instruction " << at;
    const std::int64_t samples = sum_of(NodeKind::Function, MetricId::Samples);
    ASSERT_GE(samples, ticks);
    ASSERT_LE(samples, ticks + jumps + 1);
  }
  EXPECT_GT(jumps, 4) << "a tick has thousands of instructions";
  EXPECT_GT(inside, 0) << "some came in the bookkeeping";
  EXPECT_EQ(losses(Loss::TickAbandoned), inside);
  EXPECT_EQ(losses(Loss::CallInHandler), 0);
}

TEST_F(AbandonedTick, does_not_measure_a_call_in_the_midst_of_a_tick_and_goes_on) {
  std::int64_t ticks = 0, measured = 0, inside = 0;
  Instructions instructions;
  for (long at = instructions.next();; at = instructions.next()) {
    location->walker.forget();
    const bool reached = step_to(at, Then::Call, static_cast<int>(ticks % 8));
    ++ticks;
    if (!reached) break;
    inside += trap.was_inside;
    measured += trap.was_measured;
    ASSERT_NE(trap.was_inside, trap.was_measured) << "instruction " << at;
    ASSERT_NO_FATAL_FAILURE(expect_to_be_whole()) << "instruction " << at;
    ASSERT_EQ(sum_of(NodeKind::Function, MetricId::Samples), ticks) << "instruction " << at;
    ASSERT_EQ(sum_of(NodeKind::Region, MetricId::Visits), measured);
  }
  EXPECT_GT(inside, 0);
  EXPECT_GT(measured, 0);
  EXPECT_EQ(losses(Loss::CallInHandler), inside);
  EXPECT_EQ(losses(Loss::TickAbandoned), 0);
}

/// By this instruction a call has passed the entrance, where ticks can change what it finds. The walk that follows has
/// thousands more.
constexpr long furthest_in_call = 2000;

/// What a call finds abandoned, a tick may find at any of its instructions, too: one of them ends it.
TEST_F(AbandonedTick, is_ended_once_when_a_tick_comes_in_the_call_that_finds_it) {
  std::int64_t calls = 0;
  Instructions instructions(50);
  for (long at = instructions.next(); at < furthest_in_call; at = instructions.next()) {
    if (sigsetjmp(trap.back, 1) == 0) dive(1, SIGALRM);
    ASSERT_EQ(location->inside, Inside::Tick);
    set_trap(at, Then::Tick);
    stepped(call);
    ++calls;
    ASSERT_NO_FATAL_FAILURE(expect_to_be_whole()) << "instruction " << at;
    ASSERT_EQ(sum_of(NodeKind::Region, MetricId::Visits), calls) << "instruction " << at;
    if (!trap.is_reached) break;
  }
  EXPECT_GT(calls, 4) << "a call has hundreds of instructions";
  EXPECT_EQ(losses(Loss::CallAbandoned), 0);
}

TEST_F(AbandonedTick, comes_in_the_call_that_finds_an_abandoned_one_and_ends_that_once) {
  std::int64_t calls = 0, abandoned = 0;
  Instructions instructions(50);
  for (long at = instructions.next(); at < furthest_in_call; at = instructions.next()) {
    if (sigsetjmp(trap.back, 1) == 0) call_and_jump();
    ++abandoned;
    set_trap(at, Then::Tick);
    stepped(call);
    ++calls;
    ASSERT_NO_FATAL_FAILURE(expect_to_be_whole()) << "instruction " << at;
    ASSERT_EQ(sum_of(NodeKind::Region, MetricId::Visits), calls + abandoned) << "instruction " << at;
    if (!trap.is_reached) break;
  }
  EXPECT_GT(calls, 4);
  EXPECT_EQ(losses(Loss::CallAbandoned), abandoned);
}

/// An entry is alive for a handler from its first instruction on, wherever the call before it was made.
TEST_F(AbandonedTick, is_not_what_a_handler_finds_in_the_entry_of_a_call) {
  auto* const follower = platform::make_on_pages<measurement::Follower>();
  ASSERT_NE(follower, nullptr);
  begin_following(*location, *follower);  // then an entry has hundreds of instructions
  follower->alive = true;
  std::int64_t calls = 0, entering = 0;
  Instructions instructions(50);
  for (long at = instructions.next(); at < furthest_in_call; at = instructions.next()) {
    call_from(20);
    measurement::end_span(platform::now(), measurement::outside_of_iterations);
    set_trap(at, Then::Call);
    stepped(fortran_call);
    calls += 2 + trap.was_measured;
    entering += trap.was_entering;
    ASSERT_FALSE(trap.was_entering && trap.was_measured) << "instruction " << at;
    ASSERT_EQ(location->inside, Inside::User) << "instruction " << at;
    ASSERT_EQ(counted_calls(), calls) << "instruction " << at;
    if (!trap.is_reached) break;
  }
  EXPECT_GT(entering, 4);
}

}  // namespace
}  // namespace refrain::sampling

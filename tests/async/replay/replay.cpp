/// The tick handler in ordinary context, where valgrind and sanitizers can look at every access: contexts that a signal
/// has recorded, and contexts that are made up. Fault 38 of docs/faults.md.

#include <array>
#include <cstdlib>
#include <cstring>
#include <errno.h>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "measurement/locations.hpp"
#include "platform/modules.hpp"
#include "platform/signal_context.hpp"
#include "sampling/sampler.hpp"
#include "sampling/thread_sampler.hpp"
#include "sampling/tick.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/walker.hpp"

namespace refrain::sampling {
namespace {

using measurement::Inside;
using measurement::Loss;
using measurement::MetricId;
using measurement::NodeKind;

int times(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

class Replay : public testing::Test {
 public:
  void SetUp() override {
    ASSERT_TRUE(unwind::start_rule_cache());
    platform::refresh_modules();
    ASSERT_EQ(start_sampler({10'000, platform::TimerClock::ThreadCpu, 0}), SamplerStart::Ok);
    location = measurement::make_detached_location({std::size_t{64} << 20, 256, unwind::Backend::Incremental});
    ASSERT_NE(location, nullptr);
    ASSERT_TRUE(measurement::enter_location(*location));
    ASSERT_TRUE(make_sampler(*location));
    location->sampler->active = location->sampler->takes_any_signal = true;  // ticks come from here alone
  }
  void TearDown() override {
    stop_sampler();
    measurement::set_own_location(nullptr);
    free_sampler(*location);
    measurement::free_detached_location(location);
  }

  /// One tick that shall be a sample, as if a signal had interrupted the program with this context.
  void tick(void* context) {
    siginfo_t info{};  // of no timer and no event, as those of the calibration
    errno = 1234;
    handle_tick(0, &info, context);
    EXPECT_EQ(errno, 1234);
  }

  std::int64_t samples() const {
    std::int64_t sum = 0;
    for (std::uint32_t id = 0; id < location->tree.size(); ++id) {
      const measurement::Node& node = location->tree.node(measurement::NodeId{id});
      const std::int64_t* values = location->tree.values_of(node);
      if (values && node.kind == NodeKind::Function) sum += values[column_of(MetricId::Samples)];
    }
    return sum;
  }
  /// Nodes of the longest path.
  std::uint32_t depth() const {
    std::uint32_t deepest = 0;
    for (std::uint32_t id = 0; id < location->tree.size(); ++id) {
      std::uint32_t steps = 0;
      for (std::uint32_t at = id; at != 0; at = location->tree.node(measurement::NodeId{at}).parent) ++steps;
      deepest = std::max(deepest, steps);
    }
    return deepest;
  }
  std::int64_t losses() const {
    std::int64_t sum = 0;
    for (const std::int64_t loss : location->losses) sum += loss;
    return sum;
  }

  measurement::Location* location = nullptr;
};

// ---- Recorded contexts ----

void (*on_signal)(void* context) = nullptr;
volatile int keep_frame;

void record(int, siginfo_t*, void* context) { on_signal(context); }

/// Frames of different kinds, one below the other.
[[gnu::noinline]] void dive(int frames) {
  if (frames == 0) {
    raise(SIGUSR1);
  } else if (frames % 2) {
    char block[200];
    std::memset(block, frames, sizeof block);
    keep_frame = block[static_cast<std::size_t>(frames)];
    dive(frames - 1);
  } else {
    auto* varying = static_cast<char*>(__builtin_alloca(static_cast<std::size_t>(frames) * 16));
    std::memset(varying, frames, static_cast<std::size_t>(frames) * 16);
    keep_frame = varying[0];
    dive(frames - 1);
  }
  keep_frame = frames;
}

struct Recorded : Replay {
  void SetUp() override {
    Replay::SetUp();
    self = this;
    struct sigaction action {};
    action.sa_sigaction = record;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, nullptr);
  }
  void TearDown() override {
    signal(SIGUSR1, SIG_DFL);
    Replay::TearDown();
  }
  static inline Recorded* self;
};

TEST_F(Recorded, contexts_are_samples_at_their_call_paths) {
  on_signal = [](void* context) { self->tick(context); };
  int ticks = 0;
  for (int round = 0; round < times("REFRAIN_TEST_REPLAYS", 200); ++round)
    for (const int frames : {0, 1, 7, 40, 41, 3}) {
      dive(frames);
      ++ticks;
    }
  EXPECT_EQ(samples(), ticks);
  EXPECT_GT(depth(), 42U);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::TruncatedBadStack)], 0);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::TruncatedNoTables)], 0);
}

TEST_F(Recorded, contexts_within_a_call_or_the_measurement_are_only_counted) {
  on_signal = [](void* context) {
    // A call that is alive: one of the functions further out has made it.
    const auto walk = self->location->walker.walk_fully({platform::interrupted_registers(context), true, context});
    ASSERT_GT(walk.depth, 3U);
    self->location->call.sp = walk.frames[walk.depth - 3].sp;
    self->location->call.pc = walk.frames[walk.depth - 3].pc;
    for (const Inside inside : {Inside::Call, Inside::Measurement, Inside::Closed}) {
      self->location->inside = inside;
      self->tick(context);
      EXPECT_EQ(self->location->inside, inside);
    }
    self->location->inside = Inside::User;
  };
  dive(5);
  EXPECT_EQ(samples(), 0);
  EXPECT_EQ(location->unit.ticks_mpi, 1);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::InsideMeasurement)], 1);
}

TEST_F(Recorded, a_signal_that_is_no_tick_is_no_sample) {
  location->sampler->takes_any_signal = false;
  on_signal = [](void* context) {
    for (const int code : {SI_USER, SI_TKILL, SI_QUEUE, SI_KERNEL, SI_TIMER}) {
      siginfo_t info{};
      info.si_signo = SIGURG;
      info.si_code = code;
      handle_tick(SIGURG, &info, context);
    }
  };
  dive(5);
  EXPECT_EQ(samples(), 0);
  EXPECT_EQ(location->unit.ticks_lost, 0);
}

TEST_F(Recorded, a_tick_that_is_no_sample_changes_nothing_while_another_thread_reads) {
  on_signal = [](void* context) {
    siginfo_t info{};
    info.si_code = SI_TIMER;
    for (const measurement::Gate gate : {measurement::Gate::Paused, measurement::Gate::Open}) {
      self->location->gate = gate;
      self->location->sampler->tick_was_lost = true;
      handle_tick(0, &info, context);
      EXPECT_EQ(self->location->inside, Inside::User);
      if (gate == measurement::Gate::Paused) EXPECT_EQ(self->location->unit.ticks_lost, 0);
      else EXPECT_GE(self->location->unit.ticks_lost, 1);
    }
  };
  dive(5);
}

TEST_F(Recorded, contexts_find_a_full_call_tree) {
  bool full = false;
  for (std::uint64_t key = 1; !full; ++key)
    location->tree.child(measurement::root_node, NodeKind::Function, key << 4, full);
  on_signal = [](void* context) { self->tick(context); };
  dive(30);
  EXPECT_GT(location->losses[static_cast<std::size_t>(Loss::ArenaFull)], 0);
}

// ---- Made-up contexts ----

/// A stack of random words, some of which lead to code and some to the stack itself. Nothing around it can be read.
TEST_F(Replay, contexts_that_are_nonsense_neither_crash_nor_read_elsewhere) {
  constexpr std::size_t page = 4096, size = 4 * page, words = size / sizeof(std::uintptr_t);
  auto* around = static_cast<char*>(mmap(nullptr, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(around, MAP_FAILED);
  ASSERT_EQ(mprotect(around + page, size, PROT_READ | PROT_WRITE), 0);
  auto* stack = reinterpret_cast<std::uintptr_t*>(around + page);
  const auto low = reinterpret_cast<std::uintptr_t>(stack);
  location->walker.reset({low, low + words * sizeof(std::uintptr_t)});
  const std::array<std::uintptr_t, 5> code{
      reinterpret_cast<std::uintptr_t>(&dive), reinterpret_cast<std::uintptr_t>(&handle_tick),
      reinterpret_cast<std::uintptr_t>(&std::qsort), reinterpret_cast<std::uintptr_t>(&raise),
      reinterpret_cast<std::uintptr_t>(&measurement::make_detached_location)};
  const int seeds = times("REFRAIN_TEST_SEEDS", 20'000);
  for (int seed = 0; seed < seeds; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    auto word = [&]() -> std::uintptr_t {
      switch (random() % 4) {
        case 0: return code[random() % code.size()] + random() % 256;
        case 1: return low + random() % (words * sizeof(std::uintptr_t));
        case 2: return low + random() % words * sizeof(std::uintptr_t);
        default: return random();
      }
    };
    for (std::size_t i = 0; i < 256; ++i) stack[random() % words] = word();
    ucontext_t context{};
    for (auto& value : context.uc_mcontext.gregs) value = static_cast<greg_t>(word());
    if (seed % 8) context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(low + random() % words * sizeof(void*));
    if (seed % 8)
      context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(code[random() % code.size()] + random() % 64);
    tick(&context);
    ASSERT_EQ(location->inside, Inside::User);
  }
  munmap(around, size + 2 * page);
  EXPECT_EQ(location->unit.ticks_user, seeds);
  EXPECT_GT(losses(), seeds / 2) << "truncated paths are counted";
}

}  // namespace
}  // namespace refrain::sampling

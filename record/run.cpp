#include "record/run.hpp"

#include <unistd.h>

#include "measurement/locations.hpp"
#include "platform/cores.hpp"
#include "platform/threads.hpp"

namespace refrain::record {

constinit Run run{};

namespace {

platform::CounterWatch counter_watch;
std::int64_t begin_epoch_ns;
platform::Cores cores_at_begin;
std::int64_t cpu_quota = 0;  ///< thousandths of a core; 0: none
/// What the kernel does not count is below 0.
struct CoresTaken {
  std::int64_t throttled_ns = -1, taken_ns = -1;
};
CoresTaken taken_at_begin, taken_so_far;

/// Of all measured threads that are there: a program may have bound each of them to cores of its own.
platform::Cores cores_now() {
  platform::Cores cores{};
  platform::add_cores_of(run.process, cores);
  for (const measurement::Location* l = measurement::first_location(); l; l = l->next)
    if (l->in_use.load(std::memory_order_relaxed)) platform::add_cores_of(l->os_thread_id, cores);
  return cores;
}

}  // namespace

void begin_run() {
  run.process = platform::process_id();
  platform::start_clock();
  run.first_anchor = platform::read_anchor();
  counter_watch = platform::CounterWatch(platform::read_uncorrected_anchor());
  begin_epoch_ns = platform::wall_clock_ns();
  platform::add_cores_of(0, cores_at_begin);
  cpu_quota = platform::cpu_quota_in_thousandths();
  read_cores_taken();
  taken_at_begin = taken_so_far;
}

void read_cores_taken() { taken_so_far = {platform::throttled_ns(), platform::taken_ns(cores_at_begin)}; }

archive::RankRecord record_of_process() {
  archive::RankRecord record{};
  record.rank = run.world.rank;
  record.ranks = run.world.size;
  record.process_id = platform::process_id();
  gethostname(record.host, sizeof record.host - 1);
  record.first_anchor = run.first_anchor;
  record.last_anchor = platform::read_anchor();
  record.begin_epoch_ns = begin_epoch_ns;
  record.cores_at_begin = cores_at_begin;
  record.cores_at_end = cores_now();
  record.cpu_quota_in_thousandths = cpu_quota;
  const auto since = [](std::int64_t begin, std::int64_t now) { return begin < 0 || now < begin ? -1 : now - begin; };
  record.throttled_ns = since(taken_at_begin.throttled_ns, taken_so_far.throttled_ns);
  record.taken_ns = since(taken_at_begin.taken_ns, taken_so_far.taken_ns);
  if (measurement::Location* l = measurement::own_location();
      l && !counter_watch.agrees(platform::read_uncorrected_anchor()))
    l->count_loss(measurement::Loss::CounterJumped);
  return record;
}

}  // namespace refrain::record

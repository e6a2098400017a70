#include "platform/resource_usage.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"

namespace refrain::platform {

void read_resource_usage(std::int64_t (&values)[resource_count]) {
  const ErrnoKeeper errno_keeper;
  rusage usage{};
  syscall(SYS_getrusage, RUSAGE_THREAD, &usage);
  const auto nanoseconds = [](const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
  };
  const auto put = [&](Resource resource, std::int64_t value) { values[static_cast<std::size_t>(resource)] = value; };
  put(Resource::UserTime, nanoseconds(usage.ru_utime));
  put(Resource::SystemTime, nanoseconds(usage.ru_stime));
  put(Resource::MinorFaults, usage.ru_minflt);
  put(Resource::MajorFaults, usage.ru_majflt);
  put(Resource::BlocksIn, usage.ru_inblock);
  put(Resource::BlocksOut, usage.ru_oublock);
  put(Resource::VoluntarySwitches, usage.ru_nvcsw);
  put(Resource::InvoluntarySwitches, usage.ru_nivcsw);
  put(Resource::HighWaterMark, std::int64_t{usage.ru_maxrss} * 1024);
}

}  // namespace refrain::platform

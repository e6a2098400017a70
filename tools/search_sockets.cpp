#include "tools/search_sockets.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace refrain::tools {
namespace {

using Clock = std::chrono::steady_clock;
using patterns::ProcessError;

/// The first message of a process that connects.
struct Greeting {
  std::uint64_t token;
  std::uint32_t process;
};

[[noreturn]] void fail(const char* what) {
  throw ProcessError(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::string own_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// Sets the socket options. A machine that silently disappears is noticed within two minutes.
void prepare(int socket) {
  const int on = 1, idle_s = 30, between_s = 15, probes = 6;
  const unsigned unanswered_ms = 120'000;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

/// A message in either direction: its size, then its bytes.
struct Transfer {
  std::uint64_t size = 0;
  std::size_t size_done = 0, done = 0;
  std::string bytes;
  bool has_size() const { return size_done == sizeof size; }
  bool is_done() const { return has_size() && done == size; }
};

}  // namespace

SearchSockets::SearchSockets(exports::ProcessGroup& group, std::chrono::milliseconds patience)
    : process_(group.rank()), sockets_(static_cast<std::size_t>(group.size()), -1) {
  // One descriptor for each other process, and a few for each file of events.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  if (listener.get() < 0 || bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener.get(), group.size()) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("no connection between processes");
  const std::vector<std::string> all = group.gather(fmt::format("{} {}", own_host(), ntohs(address.sin_port)));
  std::random_device device;
  std::string book = fmt::format("{}\n", std::uint64_t{device()} << 32 | device());
  for (const std::string& of : all) book += of + '\n';
  std::istringstream words(group.broadcast(book));
  std::uint64_t token = 0;
  words >> token;
  const auto until = Clock::now() + patience;
  for (int process = 0; process < process_; ++process) {
    std::string host, port;
    words >> host >> port;
    connect_to(process, host, port, token);
  }
  while (std::ranges::count(sockets_, -1) > 1) accept_one(listener.get(), token, until);
}

SearchSockets::~SearchSockets() {
  for (const int of : sockets_)
    if (of >= 0) close(of);
}

void SearchSockets::connect_to(int process, const std::string& host, const std::string& port, std::uint64_t token) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string name = host == own_host() ? "127.0.0.1" : host;
  if (getaddrinfo(name.c_str(), port.c_str(), &hints, &found) != 0)
    throw ProcessError(fmt::format("process {} is on {}, which has no address here", process, host));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  for (const addrinfo* of = found; of; of = of->ai_next) {
    Descriptor made(socket(of->ai_family, of->ai_socktype | SOCK_CLOEXEC, of->ai_protocol));
    if (made.get() < 0 || connect(made.get(), of->ai_addr, of->ai_addrlen) != 0) continue;
    const Greeting greeting{token, static_cast<std::uint32_t>(process_)};
    if (send(made.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) continue;
    prepare(made.get());
    sockets_[static_cast<std::size_t>(process)] = made.release();
    return;
  }
  fail(fmt::format("process {} on {} cannot be connected", process, host).c_str());
}

/// Rejects connections from outside the group.
void SearchSockets::accept_one(int listener, std::uint64_t token, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd ready{listener, POLLIN, 0};
  if (left <= 0 || poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, INT32_MAX))) <= 0) {
    const auto missing = std::ranges::find(sockets_.begin() + process_ + 1, sockets_.end(), -1) - sockets_.begin();
    throw ProcessError(fmt::format("process {} of {} has not connected", missing, sockets_.size()));
  }
  Descriptor made(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (made.get() < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED)) return;
  if (made.get() < 0) fail("no connection between processes");
  const timeval patience{10, 0};
  setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Greeting greeting{};
  const bool is_whole = recv(made.get(), &greeting, sizeof greeting, MSG_WAITALL) == sizeof greeting;
  if (!is_whole || greeting.token != token || greeting.process >= sockets_.size() || sockets_[greeting.process] >= 0 ||
      static_cast<int>(greeting.process) <= process_)
    return;
  prepare(made.get());
  sockets_[greeting.process] = made.release();
}

void SearchSockets::lost(std::size_t process) const {
  throw ProcessError(
      fmt::format("process {} of {} has ended, or its machine cannot be reached", process, sockets_.size()));
}

std::vector<std::string> SearchSockets::all_to_all(std::vector<std::string> outgoing) {
  const std::size_t count = sockets_.size(), own = static_cast<std::size_t>(process_);
  std::vector<Transfer> out(count), in(count);
  std::vector<std::string> incoming(count);
  incoming[own] = std::move(outgoing[own]);
  for (std::size_t of = 0; of < count; ++of) {
    out[of].bytes = std::move(outgoing[of]);
    out[of].size = out[of].bytes.size();
  }
  const auto is_blocked = [] { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; };
  const auto send_to = [&](std::size_t of) {
    Transfer& t = out[of];
    while (!t.is_done()) {
      const bool is_size = !t.has_size();
      const char* from = is_size ? reinterpret_cast<const char*>(&t.size) + t.size_done : t.bytes.data() + t.done;
      const std::size_t left = is_size ? sizeof t.size - t.size_done : t.size - t.done;
      const ssize_t sent = send(sockets_[of], from, left, MSG_NOSIGNAL);
      if (sent < 0 && is_blocked()) return;
      if (sent <= 0) lost(of);
      (is_size ? t.size_done : t.done) += static_cast<std::size_t>(sent);
    }
  };
  const auto receive_from = [&](std::size_t of) {
    Transfer& t = in[of];
    while (!t.is_done()) {
      const bool is_size = !t.has_size();
      // The buffer grows with the data received, not to the announced size.
      constexpr std::size_t piece = std::size_t{1} << 20;
      if (!is_size) t.bytes.resize(std::max(t.bytes.size(), std::min<std::size_t>(t.size, t.done + piece)));
      char* to = is_size ? reinterpret_cast<char*>(&t.size) + t.size_done : t.bytes.data() + t.done;
      const std::size_t left = is_size ? sizeof t.size - t.size_done : t.bytes.size() - t.done;
      const ssize_t received = recv(sockets_[of], to, left, 0);
      if (received < 0 && is_blocked()) return;
      if (received <= 0) lost(of);
      (is_size ? t.size_done : t.done) += static_cast<std::size_t>(received);
    }
  };
  for (;;) {
    std::vector<pollfd> waiting;
    for (std::size_t of = 0; of < count; ++of) {
      if (of == own) continue;
      send_to(of);
      receive_from(of);
      const int events = (out[of].is_done() ? 0 : POLLOUT) | (in[of].is_done() ? 0 : POLLIN);
      if (events == 0) continue;
      waiting.push_back({sockets_[of], static_cast<short>(events), 0});
    }
    if (waiting.empty()) break;
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) fail("processes cannot be heard");
  }
  for (std::size_t of = 0; of < count; ++of)
    if (of != own) incoming[of] = std::move(in[of].bytes);
  return incoming;
}

}  // namespace refrain::tools

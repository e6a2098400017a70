// Generates sequences with the shapes of Table I of the paper. Each models how a program varies, and for what reasons,
// independently of what a clustering can find:
// - An exact path has a fixed number of visits, or one that scales with the solver's steps or the load of the hot spot.
// - Its time is visits x cost, with log-normal noise of its own, a share of the waiting that load imbalance causes at
//   the synchronising calls, and rare long outliers of its own (interference).
// - User paths scale with the work of the iteration, the solver's steps or the hot spot, each with a little noise of
//   its own. Only samples show them, at 100 Hz of CPU time with a jittered period.
// - User code alone may vary while MPI stays the same: a cloud appears after a quarter of the run and disappears again,
//   and some functions are called only by odd or only by even iterations.
// - The optional parts that an iteration runs (output, rebalancing, diagnostics) determine its class.
#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

using namespace clustering;

namespace {

enum Overall : std::uint8_t {
  Wall,
  Mpi,
  Own,
  Cpu,
  Calls,
  MessagesSent,
  BytesSent,
  MessagesReceived,
  BytesReceived,
  TicksUser,
  TicksMpi,
  TicksLost,
  WeightUser,
  WeightMpi,
  WeightUserSquared,
  OverallCount
};

struct Model {
  const char* name;
  unsigned iterations, paths, mpi_paths, classes;
  double seconds;  ///< per iteration
  double mpi_share;
  double noise;          ///< sigma of a path's own log-normal noise on MPI time
  double common;         ///< sigma of the imbalance that all synchronising calls share
  double outliers;       ///< probability of one long outlier in an iteration
  double steps_jitter;   ///< relative change of the solver's steps from iteration to iteration
  double drift;          ///< relative growth of the work over the run
  unsigned peak_period;  ///< iterations from one peak to the next; 0: no peaks
  double bursts;         ///< probability that a burst of 5 to 30 heavy iterations begins
  unsigned phases;       ///< parts of the run with different work and a different mix of user paths
  double hot_spot;       ///< growth of the hot spot that passes this process repeatedly
  enum class Own : std::uint8_t { None, Cloud, OddEven } own = Own::None;  ///< variation of user code alone
};

constexpr Model models[] = {
    //   name       iter  paths  mpi cls  seconds share noise common outl  steps drift peak bursts phases hot
    {"pop2", 440, 543, 228, 10, 1.048, 0.30, 0.25, 0.15, 0.02, 0.10, 0.05, 24, 0.00, 1, 0},
    {"RAxML", 21268, 316, 63, 18, 0.047, 0.15, 0.40, 0.30, 0.01, 0.30, 0.00, 0, 0.01, 4, 0},
    {"GAPgeofem", 2501, 55, 17, 11, 0.230, 0.25, 0.20, 0.20, 0.02, 0.05, 0.30, 0, 0.00, 1, 0},
    {"lu", 180, 67, 29, 3, 1.494, 0.20, 0.15, 0.20, 0.02, 0.00, 0.00, 0, 0.00, 1, 0},
    {"dleslie", 15054, 38, 12, 4, 0.017, 0.20, 0.30, 0.25, 0.02, 0.00, 0.00, 0, 0.00, 1, 0},
    {"wrf2", 720, 1730, 110, 6, 0.949, 0.25, 0.25, 0.15, 0.02, 0.00, 0.03, 10, 0.00, 1, 0},
    {"DROPS", 50, 18675, 475, 29, 9.940, 0.35, 0.30, 0.20, 0.05, 0.30, 0.50, 0, 0.05, 2, 0},
    {"PEPC", 1300, 66, 35, 4, 10.495, 0.25, 0.20, 0.15, 0.02, 0.00, 0.10, 0, 0.00, 1, 4},
    {"lammps", 300, 458, 78, 8, 1.913, 0.20, 0.20, 0.20, 0.02, 0.00, 0.02, 10, 0.00, 1, 0},
    {"tera_tf", 190, 89, 19, 3, 1.479, 0.30, 0.20, 0.20, 0.02, 0.00, 0.80, 0, 0.00, 1, 0},
    {"zeusmp2", 200, 183, 91, 2, 1.240, 0.20, 0.15, 0.15, 0.01, 0.00, 0.00, 0, 0.00, 1, 0},
    {"GemsFDTD", 1500, 317, 29, 2, 0.217, 0.25, 0.25, 0.20, 0.02, 0.00, 0.00, 0, 0.00, 1, 0},
    {"steady", 2000, 120, 40, 3, 0.200, 0.20, 0.05, 0.05, 0.005, 0.00, 0.00, 0, 0.00, 1, 0},
    {"drifting", 2000, 120, 40, 3, 0.200, 0.20, 0.15, 0.10, 0.01, 0.02, 1.50, 0, 0.00, 1, 0},
    {"peaks", 2000, 120, 40, 3, 0.200, 0.20, 0.15, 0.10, 0.01, 0.00, 0.00, 17, 0.00, 1, 0},
    {"bursts", 2000, 120, 40, 3, 0.200, 0.20, 0.15, 0.10, 0.01, 0.05, 0.00, 0, 0.01, 1, 0},
    {"noise", 2000, 120, 40, 3, 0.200, 0.20, 0.60, 0.50, 0.05, 0.00, 0.00, 0, 0.00, 1, 0},
    {"phases", 2000, 120, 40, 3, 0.200, 0.20, 0.15, 0.10, 0.01, 0.10, 0.00, 0, 0.00, 6, 0},
    {"cloud", 2000, 48, 40, 3, 0.020, 0.20, 0.15, 0.10, 0.01, 0.00, 0.00, 0, 0.00, 1, 0, Model::Own::Cloud},
    {"odd-even", 2000, 48, 40, 3, 0.020, 0.20, 0.15, 0.10, 0.01, 0.00, 0.00, 0, 0.00, 1, 0, Model::Own::OddEven},
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  double uniform(double a, double b) { return a + (b - a) * uniform(); }
  double normal() {  // by Box and Muller: the same on all platforms, unlike std::normal_distribution
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }
  double exponential() { return -std::log(1 - uniform()); }
  unsigned below(unsigned n) { return static_cast<unsigned>(uniform() * n); }

 private:
  std::mt19937_64 bits_;
};

enum class ScalesWith : std::uint8_t { Nothing, Steps, HotSpot };

struct ExactPath {
  unsigned group;  ///< the optional part that it belongs to; 0: it always runs
  ScalesWith visits;
  unsigned count;         ///< visits, or visits per step
  double cost;            ///< seconds per visit, before scaling
  double noise, waiting;  ///< sigma of its own noise; share of the common waiting
  unsigned direction;     ///< 0 none, 1 sends, 2 receives, 3 both
  double bytes;           ///< per message
  bool bytes_scale_with_load;
};

struct UserPath {
  unsigned group;
  ScalesWith time;
  double share;
  double noise;
  unsigned phase;  ///< runs three times as long in this phase
};

struct Optional {
  unsigned period;  ///< 0: at random
  double probability;
};

}  // namespace

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const Model& m : models) names.emplace_back(m.name);
  return names;
}

Sequence generate(const std::string& name) {
  const auto* found = std::ranges::find_if(models, [&](const Model& m) { return name == m.name; });
  if (found == std::end(models)) throw std::invalid_argument("no generator " + name);
  const Model& model = *found;
  Random random(0x5eed + static_cast<std::uint64_t>(found - models));

  Sequence out;
  out.name = name;
  out.user_time_of = {Wall, Mpi, Own};
  out.overall.assign(OverallCount, Precision::NotKept);
  out.in_distance.assign(OverallCount, false);
  for (const Overall m : {Wall, Mpi, Calls, MessagesSent, BytesSent, MessagesReceived, BytesReceived}) {
    out.overall[m] = Precision::Exact;
    out.in_distance[m] = true;
  }
  out.overall[Own] = out.overall[Cpu] = Precision::Rounded;
  out.in_distance[Cpu] = true;
  out.shapes = {{true,
                 0,
                 {{Calls, true},
                  {Mpi, true},
                  {MessagesSent, false},
                  {BytesSent, true, MessagesSent},
                  {MessagesReceived, false},
                  {BytesReceived, true, MessagesReceived}}},
                {false, 0, {{TicksUser, false}, {WeightUser, true}}}};

  // Enough optional parts that their combinations give the number of classes.
  unsigned groups = 0;
  while ((1U << groups) < model.classes) ++groups;
  std::vector<Optional> optional(groups + 1);
  for (unsigned g = 1; g <= groups; ++g)
    optional[g] = random.uniform() < 0.6 ? Optional{5 + random.below(std::max(6U, model.iterations / 20)), 0}
                                         : Optional{0, random.uniform(0.02, 0.3)};

  std::vector<ExactPath> exact(model.mpi_paths);
  for (std::size_t p = 0; p < exact.size(); ++p) {
    ExactPath& e = exact[p];
    e.group = p > 4 && groups && random.uniform() < 0.25 ? 1 + random.below(groups) : 0;
    const double kind = random.uniform();
    e.visits = model.hot_spot > 0 && kind < 0.5       ? ScalesWith::HotSpot
               : model.steps_jitter > 0 && kind < 0.5 ? ScalesWith::Steps
                                                      : ScalesWith::Nothing;
    e.count = 1 + static_cast<unsigned>(random.exponential() * (e.visits == ScalesWith::Steps ? 2 : 6));
    e.cost = std::exp(random.normal() * 1.2);
    e.noise = model.noise * random.uniform(0.3, 1.7);
    const bool collective = random.uniform() < 0.35;
    e.waiting = collective ? random.uniform(0.5, 2) : random.uniform() < 0.4 ? random.uniform(0, 1) : 0;
    e.direction = collective ? 0 : 1 + random.below(3);
    e.bytes = std::floor(64 * std::exp(random.uniform(0, 8)));
    e.bytes_scale_with_load = random.uniform() < 0.3;
  }
  std::vector<UserPath> user(model.paths - model.mpi_paths);
  double shares = 0;
  for (UserPath& u : user) {
    u.group = groups && random.uniform() < 0.15 ? 1 + random.below(groups) : 0;
    const double kind = random.uniform();
    u.time = model.hot_spot > 0 && kind < 0.4       ? ScalesWith::HotSpot
             : model.steps_jitter > 0 && kind < 0.4 ? ScalesWith::Steps
                                                    : ScalesWith::Nothing;
    u.share = std::exp(random.normal() * 1.8);  // few hot paths, many cold ones
    shares += u.share;
    u.noise = random.uniform(0.005, 0.05);
    u.phase = random.below(std::max(1U, model.phases));
  }
  for (UserPath& u : user) u.share /= shares;

  const double steps_mean = 40;
  double calibration = 0;  // seconds of MPI per unit of cost
  for (const ExactPath& e : exact)
    calibration += e.group ? 0 : e.cost * e.count * (e.visits == ScalesWith::Steps ? steps_mean : 1) * (1 + e.waiting);
  calibration = model.seconds * model.mpi_share / calibration;

  double steps = steps_mean, wobble = 0, until_tick = 0.01 * random.uniform(0.5, 1.5), tick = until_tick;
  int burst_left = 0;
  double burst_height = 1, hot_centre = 0;
  std::vector<std::vector<bool>> classes_seen;
  for (unsigned i = 0; i < model.iterations; ++i) {
    const double t = static_cast<double>(i) / model.iterations;
    // The properties of this iteration.
    const unsigned phase = static_cast<unsigned>(t * model.phases);
    wobble = 0.9 * wobble + 0.01 * random.normal();
    double load = 1 + wobble + model.drift * t;
    if (model.phases > 1) load *= 0.7 + 0.3 * static_cast<double>((phase * 7 + 3) % 5);
    if (model.peak_period && i % model.peak_period == model.peak_period - 1) load *= 1.6 + 0.05 * random.normal();
    if (burst_left == 0 && random.uniform() < model.bursts) {
      burst_left = 5 + static_cast<int>(random.below(26));
      burst_height = random.uniform(1.5, 4);
    }
    if (burst_left) {
      load *= burst_height;
      --burst_left;
    }
    if (model.steps_jitter > 0)
      steps = std::clamp(steps + model.steps_jitter *
                                     (random.normal() * 10 + 0.3 * (steps_mean * (1 + 0.5 * model.drift * t) - steps)),
                         5.0, 200.0);
    const auto solver_steps = static_cast<std::int64_t>(steps);
    // The hot spot grows during the run and returns after it has passed all processes.
    hot_centre += 1;
    const double distance = std::fabs(std::fmod(hot_centre, 160.0) - 80.0) / 12;
    const double hot = 1 + model.hot_spot * t * std::exp(-distance * distance) * (1 + 0.05 * random.normal());
    const double imbalance = std::exp(model.common * random.normal());
    std::vector<bool> runs(groups + 1, true);
    for (unsigned g = 1; g <= groups; ++g)
      runs[g] = optional[g].period ? i % optional[g].period == optional[g].period - 1
                                   : random.uniform() < optional[g].probability;
    // There are at most as many classes as in the table: a further combination is replaced by a random known one.
    if (std::ranges::find(classes_seen, runs) == classes_seen.end()) {
      if (classes_seen.size() < model.classes) classes_seen.push_back(runs);
      else runs = classes_seen[random.below(static_cast<unsigned>(classes_seen.size()))];
    }
    const bool outlier = random.uniform() < model.outliers;
    const unsigned victim = random.below(model.mpi_paths);

    Sequence::Iteration it;
    it.number = i;
    it.overall.assign(OverallCount, 0);
    for (unsigned p = 0; p < exact.size(); ++p) {
      const ExactPath& e = exact[p];
      if (!runs[e.group]) continue;
      std::int64_t visits = e.count;
      if (e.visits == ScalesWith::Steps) visits *= solver_steps;
      if (e.visits == ScalesWith::HotSpot)
        visits = static_cast<std::int64_t>(std::lround(static_cast<double>(e.count) * 20 * hot));
      const double base =
          static_cast<double>(e.count) * (e.visits == ScalesWith::Steps     ? static_cast<double>(solver_steps)
                                          : e.visits == ScalesWith::HotSpot ? hot
                                                                            : 1);
      double seconds = calibration * e.cost * base * std::exp(e.noise * random.normal() - e.noise * e.noise / 2);
      seconds += calibration * e.cost * e.count * e.waiting * imbalance * load *
                 (e.visits == ScalesWith::Steps ? steps_mean : 1) * std::exp(0.1 * random.normal());
      if (outlier && p == victim) seconds += model.seconds * random.exponential() * 0.2;
      const auto time = static_cast<std::int64_t>(seconds * 1e9) + 1;
      const double factor = e.bytes_scale_with_load ? load * (1 + 0.02 * random.normal()) : 1;
      const auto bytes = static_cast<std::int64_t>(e.bytes * std::max(0.1, factor));
      const std::int64_t sent = e.direction & 1 ? visits : 0, received = e.direction & 2 ? visits : 0;
      it.path.push_back(p);
      it.shape.push_back(0);
      for (const std::int64_t v : {visits, time, sent, sent * bytes, received, received * bytes})
        it.values.push_back(v);
      it.overall[Calls] += visits;
      it.overall[Mpi] += time;
      it.overall[MessagesSent] += sent;
      it.overall[BytesSent] += sent * bytes;
      it.overall[MessagesReceived] += received;
      it.overall[BytesReceived] += received * bytes;
    }
    // User code and its samples.
    std::vector<double> until(user.size());
    double own = 0;
    for (std::size_t u = 0; u < user.size(); ++u) {
      const UserPath& path = user[u];
      double seconds = 0;
      if (runs[path.group]) {
        seconds = model.seconds * (1 - model.mpi_share) * path.share * load * (1 + path.noise * random.normal());
        if (path.time == ScalesWith::Steps) seconds *= static_cast<double>(solver_steps) / steps_mean;
        if (path.time == ScalesWith::HotSpot) seconds *= hot;
        if (model.phases > 1 && path.phase == phase) seconds *= 3;
        if (model.own == Model::Own::Cloud && u == 0) seconds = t < 0.25 || t > 0.6 ? 0 : 2 * model.seconds;
        if (model.own == Model::Own::OddEven && u < 2) seconds = u == i % 2 ? (0.5 + 0.1 * (i % 2)) * model.seconds : 0;
      }
      seconds = std::max(0.0, seconds);
      own += seconds;
      until[u] = own;
      if (seconds > 0) it.true_user.emplace_back(model.mpi_paths + static_cast<std::uint32_t>(u), seconds * 1e9);
    }
    const double mpi_seconds = static_cast<double>(it.overall[Mpi]) * 1e-9;
    const double cpu = own + 0.95 * mpi_seconds;
    std::vector<std::int64_t> samples(user.size()), weight(user.size());
    std::vector<std::uint32_t> order;
    double at = 0;
    while (cpu - at >= until_tick) {
      at += until_tick;
      const auto w = static_cast<std::int64_t>(tick * 1e9);
      // MPI and user code alternate so quickly that it is practically random which of them a tick hits.
      const double where = random.uniform() * cpu;
      if (where >= own) {
        ++it.overall[TicksMpi];
        it.overall[WeightMpi] += w;
      } else {
        const auto u = static_cast<std::size_t>(std::ranges::upper_bound(until, where) - until.begin());
        if (samples[u] == 0) order.push_back(static_cast<std::uint32_t>(u));
        ++samples[u];
        weight[u] += w;
        ++it.overall[TicksUser];
        it.overall[WeightUser] += w;
        it.overall[WeightUserSquared] += static_cast<std::int64_t>(tick * 1e6) * static_cast<std::int64_t>(tick * 1e6);
      }
      until_tick = tick = 0.01 * random.uniform(0.5, 1.5);
    }
    until_tick -= cpu - at;
    for (const std::uint32_t u : order) {
      it.path.push_back(model.mpi_paths + u);
      it.shape.push_back(1);
      it.values.push_back(samples[u]);
      it.values.push_back(weight[u]);
    }
    it.overall[Own] =
        60 * it.overall[Calls] + 3000 * (it.overall[TicksUser] + it.overall[TicksMpi]) + 1500;  // Refrain's own time
    it.overall[Cpu] = static_cast<std::int64_t>(cpu * 1e9);
    it.overall[Wall] = static_cast<std::int64_t>(own * 1e9) + it.overall[Mpi] + it.overall[Own];
    out.iterations.push_back(std::move(it));
  }
  out.tick_weight = 0.01 * (1 + 1.0 / 12) * 1e9;  // uniform between 0.5 and 1.5 periods
  return out;
}

}  // namespace refrain::bench

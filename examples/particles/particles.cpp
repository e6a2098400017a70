// Gravitating particles with an octree (Barnes and Hut): the example with many tiny functions and deep call paths.
//
//   particles [--particles N] [--steps N] [--imbalance PERCENT] [--steady] [--time]
//
// Space is cut into slabs along x, one per rank. One step = build the local octree, send the own particles once around
// the ring of ranks so that every tree acts on them (Sendrecv), move them, hand those that left the slab to their new
// owner (Alltoallv), reduce the energy.
//
// Planted imbalance: PERCENT of all particles (default 50) lie in one small clump in the last slab; its owner has more
// particles and a deeper tree. `--imbalance 0` spreads all particles evenly. `--steady` keeps the particles in place,
// so that every step is the same work; `--time` prints the CPU time of the loop on stderr.
//
// Accessors, vector operations, tree queries and kernels are kept out of line on purpose: a measurement that costs
// something per function call shows here. Output is a function of the options and the number of ranks only.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <mpi.h>
#include <refrain/refrain.h>
#include <span>
#include <string_view>
#include <vector>

#define TINY __attribute__((noinline))

namespace particles {

// ---- vectors
// ---------------------------------------------------------------------------------------------------------

struct Vector {
  double c[3];
  TINY double x() const { return c[0]; }
  TINY double y() const { return c[1]; }
  TINY double z() const { return c[2]; }
  TINY double at(int i) const { return c[i]; }
};
TINY Vector operator+(const Vector& a, const Vector& b) {
  return {{a.c[0] + b.c[0], a.c[1] + b.c[1], a.c[2] + b.c[2]}};
}
TINY Vector operator-(const Vector& a, const Vector& b) {
  return {{a.c[0] - b.c[0], a.c[1] - b.c[1], a.c[2] - b.c[2]}};
}
TINY Vector operator*(double s, const Vector& a) { return {{s * a.c[0], s * a.c[1], s * a.c[2]}}; }
TINY double dot(const Vector& a, const Vector& b) { return a.x() * b.x() + a.y() * b.y() + a.z() * b.z(); }
TINY double squared(double v) { return v * v; }

class Particle {
 public:
  Particle() = default;
  Particle(std::int64_t id, Vector position, Vector velocity) : id_(id), position_(position), velocity_(velocity) {}
  TINY std::int64_t id() const { return id_; }
  TINY const Vector& position() const { return position_; }
  TINY const Vector& velocity() const { return velocity_; }
  TINY const Vector& force() const { return force_; }
  TINY void clear_force() { force_ = {}; }
  TINY void add_force(const Vector& f) { force_ = force_ + f; }
  TINY void set_position(const Vector& p) { position_ = p; }
  TINY void set_velocity(const Vector& v) { velocity_ = v; }

 private:
  std::int64_t id_ = 0;
  Vector position_{}, velocity_{}, force_{};
};
static_assert(std::is_trivially_copyable_v<Particle>, "particles travel as bytes");

// ---- interaction: a virtual call per pair
// ------------------------------------------------------------------------------

class Interaction {
 public:
  virtual ~Interaction() = default;
  virtual Vector force(const Vector& from, const Vector& to, double mass) const = 0;
};

class SoftenedGravity final : public Interaction {
 public:
  explicit SoftenedGravity(double softening) : softening2_(squared(softening)) {}
  TINY Vector force(const Vector& from, const Vector& to, double mass) const override {
    const Vector d = from - to;
    return strength(distance2(d), mass) * d;
  }

 private:
  TINY double distance2(const Vector& d) const { return dot(d, d) + softening2_; }
  TINY double strength(double r2, double mass) const { return mass / (r2 * std::sqrt(r2)); }
  double softening2_;
};

// ---- octree
// ------------------------------------------------------------------------------------------------------------

constexpr int bucket = 4, deepest = 24;

class Cell {
 public:
  Cell(Vector center, double half) : center_(center), half_(half) {}
  TINY bool is_leaf() const { return !split_; }
  TINY double mass() const { return mass_; }
  TINY double width() const { return 2 * half_; }
  TINY const Vector& center_of_mass() const { return center_of_mass_; }
  TINY std::span<const Vector> contents() const { return contents_; }
  TINY const Cell* child(int i) const { return children_[static_cast<std::size_t>(i)].get(); }

  TINY void insert(const Vector& p, int level = 0) {
    if (!split_ && (contents_.size() < bucket || level == deepest)) return contents_.push_back(p);
    if (!split_) split(level);
    child_for(p).insert(p, level + 1);
  }

  TINY void summarize() {
    Vector weighted{};
    mass_ = 0;
    for (const Vector& p : contents_) {
      weighted = weighted + p;
      mass_ += 1;
    }
    for (auto& child : children_) {
      if (!child) continue;
      child->summarize();
      weighted = weighted + child->mass() * child->center_of_mass();
      mass_ += child->mass();
    }
    center_of_mass_ = mass_ > 0 ? (1 / mass_) * weighted : center_;
  }

 private:
  TINY int octant(const Vector& p) const {
    return (p.x() > center_.x()) + 2 * (p.y() > center_.y()) + 4 * (p.z() > center_.z());
  }
  TINY Cell& child_for(const Vector& p) {
    auto& child = children_[static_cast<std::size_t>(octant(p))];
    if (!child) {
      const double h = half_ / 2;
      const int o = octant(p);
      child = std::make_unique<Cell>(center_ + Vector{{o & 1 ? h : -h, o & 2 ? h : -h, o & 4 ? h : -h}}, h);
    }
    return *child;
  }
  TINY void split(int level) {
    split_ = true;
    for (const Vector& p : contents_) child_for(p).insert(p, level + 1);
    contents_.clear();
  }

  Vector center_, center_of_mass_{};
  double half_, mass_ = 0;
  bool split_ = false;
  std::vector<Vector> contents_;
  std::array<std::unique_ptr<Cell>, 8> children_;
};

// Recursion through a template and a std::function: one activation per level of the tree.
using Opening = std::function<bool(const Cell&, const Vector&)>;

template <class OnCell, class OnBody>
TINY void traverse(const Cell& cell, const Vector& at, const Opening& open, const OnCell& on_cell,
                   const OnBody& on_body) {
  if (cell.is_leaf()) {
    for (const Vector& p : cell.contents()) on_body(p);
    return;
  }
  if (!open(cell, at)) return on_cell(cell);
  for (int i = 0; i < 8; ++i)
    if (const Cell* child = cell.child(i)) traverse(*child, at, open, on_cell, on_body);
}

TINY bool must_open(const Cell& cell, const Vector& at) {
  const Vector d = cell.center_of_mass() - at;
  return squared(cell.width()) > 0.36 * dot(d, d);
}

TINY void pull(Particle& particle, const Cell& tree, const Interaction& law) {
  const Vector at = particle.position();
  const auto attract = [&](const Vector& from, double mass) { particle.add_force(law.force(from, at, mass)); };
  traverse(
      tree, at, Opening{must_open}, [&](const Cell& c) { attract(c.center_of_mass(), c.mass()); },
      [&](const Vector& p) { attract(p, 1); });
}

// ---- the program
// ---------------------------------------------------------------------------------------------------------

struct Options {
  int particles = 4000, steps = 20, imbalance = 50;
  bool steady = false, time = false;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "particles: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

Options parse_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] { return ++i < argc ? std::atoi(argv[i]) : -1; };
    if (name == "--particles") o.particles = value();
    else if (name == "--steps") o.steps = value();
    else if (name == "--imbalance") o.imbalance = value();
    else if (name == "--steady") o.steady = true;
    else if (name == "--time") o.time = true;
    else fail("usage: particles [--particles N] [--steps N] [--imbalance PERCENT] [--steady] [--time]");
  }
  if (o.particles < 1 || o.steps < 0 || o.imbalance < 0 || o.imbalance > 100) fail("a value is out of range");
  return o;
}

// A counter-based random number in [0, 1): particle i looks the same on every number of ranks (splitmix64).
double uniform(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

class Simulation {
 public:
  explicit Simulation(const Options& options) : options_(options), law_(0.01) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    place_particles();
  }

  TINY void step() {
    build_tree();
    ring_of_forces();
    if (!options_.steady) {
      advance();
      migrate();
    }
    reduce_energy();
  }

  void print() const {
    double local[4] = {}, *mine = local;
    for (const Particle& p : own_) {
      for (int i = 0; i < 3; ++i) mine[i] += p.position().at(i);
      mine[3] += static_cast<double>(p.id());
    }
    std::vector<double> all(static_cast<std::size_t>(4 * ranks_));
    MPI_Gather(local, 4, MPI_DOUBLE, all.data(), 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double sum[4] = {};
    for (std::size_t i = 0; i < all.size(); ++i) sum[i % 4] += all[i];
    if (rank_ == 0)
      std::printf("particles particles=%d steps=%d ranks=%d energy=%.17g checksum=%.17g,%.17g,%.17g ids=%.0f\n",
                  options_.particles, options_.steps, ranks_, energy_, sum[0], sum[1], sum[2], sum[3]);
  }

 private:
  int owner_of(const Particle& p) const {
    return std::clamp(static_cast<int>(p.position().x() * ranks_), 0, ranks_ - 1);
  }

  void place_particles() {
    const double clump = 1 - 0.5 / ranks_;  // the middle of the last slab
    const auto clumped = static_cast<std::int64_t>(options_.particles) * options_.imbalance / 100;
    for (std::int64_t id = 0; id < options_.particles; ++id) {
      Vector p, v;
      for (int i = 0; i < 3; ++i) {
        const double u = uniform(static_cast<std::uint64_t>(6 * id + i));
        p.c[i] = id < clumped ? (i == 0 ? clump : 0.5) + 0.02 * (u - 0.5) / ranks_ : u;
        v.c[i] = 0.1 * (uniform(static_cast<std::uint64_t>(6 * id + 3 + i)) - 0.5);
      }
      const Particle particle{id, p, v};
      if (owner_of(particle) == rank_) own_.push_back(particle);
    }
  }

  TINY void build_tree() {
    tree_ = std::make_unique<Cell>(Vector{{0.5, 0.5, 0.5}}, 0.5);
    for (const Particle& p : own_) tree_->insert(p.position());
    tree_->summarize();
  }

  TINY void pull_all(std::span<Particle> visitors) {
    for (Particle& p : visitors) pull(p, *tree_, law_);
  }

  // After as many hops as there are ranks every particle is home again, with the pull of all trees added up.
  TINY void ring_of_forces() {
    for (Particle& p : own_) p.clear_force();
    const int next = (rank_ + 1) % ranks_, previous = (rank_ + ranks_ - 1) % ranks_;
    for (int hop = 0; hop < ranks_; ++hop) {
      pull_all(own_);
      if (ranks_ == 1) break;
      int outgoing = bytes(own_), incoming = 0;
      MPI_Sendrecv(&outgoing, 1, MPI_INT, next, 1, &incoming, 1, MPI_INT, previous, 1, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      std::vector<Particle> arrived(static_cast<std::size_t>(incoming) / sizeof(Particle));
      MPI_Sendrecv(own_.data(), outgoing, MPI_BYTE, next, 2, arrived.data(), incoming, MPI_BYTE, previous, 2,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      own_.swap(arrived);
    }
  }

  TINY void advance() {
    const double dt = 1e-8, drift = 1e-2;
    for (Particle& p : own_) {
      p.set_velocity(p.velocity() + dt * p.force());
      Vector at = p.position() + drift * p.velocity();
      for (double& c : at.c) c = std::clamp(c, 0.0, 1.0);
      p.set_position(at);
    }
  }

  TINY void migrate() {
    const auto n = static_cast<std::size_t>(ranks_);
    std::stable_sort(own_.begin(), own_.end(),
                     [this](const Particle& a, const Particle& b) { return owner_of(a) < owner_of(b); });
    std::vector<int> send_bytes(n), receive_bytes(n), send_at(n), receive_at(n);
    for (const Particle& p : own_) send_bytes[static_cast<std::size_t>(owner_of(p))] += int{sizeof(Particle)};
    MPI_Alltoall(send_bytes.data(), 1, MPI_INT, receive_bytes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t r = 1; r < n; ++r) {
      send_at[r] = send_at[r - 1] + send_bytes[r - 1];
      receive_at[r] = receive_at[r - 1] + receive_bytes[r - 1];
    }
    std::vector<Particle> arrived(static_cast<std::size_t>(receive_at[n - 1] + receive_bytes[n - 1]) /
                                  sizeof(Particle));
    MPI_Alltoallv(own_.data(), send_bytes.data(), send_at.data(), MPI_BYTE, arrived.data(), receive_bytes.data(),
                  receive_at.data(), MPI_BYTE, MPI_COMM_WORLD);
    std::sort(arrived.begin(), arrived.end(), [](const Particle& a, const Particle& b) { return a.id() < b.id(); });
    own_.swap(arrived);
  }

  TINY void reduce_energy() {
    double local = 0;
    for (const Particle& p : own_) local += dot(p.velocity(), p.velocity()) / 2 + 1e-9 * dot(p.force(), p.force());
    MPI_Allreduce(&local, &energy_, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }

  static int bytes(const std::vector<Particle>& p) { return static_cast<int>(p.size() * sizeof(Particle)); }

  Options options_;
  SoftenedGravity law_;
  int rank_ = 0, ranks_ = 1;
  std::vector<Particle> own_;
  std::unique_ptr<Cell> tree_;
  double energy_ = 0;
};

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace particles

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const particles::Options options = particles::parse_options(argc, argv);
  particles::Simulation simulation{options};
  const double begin = particles::cpu_seconds();
  {
    refrain::Loop loop("timestep");
    for (int s = 0; s < options.steps; ++s) {
      refrain::Iteration iteration;
      simulation.step();
    }
  }
  if (options.time) std::fprintf(stderr, "loop_cpu_s %.6f\n", particles::cpu_seconds() - begin);
  simulation.print();
  MPI_Finalize();
}

#include "bench/clustering/sequence.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

namespace refrain::bench {

using namespace clustering;

namespace {

constexpr char magic[8] = {'R', 'I', 'T', 'S', 'E', 'Q', '2', '\0'};

template <class T>
void put(std::ostream& out, T value) {
  out.write(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
bool get(std::istream& in, T& value) {
  return static_cast<bool>(in.read(reinterpret_cast<char*>(&value), sizeof value));
}

}  // namespace

std::vector<Shape> Sequence::shape_views() const {
  std::vector<Shape> out;
  for (const ShapeTable& s : shapes) out.push_back({s.exact, s.visits, s.columns});
  return out;
}

std::vector<TouchedPath> Sequence::touched(const Iteration& it) const {
  std::vector<TouchedPath> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < it.path.size(); ++i) {
    out.push_back({PathId{it.path[i]}, it.shape[i], it.values.data() + at});
    at += shapes[it.shape[i]].columns.size();
  }
  return out;
}

bool save(const Sequence& sequence, const std::string& file) {
  std::ofstream out(file, std::ios::binary);
  out.write(magic, sizeof magic);
  put(out, static_cast<std::uint32_t>(sequence.overall.size()));
  put(out, static_cast<std::uint32_t>(sequence.shapes.size()));
  for (std::size_t m = 0; m < sequence.overall.size(); ++m) {
    put(out, static_cast<std::uint8_t>(sequence.in_distance[m]));
    put(out, static_cast<std::uint8_t>(sequence.overall[m]));
  }
  for (const ShapeTable& s : sequence.shapes) {
    put(out, static_cast<std::uint8_t>(s.exact));
    put(out, s.visits);
    put(out, static_cast<std::uint8_t>(s.columns.size()));
    for (const Column& c : s.columns) {
      put(out, c.scales_with);
      put(out, static_cast<std::uint8_t>(c.in_distance));
      put(out, c.also_scales_with);
    }
  }
  put(out, static_cast<std::uint8_t>(sequence.user_time_of.size()));
  for (const std::uint8_t m : sequence.user_time_of) put(out, m);
  put(out, sequence.tick_weight);
  for (const Sequence::Iteration& it : sequence.iterations) {
    put(out, it.number);
    for (const std::int64_t v : it.overall) put(out, v);
    put(out, static_cast<std::uint32_t>(it.path.size()));
    std::size_t at = 0;
    for (std::size_t i = 0; i < it.path.size(); ++i) {
      put(out, it.path[i]);
      put(out, it.shape[i]);
      for (std::size_t c = 0; c < sequence.shapes[it.shape[i]].columns.size(); ++c) put(out, it.values[at++]);
    }
  }
  return static_cast<bool>(out.flush());
}

bool load(const std::string& file, Sequence& sequence) {
  std::ifstream in(file, std::ios::binary);
  char start[sizeof magic];
  std::uint32_t metrics = 0, shapes = 0;
  if (!in.read(start, sizeof start) || std::memcmp(start, magic, sizeof magic) != 0) return false;
  if (!get(in, metrics) || !get(in, shapes) || metrics > max_overall || shapes > max_shapes) return false;
  sequence = Sequence{};
  sequence.name = std::filesystem::path(file).stem();
  for (std::uint32_t m = 0; m < metrics; ++m) {
    std::uint8_t in_distance = 0, precision = 0;
    if (!get(in, in_distance) || !get(in, precision) || precision > 2) return false;
    sequence.in_distance.push_back(in_distance != 0);
    sequence.overall.push_back(static_cast<Precision>(precision));
  }
  for (std::uint32_t s = 0; s < shapes; ++s) {
    ShapeTable shape;
    std::uint8_t exact = 0, columns = 0;
    if (!get(in, exact) || !get(in, shape.visits) || !get(in, columns) || columns > max_columns) return false;
    shape.exact = exact != 0;
    for (unsigned c = 0; c < columns; ++c) {
      Column column;
      std::uint8_t in_distance = 0;
      if (!get(in, column.scales_with) || !get(in, in_distance) || !get(in, column.also_scales_with)) return false;
      column.in_distance = in_distance != 0;
      shape.columns.push_back(column);
    }
    sequence.shapes.push_back(shape);
  }
  std::uint8_t user = 0;
  if (!get(in, user) || user > metrics) return false;
  sequence.user_time_of.resize(user);
  for (std::uint8_t& m : sequence.user_time_of)
    if (!get(in, m) || m >= metrics) return false;
  if (!get(in, sequence.tick_weight)) return false;
  Sequence::Iteration it;
  while (get(in, it.number)) {
    it = Sequence::Iteration{it.number, std::vector<std::int64_t>(metrics), {}, {}, {}, {}};
    for (std::int64_t& v : it.overall)
      if (!get(in, v)) return false;
    std::uint32_t paths = 0;
    if (!get(in, paths)) return false;
    for (std::uint32_t p = 0; p < paths; ++p) {
      std::uint32_t path = 0;
      std::uint8_t shape = 0;
      if (!get(in, path) || !get(in, shape) || shape >= shapes) return false;
      it.path.push_back(path);
      it.shape.push_back(shape);
      for (std::size_t c = 0; c < sequence.shapes[shape].columns.size(); ++c) {
        std::int64_t value = 0;
        if (!get(in, value)) return false;
        it.values.push_back(value);
      }
    }
    sequence.iterations.push_back(it);
  }
  return !sequence.iterations.empty();
}

}  // namespace refrain::bench

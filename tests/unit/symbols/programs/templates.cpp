// Templates, lambdas, namespaces, constructors and overloads, some inlined.
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace mesh {
namespace {
[[gnu::noinline]] int local(int n) { return n * 3 + 1; }
}  // namespace
template <class T, int N>
struct Field {
  std::vector<T> values;
  [[gnu::noinline]] explicit Field(int n) : values(static_cast<std::size_t>(n) * N) {}
  [[gnu::noinline]] T sum(T begin) const { return std::accumulate(values.begin(), values.end(), begin); }
  T& operator()(int i) { return values.at(static_cast<std::size_t>(i)); }
};
[[gnu::noinline]] void step(Field<double, 2>& field, int n) {
  std::for_each(field.values.begin(), field.values.end(), [n](double& v) { v += local(n); });
  field(0) = 1;
}
[[gnu::noinline]] void step(Field<int, 3>& field) {
  std::sort(field.values.begin(), field.values.end(), [](int a, int b) { return a > b; });
}
}  // namespace mesh

int main(int argc, char** argv) {
  mesh::Field<double, 2> a(argc + 3);
  mesh::Field<int, 3> b(argc + 2);
  mesh::step(a, argc);
  mesh::step(b);
  std::map<std::string, int> names;
  for (int i = 0; i < argc; ++i) ++names[argv[i]];
  std::printf("%g %d %zu\n", a.sum(0.5), b.sum(1), names.size());
}

#include "offline/analysis/short_names.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "offline/analysis/module_fold.hpp"
#include "offline/analysis/named_paths.hpp"

namespace refrain::analysis {
namespace {

TEST(ShortName, of_cpp_without_arguments) {
  EXPECT_EQ("a::f", short_name("void a<int>::f<int>(int) const"));
  EXPECT_EQ("LAMMPS_NS::Verlet::run", qualified_name("LAMMPS_NS::Verlet::run(int)"));
  EXPECT_EQ("Verlet::run", short_name("LAMMPS_NS::Verlet::run(int)"));
  EXPECT_EQ("std::vector::push_back", short_name("void std::vector<int, std::allocator<int> >::push_back(int&&)"));
  EXPECT_EQ("::f", short_name("::f"));
  EXPECT_EQ("time step", short_name("time step"));
  EXPECT_EQ("{}::f", short_name("(anonymous namespace)::f(int)"));
  EXPECT_EQ("p::traverse", qualified_name("void p::traverse<p::pull(p::P&)::{lambda(p::C const&)#2}>(p::C const&, "
                                          "p::pull(p::P&)::{lambda(p::C const&)#2} const&)"));
  EXPECT_EQ("apply_operator", short_name("apply_operator(double*)"));
  EXPECT_EQ("operators::f", short_name("a::operators::f(int)"));
  for (const char* name : {"decltype(auto) f<int>(int)", "outer(int)::{lambda()#1}::_FUN", "a::T::operator()(int)"})
    EXPECT_EQ(name, short_name(name));
  for (const char* name : {"main", "sweep._omp_fn.0", "(not on CPU)", "a::operator<<(int)", "libx.so+0x12", ""})
    EXPECT_EQ(name, short_name(name));
}

TEST(ShortName, of_a_path) {
  const std::vector<std::string> path{"main", "f(int)", "f(int)", "g"};
  EXPECT_EQ("f > g", short_path(path));
  EXPECT_EQ("(unknown)", short_path({}));
}

TEST(ReadableNames, arguments_tell_overloads_apart) {
  ReadableNames names;
  for (const char* name :
       {"f(int)", "f(double)", "g(int)", "g(int)", "h<int>(int)", "h<long>(int)", "k<int>(int)", "k<int>(long)"})
    names.add(name);
  EXPECT_EQ("f(int)", names.of("f(int)"));
  EXPECT_EQ("g", names.of("g(int)"));
  EXPECT_EQ("h<int>(int)", names.of("h<int>(int)"));
  EXPECT_EQ("k<...>(long)", names.of("k<int>(long)"));
}

TEST(ReadableNames, namespaces_tell_classes_apart) {
  ReadableNames names;
  for (const char* name : {"x::A::f(int)", "y::A::f(int)", "x::B::f(int)"}) names.add(name);
  EXPECT_EQ("x::A::f", names.of("x::A::f(int)"));
  EXPECT_EQ("B::f", names.of("x::B::f(int)"));
}

TEST(ModuleFold, by_the_name_of_the_file) {
  const ModuleFold none, runtimes{{}, true}, own{{"libsolver"}, false};
  for (const char* file :
       {"libpython3.11.so.1.0", "python3.11", "python3", "libperl.so.5.36", "libjvm.so", "libjulia.so.1", "libR.so"}) {
    EXPECT_TRUE(runtimes.folds(file)) << file;
    EXPECT_FALSE(none.folds(file)) << file;
  }
  for (const char* file : {"pythonista", "libc.so.6", "julia", "node", "perlin", "liblammps.so.0"})
    EXPECT_FALSE(runtimes.folds(file)) << file;
  EXPECT_TRUE(own.folds("libsolver.so.2"));
  EXPECT_FALSE(own.folds("libsolvers.so"));
  EXPECT_TRUE(runtimes.folds_unnamed("libgomp.so.1"));
  EXPECT_FALSE(runtimes.folds("libgomp.so.1"));
}

TEST(Runtime, by_the_name_of_the_file) {
  const std::pair<const char*, Runtime> files[] = {{"libpython3.11.so.1.0", Runtime::Language},
                                                   {"libgomp.so.1", Runtime::OpenMp},
                                                   {"libomp.so.5", Runtime::OpenMp},
                                                   {"libmpi.so.40", Runtime::Mpi},
                                                   {"libopen-pal.so.40", Runtime::Mpi},
                                                   {"mca_pml_ob1.so", Runtime::Mpi},
                                                   {"libmpich.so.12", Runtime::Mpi},
                                                   {"libc.so.6", Runtime::C},
                                                   {"libc-2.31.so", Runtime::C},
                                                   {"ld-linux-x86-64.so.2", Runtime::C},
                                                   {"libstdc++.so.6", Runtime::C},
                                                   {"libm.so.6", Runtime::C},
                                                   {"libmpicalc.so", Runtime::None},
                                                   {"libcurl.so.4", Runtime::None},
                                                   {"libmesh.so", Runtime::None},
                                                   {"lmp", Runtime::None},
                                                   {"", Runtime::None}};
  for (const auto& [file, runtime] : files) EXPECT_EQ(runtime, runtime_of(file)) << file;
}

TEST(OpenMp, names_of_gcc_and_llvm) {
  EXPECT_TRUE(is_parallel_body("sweep._omp_fn.0"));
  EXPECT_TRUE(is_parallel_body("main.omp_outlined"));
  EXPECT_TRUE(is_parallel_body(".omp_outlined."));
  EXPECT_FALSE(is_parallel_body("sweep"));
  EXPECT_TRUE(is_openmp_runtime("[libgomp.so.1]"));
  EXPECT_TRUE(is_openmp_runtime("__kmp_launch_thread"));
  EXPECT_FALSE(is_openmp_runtime("main"));
}

}  // namespace
}  // namespace refrain::analysis

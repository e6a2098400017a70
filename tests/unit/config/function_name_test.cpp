/// Symbols, and names that users give functions. The symbols come from c++filt's and gfortran's own output.

#include "config/function_name.hpp"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include "config/iteration_at.hpp"

namespace refrain::config {
namespace {

TEST(FunctionName, of_c_is_the_symbol) {
  EXPECT_TRUE(is_function("solve", "solve"));
  EXPECT_FALSE(is_function("solve", "solv"));
  EXPECT_FALSE(is_function("solver", "solve"));
  EXPECT_FALSE(is_function("", "solve"));
}

TEST(FunctionName, of_cxx_may_be_given_with_fewer_of_its_scopes) {
  const char* run = "_ZN9LAMMPS_NS6Verlet3runEi";
  for (const char* good : {"run", "Verlet::run", "LAMMPS_NS::Verlet::run", run})
    EXPECT_TRUE(is_function(run, good)) << good;
  for (const char* bad : {"un", "let::run", "LAMMPS_NS::run", "Verlet", "Verlet::", "X::LAMMPS_NS::Verlet::run"})
    EXPECT_FALSE(is_function(run, bad)) << bad;
  EXPECT_FALSE(is_function("_ZN9LAMMPS_NS11VerletSplit3runEi", "Verlet::run"));
}

TEST(FunctionName, needs_no_parameters_qualifiers_or_template_arguments) {
  EXPECT_TRUE(is_function("_Z4stepid", "step"));
  EXPECT_TRUE(is_function("_ZNK3Sim4stepEv", "Sim::step"));
  EXPECT_TRUE(is_function("_ZN3SimIdLi3EE4stepEv", "Sim::step"));         // Sim<double, 3>::step()
  EXPECT_TRUE(is_function("_ZN3SimISt6vectorIdSaIdEEE4stepEv", "step"));  // Sim<std::vector<double>>::step()
  EXPECT_TRUE(is_function("_ZL4stepi", "step"));                          // static
  EXPECT_TRUE(is_function("_ZN12_GLOBAL__N_14stepEv", "step"));           // in an unnamed namespace
}

TEST(FunctionName, of_fortran) {
  EXPECT_TRUE(is_function("advance_", "advance"));
  EXPECT_TRUE(is_function("__wave_MOD_advance", "advance"));
  EXPECT_TRUE(is_function("__wave_MOD_advance", "wave::advance"));
  EXPECT_FALSE(is_function("__wave_MOD_advance", "other::advance"));
}

TEST(FunctionName, is_that_of_its_copies_and_parts_too) {
  for (const char* symbol : {"step.isra.0", "step.constprop.1", "step.part.0.cold", "_ZN3Sim4stepEv.part.0"})
    EXPECT_TRUE(is_function(symbol, "step")) << symbol;
  EXPECT_FALSE(is_function("step_two.isra.0", "step"));
  EXPECT_FALSE(is_function(".step", "step"));
}

TEST(FunctionName, bears_any_symbol) {
  std::srand(1);
  for (int i = 0; i < 200'000; ++i) {
    std::string symbol = "_ZN";
    for (int n = std::rand() % 20; n > 0; --n) symbol += "0123456789INEKLSt_Zab"[std::rand() % 21];
    (void)is_function(symbol, "a::b");
  }
  EXPECT_FALSE(is_function("_ZN99999999999999999999aE", "a"));
  EXPECT_FALSE(is_function("_Z", "a"));
}

TEST(IterationAt, is_taken_apart) {
  constexpr auto all = config::parse_iteration_at("MPI_Send@A::b/12");
  EXPECT_TRUE(all.good);
  EXPECT_EQ(all.mpi_function, "MPI_Send");
  EXPECT_EQ(all.function, "A::b");
  EXPECT_EQ(all.every, 12);
  EXPECT_EQ(config::parse_iteration_at("MPI_Barrier").every, 1);
  for (const char* bad :
       {"", "Send", "MPI_", "MPI_Send/", "MPI_Send/0", "MPI_Send/-1", "MPI_Send/x", "MPI_Send@", "@f"})
    EXPECT_FALSE(config::is_iteration_at(bad)) << bad;
}

}  // namespace
}  // namespace refrain::config

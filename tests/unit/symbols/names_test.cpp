#include "offline/symbols/names.hpp"

#include <gtest/gtest.h>

namespace refrain::symbols {
namespace {

TEST(FunctionName, plain_c_names_stay) {
  for (const char* name : {"main", "dive", "_start", "a.b", ".L1", "MAIN__", "", "x.5"})
    EXPECT_EQ(function_name(name).text, name);
}

TEST(FunctionName, cplusplus_is_demangled) {
  EXPECT_EQ(function_name("_ZN9LAMMPS_NS6Verlet3runEi").text, "LAMMPS_NS::Verlet::run(int)");
  EXPECT_EQ(function_name("_Zthis is none").text, "_Zthis is none");
}

TEST(FunctionName, module_procedures_of_gfortran_are_qualified) {
  EXPECT_EQ(function_name("__solver_MOD_relax").text, "solver::relax");
  EXPECT_EQ(function_name("__MOD_x").text, "__MOD_x");
}

TEST(FunctionName, clones_have_the_name_of_what_they_were_cloned_from) {
  EXPECT_EQ(function_name("dive.constprop.0").text, "dive");
  EXPECT_EQ(function_name("dive.isra.0.cold").text, "dive");
  EXPECT_EQ(function_name("_Z1fi.part.3.constprop.12").text, "f(int)");
  EXPECT_TRUE(function_name("f.part.3.constprop.12").part);
  EXPECT_FALSE(function_name("f.constprop.0").part);
  EXPECT_EQ(function_name("main._omp_fn.0").text, "main._omp_fn.0");
}

}  // namespace
}  // namespace refrain::symbols

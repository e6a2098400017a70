#include "tools/launchers.hpp"

#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tools/start.hpp"

namespace refrain::tools {
namespace {

/// The command line with an X before each program.
std::string marked(const std::string& command) {
  std::istringstream stream{command};
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  LaunchLine line = parse_launch_line(words);
  if (!line.refusal.empty()) return "refused";
  std::vector<std::string> result = with_insertion(words, line, {"X"});
  std::string text;
  for (const std::string& word : result) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST(Launchers, the_programs_are_found_behind_the_options_of_every_launcher) {
  const struct {
    const char* command;
    const char* expected;
  } cases[] = {
      // Without a launcher.
      {"./app -n 3", "X ./app -n 3"},
      {"/bin/sh -c mpirun", "X /bin/sh -c mpirun"},
      // Open MPI.
      {"mpirun.openmpi -n 4 ./app -n 3", "mpirun.openmpi -n 4 X ./app -n 3"},
      {"mpirun.openmpi -np 4 --oversubscribe ./app", "mpirun.openmpi -np 4 --oversubscribe X ./app"},
      {"mpirun.openmpi --mca btl self,vader -x A=B -H a,b lmp -in f",
       "mpirun.openmpi --mca btl self,vader -x A=B -H a,b X lmp -in f"},
      {"mpirun.openmpi -mca mpi_yield_when_idle 1 --bind-to none a.out",
       "mpirun.openmpi -mca mpi_yield_when_idle 1 --bind-to none X a.out"},
      {"mpirun.openmpi -n 1 ./a x : -n 2 ./b y : -n 3 ./c", "mpirun.openmpi -n 1 X ./a x : -n 2 X ./b y : -n 3 X ./c"},
      {"mpirun.openmpi ./app --mca x y", "mpirun.openmpi X ./app --mca x y"},
      {"mpiexec.openmpi --hostfile h --map-by ppr:2:node --report-bindings app",
       "mpiexec.openmpi --hostfile h --map-by ppr:2:node --report-bindings X app"},
      {"orterun -N 2 -wdir /tmp ./a", "orterun -N 2 -wdir /tmp X ./a"},
      {"prterun --runtime-options a --display map --pmixmca a b ./a",
       "prterun --runtime-options a --display map --pmixmca a b X ./a"},
      {"mpirun.openmpi --version", "mpirun.openmpi --version"},
      // MPICH and those with its launcher.
      {"mpiexec.hydra -n 2 ./app", "mpiexec.hydra -n 2 X ./app"},
      {"mpiexec.mpich -genv A B -env C D -n 2 ./app -env", "mpiexec.mpich -genv A B -env C D -n 2 X ./app -env"},
      {"mpiexec.mpich -f hosts -ppn 2 -bind-to core -l ./app",
       "mpiexec.mpich -f hosts -ppn 2 -bind-to core -l X ./app"},
      {"mpiexec.mpich -genvall -n 1 ./a : -n 1 -wdir / ./b", "mpiexec.mpich -genvall -n 1 X ./a : -n 1 -wdir / X ./b"},
      // Options that look alike and differ: -s has a value for hydra and none for Open MPI, -l none for hydra.
      {"mpiexec.mpich -s all ./app", "mpiexec.mpich -s all X ./app"},
      {"mpirun.openmpi -s ./app", "mpirun.openmpi -s X ./app"},
      // Slurm, where letters may be joined and carry values.
      {"srun ./app", "srun X ./app"},
      {"srun -n4 -N 2 -l ./app -n 5", "srun -n4 -N 2 -l X ./app -n 5"},
      {"srun -lun 4 ./app", "srun -lun 4 X ./app"},
      {"srun --mpi=pmix --ntasks 4 --exclusive ./app", "srun --mpi=pmix --ntasks 4 --exclusive X ./app"},
      {"srun -n 4 -- ./app", "srun -n 4 -- X ./app"},
      {"srun -n 1 ./a : -n 2 ./b", "srun -n 1 X ./a : -n 2 X ./b"},
      // Others.
      {"aprun -n 32 -N 16 -d 2 -cc depth ./app", "aprun -n 32 -N 16 -d 2 -cc depth X ./app"},
      {"jsrun -n 4 -a 1 -c 7 -g 1 -E A=B ./app", "jsrun -n 4 -a 1 -c 7 -g 1 -E A=B X ./app"},
      {"ibrun -n 4 -o 0 ./app", "ibrun -n 4 -o 0 X ./app"},
      // What stands before a launcher.
      {"env A=1 mpirun.openmpi -n 2 ./app", "env A=1 mpirun.openmpi -n 2 X ./app"},
      {"timeout 60 mpiexec.mpich -n 2 ./app", "timeout 60 mpiexec.mpich -n 2 X ./app"},
      {"nice -n 5 ./app", "X nice -n 5 ./app"},
      // What stands between the launcher and the program belongs to the ranks.
      {"mpirun.openmpi -n 2 numactl -l ./app", "mpirun.openmpi -n 2 X numactl -l ./app"},
      // An option of no table: its value is told from a program by whether it can be started.
      {"mpirun.openmpi --brand-new value sh -c true", "mpirun.openmpi --brand-new value X sh -c true"},
      {"mpirun.openmpi --brand-new sh -c true", "mpirun.openmpi --brand-new X sh -c true"},
      {"mpirun.openmpi --brand-new=value ./app", "mpirun.openmpi --brand-new=value X ./app"},
      // Programs named in a file are not rewritten.
      {"mpirun.openmpi --app file", "refused"},
      {"mpiexec.mpich -configfile file", "refused"},
      {"srun --multi-prog file", "refused"},
  };
  for (const auto& c : cases) EXPECT_EQ(marked(c.command), c.expected);
}

TEST(Launchers, a_common_name_is_told_by_the_file_behind_it) {
  EXPECT_EQ(parse_launch_line({"mpirun.openmpi", "x"}).launcher, "openmpi4");
  EXPECT_EQ(parse_launch_line({"mpirun.mpich", "x"}).launcher, "hydra");
  EXPECT_EQ(parse_launch_line({"/usr/bin/mpiexec.mpich", "x"}).launcher, "hydra");
  EXPECT_EQ(parse_launch_line({"./app"}).launcher, "");
}

TEST(Launchers, a_quoted_command_reads_back_in_a_shell) {
  EXPECT_EQ(quoted({"a", "b c", "it's", "", "$HOME", "x=1"}), "a 'b c' 'it'\\''s' '' '$HOME' x=1");
}

}  // namespace
}  // namespace refrain::tools

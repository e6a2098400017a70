#include "tools/program.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <stdlib.h>
#include <sys/stat.h>

namespace refrain::tools {
namespace {
namespace fs = std::filesystem;

/// A directory of one test's own.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/refrain-program-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
    fs::path path = directory_ / name;
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), mode);
    return path.string();
  }

  fs::path directory_;
};

TEST_F(ProgramTest, kinds_are_told_apart) {
  EXPECT_EQ(inspect_program("/no/such/program").kind, Program::Kind::Missing);
  EXPECT_EQ(inspect_program("no-such-program-anywhere").kind, Program::Kind::Missing);
  EXPECT_EQ(inspect_program("").kind, Program::Kind::Missing);
  EXPECT_EQ(inspect_program("/tmp").kind, Program::Kind::NotExecutable);
  EXPECT_EQ(inspect_program(file("data", "text", 0644)).kind, Program::Kind::NotExecutable);
  Program script = inspect_program(file("script", "#! /bin/sh -e\ntrue\n"));
  EXPECT_EQ(script.kind, Program::Kind::Script);
  EXPECT_EQ(script.interpreter, "/bin/sh");
  EXPECT_EQ(inspect_program(file("bare", "true\n")).kind, Program::Kind::Script);
  Program shell = inspect_program("sh");
  EXPECT_EQ(shell.kind, Program::Kind::Dynamic);
  EXPECT_FALSE(shell.mpi.has_value());
  bool needs_libc = false;
  for (const NeededLibrary& library : shell.libraries)
    needs_libc = needs_libc || (library.name == "libc.so.6" && fs::exists(library.file));
  EXPECT_TRUE(needs_libc);
}

TEST_F(ProgramTest, the_mpi_is_found_through_other_libraries) {
  // lammps needs liblammps, which needs MPI.
  if (inspect_program("lmp").kind == Program::Kind::Missing) GTEST_SKIP() << "lammps is not installed";
  EXPECT_EQ(inspect_program("lmp").mpi, RuntimeLibrary::OpenMpi);
}

TEST(MpiOfLibrary, sonames_stand_for_an_abi) {
  EXPECT_EQ(mpi_of_library("libmpi.so.40"), RuntimeLibrary::OpenMpi);
  EXPECT_EQ(mpi_of_library("libmpi.so.20"), RuntimeLibrary::OpenMpi);
  EXPECT_EQ(mpi_of_library("libmpi.so.12"), RuntimeLibrary::Mpich);
  EXPECT_EQ(mpi_of_library("libmpich.so.12"), RuntimeLibrary::Mpich);
  EXPECT_EQ(mpi_of_library("libmpi_mpifh.so.40"), std::nullopt);
  EXPECT_EQ(mpi_of_library("libm.so.6"), std::nullopt);
}

TEST_F(ProgramTest, damaged_elf_files_are_read_without_harm) {
  std::ifstream stream{"/bin/true", std::ios::binary};
  std::string good{std::istreambuf_iterator<char>(stream), {}};
  std::mt19937 random{1};
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    for (int i = 0; i < 40; ++i) bad[random() % (i < 20 ? 64 : bad.size())] = static_cast<char>(random());
    bad.replace(0, 4,
                "\x7f"
                "ELF");
    if (round % 3 == 0) bad.resize(random() % bad.size());
    inspect_program(file("damaged", bad));
  }
  EXPECT_EQ(inspect_program(file("good", good)).kind, Program::Kind::Dynamic);
}

}  // namespace
}  // namespace refrain::tools

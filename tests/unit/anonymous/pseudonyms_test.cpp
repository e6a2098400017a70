#include "offline/anonymous/pseudonyms.hpp"

#include <gtest/gtest.h>

namespace refrain::anonymous {
namespace {

using experiment::NameKind;

TEST(Pseudonyms, equal_names_have_equal_words_and_others_others) {
  const Pseudonyms words("key");
  EXPECT_EQ(words.of(NameKind::Region, "solve"), words.of(NameKind::Region, "solve"));
  EXPECT_NE(words.of(NameKind::Region, "solve"), words.of(NameKind::Region, "step"));
  EXPECT_TRUE(words.of(NameKind::Host, "node17").starts_with("machine_"));
  EXPECT_EQ(words.of(NameKind::Host, ""), "");
}

TEST(Pseudonyms, another_key_gives_other_words) {
  EXPECT_NE(Pseudonyms("key").word("function", "solve"), Pseudonyms("other").word("function", "solve"));
  EXPECT_NE(Pseudonyms().word("function", "solve"), Pseudonyms().word("function", "solve"));
}

TEST(Pseudonyms, what_says_nothing_stays) {
  const Pseudonyms words("key");
  EXPECT_EQ(words.of(NameKind::Region, "MPI_Allreduce"), "MPI_Allreduce");
  EXPECT_EQ(words.of(NameKind::Communicator, "MPI_COMM_WORLD"), "MPI_COMM_WORLD");
  EXPECT_EQ(words.module("/usr/lib/x86_64-linux-gnu/libc.so.6"), "/usr/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_EQ(words.module("[vdso]"), "[vdso]");
  EXPECT_EQ(words.module("/opt/refrain/lib/librefrain-openmpi.so"), "/librefrain-openmpi.so");
  EXPECT_TRUE(words.module("/home/me/app").starts_with("/module_"));
}

TEST(Pseudonyms, names_of_users_that_begin_like_public_ones_do_not_stay) {
  const Pseudonyms words("key");
  EXPECT_TRUE(words.of(NameKind::Region, "MPI_secret").starts_with("mark_"));
  EXPECT_TRUE(words.of(NameKind::Region, "pthread_secret").starts_with("mark_"));
  EXPECT_TRUE(words.of(NameKind::Communicator, "MPI_COMM_SECRET").starts_with("communicator_"));
  symbols::SourceFrame frame;
  for (const char* name : {"MPI_Secret_halo", "mpi_secret_", "MPIR_secret", "__libc_start_secret", "gomp_secret"}) {
    frame.function = name;
    EXPECT_TRUE(words.frame(frame, "/home/me/app").function.starts_with("function_")) << name;
  }
  EXPECT_EQ(words.module("/home/me/python-secret"), "/python");
  frame.function = "secret.omp_outlined_secret";
  EXPECT_EQ(words.frame(frame, "/home/me/app").function.find("secret"), std::string::npos);
}

TEST(Pseudonyms, names_that_call_trees_look_at_stay) {
  const Pseudonyms words("key");
  symbols::SourceFrame frame;
  for (const char* name : {"refrain::Loop::Loop(char const*)", "mpi_send_f08_", "MPI_Send", "__libc_start_main_impl"}) {
    frame.function = name;
    EXPECT_EQ(words.frame(frame, "/home/me/app").function, name);
  }
  frame.function = "solve";
  const std::string solve = words.frame(frame, "/home/me/app").function;
  for (const std::string end : {".omp_outlined", "..omp_par.3", "._omp_fn.0"}) {
    frame.function = "solve" + end;
    EXPECT_EQ(words.frame(frame, "/home/me/app").function, solve + end);
  }
  EXPECT_EQ(words.module("/opt/conda/lib/libpython3.11.so.1.0"), "/libpython3.11.so.1.0");
  EXPECT_EQ(words.module("/usr/bin/python3.11"), "/python3.11");
  EXPECT_EQ(words.module("/opt/gcc/lib64/libgomp.so.1.0.0"), "/libgomp.so.1.0.0");
  frame = {.function = "gomp_team_end", .file = "/home/me/gcc/team.c"};
  EXPECT_EQ(words.frame(frame, "/opt/gcc/lib64/libgomp.so.1").function, "gomp_team_end");
  EXPECT_TRUE(words.frame(frame, "/opt/gcc/lib64/libgomp.so.1").file.starts_with("/file_"));
}

TEST(Pseudonyms, metrics_lose_devices_of_the_machine) {
  const Pseudonyms words("key");
  EXPECT_EQ(words.of(NameKind::Metric, "PAPI_TOT_INS"), "PAPI_TOT_INS");
  EXPECT_EQ(words.of(NameKind::Metric, "perf::PAGE-FAULTS"), "perf::PAGE-FAULTS");
  const std::string bytes = words.of(NameKind::Metric, "net:::ib0:rx:bytes");
  EXPECT_TRUE(bytes.starts_with("net:::event_")) << bytes;
  EXPECT_NE(bytes, words.of(NameKind::Metric, "net:::ib1:rx:bytes"));
}

TEST(Pseudonyms, build_ids_stay_as_long_as_they_are_and_both_writings_agree) {
  const Pseudonyms words("key");
  const std::string bytes("\x00\x12\xab\xff\x01\x02\x03\x04\x05\x06\x07", 11);
  const std::string other = words.of(NameKind::BuildId, bytes);
  EXPECT_EQ(other.size(), bytes.size());
  EXPECT_NE(other, bytes);
  const std::string hexadecimal = words.build_id("0012abff01020304050607");
  ASSERT_EQ(hexadecimal.size(), 22u);
  for (std::size_t i = 0; i < other.size(); ++i)
    EXPECT_EQ(std::stoi(hexadecimal.substr(2 * i, 2), nullptr, 16), static_cast<unsigned char>(other[i]));
  EXPECT_EQ(words.build_id(""), "");
}

TEST(Pseudonyms, frames_lose_their_names_and_files) {
  const Pseudonyms words("key");
  const auto named = [&](const char* function, const char* module) {
    symbols::SourceFrame frame;
    frame.function = function;
    frame.file = "/home/me/solve.c";
    frame.line = 7;
    return words.frame(frame, module);
  };
  const symbols::SourceFrame solve = named("solve", "/home/me/app");
  EXPECT_TRUE(solve.function.starts_with("function_"));
  EXPECT_TRUE(solve.file.starts_with("/file_"));
  EXPECT_EQ(solve.line, 7);
  EXPECT_EQ(named("main", "/home/me/app").function, "main");
  EXPECT_EQ(named("MPI_Send", "/home/me/app").function, "MPI_Send");
  EXPECT_EQ(named("solve._omp_fn.0", "/home/me/app").function, solve.function + "._omp_fn.0");
  EXPECT_EQ(named("memcpy", "/usr/lib/libc.so.6").function, "memcpy");
}

}  // namespace
}  // namespace refrain::anonymous

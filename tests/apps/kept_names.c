/* kept_names SECONDS [look]: computes for so many seconds, in functions whose names are known. WEIGHT makes two builds
 * differ. "look": says first what is left here of a table of functions that `refrain exec` has handed over. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static int lines_with(const char* file, const char* word) {
  char line[4096];
  int count = 0;
  FILE* in = fopen(file, "r");
  while (in && fgets(line, sizeof line, in)) count += strstr(line, word) != NULL;
  if (in) fclose(in);
  return count;
}

static int descriptors_of(const char* word) {
  int count = 0;
  DIR* all = opendir("/proc/self/fd");
  for (struct dirent* one; all && (one = readdir(all));) {
    char path[300], file[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%s", one->d_name);
    const ssize_t size = readlink(path, file, sizeof file - 1);
    file[size > 0 ? size : 0] = 0;
    count += strstr(file, word) != NULL;
  }
  if (all) closedir(all);
  return count;
}

static void look(void) {
  int variables = 0;
  for (char** entry = environ; *entry; ++entry) variables += strncmp(*entry, "REFRAIN_INTERNAL", 16) == 0;
  printf("%d mapped, %d open, %d variables\n", lines_with("/proc/self/maps", "refrain-functions"),
         descriptors_of("refrain-functions"), variables);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static double leaf_work(double x) {
  for (int i = 0; i < 1000; ++i) x = x * 0.999 + WEIGHT;
  return x;
}

static inline __attribute__((always_inline)) double inlined_step(double x) { return leaf_work(x) + WEIGHT; }

__attribute__((noinline)) static double inner_work(double x) {
  for (int i = 0; i < 100; ++i) x = inlined_step(x);
  return x;
}

__attribute__((noinline)) static double outer_work(double seconds) {
  double x = 1;
  for (double end = now() + seconds; now() < end;) x = inner_work(x);
  return x;
}

int main(int argc, char** argv) {
  if (argc > 2) look();
  const double x = outer_work(argc > 1 ? atof(argv[1]) : 1);
  puts(x > 0 ? "done" : "none");
  return 0;
}

/* Calls by code that is not what was there before, or that is on another stack.
     other_code unload FIRST SECOND   plug-ins that lie at one address in turn call PMPI_Barrier, FIRST 3 times, SECOND
   5 times other_code fibers                an operation of MPI_Reduce_local calls MPI itself, then switches to a fiber
   that does */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static ucontext_t program, fiber;
static char stack[256 * 1024];

static void* call_barriers(const char* file, const char* function, int count) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), NULL;
  void (*call)(void) = (void (*)(void))dlsym(library, function);
  for (int i = 0; i < count; ++i) call();
  dlclose(library);
  return (void*)call;
}

static void on_fiber(void) {
  int size;
  for (int i = 0; i < 2; ++i) {
    MPI_Type_size(MPI_INT, &size);
    swapcontext(&fiber, &program);
  }
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  int size;
  (void)in, (void)inout, (void)count;
  MPI_Type_size(*type, &size);
  swapcontext(&program, &fiber);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (strcmp(words[1], "unload") == 0) {
    const void* first = call_barriers(words[2], strstr(words[2], "layer") ? "mpi_barrier_" : "own_barrier_", 3);
    const void* second = call_barriers(words[3], strstr(words[3], "layer") ? "mpi_barrier_" : "own_barrier_", 5);
    printf("%s\n", first && first == second ? "same place" : "other place");
  } else {
    int a = 1, b = 2;
    MPI_Op op;
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = sizeof stack;
    makecontext(&fiber, on_fiber, 0);
    MPI_Op_create(add, 1, &op);
    MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
    MPI_Op_free(&op);
    printf("switched\n");
  }
  MPI_Finalize();
  return 0;
}

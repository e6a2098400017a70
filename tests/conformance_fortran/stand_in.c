/* A stand-in of MPI for a single process, in a library (-DLIBRARY) that a program without MPI loads for itself. */
#include <stdio.h>

#ifdef LIBRARY

int MPI_Init(int* count, char*** arguments) {
  (void)arguments;
  printf("own MPI_Init %d\n", *count);
  return 0;
}
int MPI_Barrier(int comm) { return 100 + comm; }
void mpi_comm_size_(const int* comm, int* size, int* error) { *size = 7 + *comm, *error = 0; }

void use_them(void) {
  int one = 1, size = -1, error = -1;
  const int result = MPI_Init(&one, NULL);
  mpi_comm_size_(&one, &size, &error);
  printf("%d %d %d %d\n", result, size, error, MPI_Barrier(5));
}

#else

#include <dlfcn.h>

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  void (*use_them)(void) = library ? (void (*)(void))dlsym(library, "use_them") : NULL;
  if (!use_them) return 1;
  use_them();
  use_them();
  printf("%s\n", dlerror() ? "an error of another" : "no error");
  return 0;
}

#endif

/* A library and a program in C that use names of Fortran functions of MPI for something else, and of every kind of
   argument. With LIBRARY the library, else the program. */
#include <stdarg.h>
#include <stdio.h>

struct pair {
  double a;
  long b;
};

double mpi_send(double a, int b, float c, const char* d, long e, long f, long g, double h, long i, long j, long k);
struct pair mpi_init(struct pair in, long more);
int mpi_reduce(const char* format, ...);
long double mpi_abort(long double in);

#ifdef LIBRARY

double mpi_send(double a, int b, float c, const char* d, long e, long f, long g, double h, long i, long j, long k) {
  return a + b + (double)c + d[0] + e + f + g + h + i + j * 10 + k * 100;
}
struct pair mpi_init(struct pair in, long more) {
  return (struct pair){in.a * 2, in.b + more};
}
int mpi_reduce(const char* format, ...) {
  va_list list;
  va_start(list, format);
  double sum = 0;
  for (; *format; ++format) sum += *format == 'd' ? va_arg(list, double) : va_arg(list, long);
  va_end(list);
  return (int)(sum * 2);
}
long double mpi_abort(long double in) { return in / 2; }

#else

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) {
    struct pair p = mpi_init((struct pair){1.5, i}, 7);
    printf("%g %g %ld %d %Lg\n", mpi_send(0.5, i, 0.25f, "a", 1, 2, 3, 4.5, 5, 6, 7), p.a, p.b,
           mpi_reduce("dldlldldddlddd", 1.5, 2L, 3.5, 4L, 5L, 6.5, 7L, 8.5, 9.5, 10.5, 11L, 12.5, 13.5, 14.5),
           mpi_abort(3.0L));
  }
  MPI_Finalize();
  return 0;
}

#endif

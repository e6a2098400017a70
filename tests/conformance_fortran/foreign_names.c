/* A library and a program in C that use names of Fortran functions of MPI for something else: functions with every kind
   of argument, and variables. With LIBRARY the library, else the program. */
#include <stdarg.h>
#include <stdio.h>

struct pair {
  double a;
  long b;
};

double mpi_send_(double a, int b, float c, const char* d, long e, long f, long g, double h, long i, long j, long k);
struct pair mpi_init_(struct pair in, long more);
int mpi_reduce_(const char* format, ...);
long double mpi_abort_(long double in);
long mpi_pcontrol_(long level, double factor);
int mpi_test(int add);
extern int mpi_comm_rank, mpi_comm_size;

#ifdef LIBRARY

int mpi_comm_rank = 20, mpi_comm_size = 5, MPI_COMM_GROUP = 1;
int mpi_test(int add) { return (mpi_comm_rank += add) + (MPI_COMM_GROUP += add); }

double mpi_send_(double a, int b, float c, const char* d, long e, long f, long g, double h, long i, long j, long k) {
  return a + b + (double)c + d[0] + e + f + g + h + i + j * 10 + k * 100;
}
struct pair mpi_init_(struct pair in, long more) {
  return (struct pair){in.a * 2, in.b + more};
}
int mpi_reduce_(const char* format, ...) {
  va_list list;
  va_start(list, format);
  double sum = 0;
  for (; *format; ++format) sum += *format == 'd' ? va_arg(list, double) : va_arg(list, long);
  va_end(list);
  return (int)(sum * 2);
}
long double mpi_abort_(long double in) { return in / 2; }
long mpi_pcontrol_(long level, double factor) { return level + (long)(4 * factor); }

#else

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; ++i) {
    struct pair p = mpi_init_((struct pair){1.5, i}, 7);
    printf("%g %g %ld %d %Lg %ld %d %d\n", mpi_send_(0.5, i, 0.25f, "a", 1, 2, 3, 4.5, 5, 6, 7), p.a, p.b,
           mpi_reduce_("dldlldldddlddd", 1.5, 2L, 3.5, 4L, 5L, 6.5, 7L, 8.5, 9.5, 10.5, 11L, 12.5, 13.5, 14.5),
           mpi_abort_(3.0L), mpi_pcontrol_(i, 2.5), mpi_test(100), mpi_comm_size);
  }
  MPI_Finalize();
  return 0;
}

#endif

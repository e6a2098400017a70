/* A program that asks MPI what it is and does not initialize it: its calls have names, too. */
#include "conformance.h"

PATH static void ask(int times) {
  FUNCTION;
  int version, subversion, flag;
  for (int i = 0; i < times; ++i) CALL(MPI_Get_version, (&version, &subversion));
  CALL(MPI_Initialized, (&flag));
  printf("version %d.%d, initialized %d\n", version, subversion, flag);
}

int main(void) {
  ask(1);
  ask(3);
  return end();
}

/* A plug-in of mpi_late whose messages come from two threads of rank 0: the one that initializes MPI, and one that was
 * there before, which Refrain does not know. Two ranks; all messages go from rank 0 to rank 1, on one channel.
 *
 *     first    FIRST messages, by the initializing thread
 *     second   SECOND messages, by the other thread
 *     third    THIRD messages, by the initializing thread
 */
#include <mpi.h>
#include <semaphore.h>
#include <stdio.h>

enum { FIRST = 50, SECOND = 10, THIRD = 50 };

static sem_t first_is_done, second_is_done;
static char bytes[100];

__attribute__((constructor)) static void prepare(void) {
  sem_init(&first_is_done, 0, 0);
  sem_init(&second_is_done, 0, 0);
}

static void send(int count) {
  for (int i = 0; i < count; ++i) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
}

void plugin_helper(void) {
  sem_wait(&first_is_done);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) send(SECOND);
  sem_post(&second_is_done);
}

int plugin_main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) send(FIRST);
  sem_post(&first_is_done);
  sem_wait(&second_is_done);
  if (rank == 0) send(THIRD);
  long sum = 0;
  for (int i = 0; rank == 1 && i < FIRST + SECOND + THIRD; ++i) {
    MPI_Status status;
    int got;
    MPI_Recv(bytes, sizeof bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &got);
    sum = sum * 3 % 1000003 + got;
  }
  if (rank == 1) printf("%ld\n", sum);
  MPI_Finalize();
  return 0;
}

/* Many threads call MPI at once (MPI_THREAD_MULTIPLE). Two ranks, THREADS threads each.
 *
 *     mpi_threads THREADS ROUNDS
 *
 * Every thread sends ROUNDS messages to the other rank in each phase; who receives which is left to chance:
 *   wildcards   one tag for all, MPI_ANY_SOURCE and MPI_ANY_TAG: any thread receives any message
 *   matched     MPI_Mprobe and MPI_Mrecv, MPI_Improbe and MPI_Imrecv, of all threads on one communicator
 *   handed_over a request is posted by one thread and completed by the next one
 *   at_once     many requests of each thread with MPI_Waitall, MPI_Waitany and MPI_Testsome
 *   one_sided   all threads put into one window, of both ranks in turns, sizes by thread
 *   duplicates  each thread makes and frees communicators of one of its own
 * Sizes depend on thread and round, so the bytes are known whatever the order. Prints a sum over what has come, which
 * does not depend on the order either.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_threads = 64, most_bytes = 1024 };

static int rank, peer, threads, rounds;
static MPI_Comm comms[4];
static uint64_t sums[most_threads];
static pthread_barrier_t barrier;

static int size_of(int thread, int round) { return 1 + (thread * 131 + round * 17) % (most_bytes - 1); }

static void fill(unsigned char* out, int thread, int round) {
  for (int i = 0; i < size_of(thread, round); ++i) out[i] = (unsigned char)(thread + 3 * round + i + rank);
}
static void add(int thread, const unsigned char* in, int bytes) {
  for (int i = 0; i < bytes; ++i) sums[thread] += (uint64_t)in[i] * (uint64_t)(i + 1);
}
static void add_status(int thread, const unsigned char* in, const MPI_Status* status) {
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  add(thread, in, bytes);
}

void wildcards(int thread) {
  unsigned char out[most_bytes], in[most_bytes];
  for (int i = 0; i < rounds; ++i) {
    MPI_Request send;
    MPI_Status status;
    fill(out, thread, i);
    MPI_Isend(out, size_of(thread, i), MPI_BYTE, peer, thread, comms[0], &send);
    MPI_Recv(in, sizeof in, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[0], &status);
    add_status(thread, in, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
}

void matched(int thread) {
  unsigned char out[most_bytes], in[most_bytes];
  for (int i = 0; i < rounds; ++i) {
    MPI_Request send, receive;
    MPI_Message message;
    MPI_Status status;
    fill(out, thread, i);
    MPI_Isend(out, size_of(thread, i), MPI_BYTE, peer, 5, comms[1], &send);
    if (thread % 2 == 0) {
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[1], &message, &status);
      MPI_Mrecv(in, sizeof in, MPI_BYTE, &message, &status);
    } else {
      int found = 0;
      while (!found) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[1], &found, &message, &status);
      MPI_Imrecv(in, sizeof in, MPI_BYTE, &message, &receive);
      MPI_Wait(&receive, &status);
    }
    add_status(thread, in, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
}

/* Between two barriers every thread posts; between the next two it completes what its neighbour has posted. */
static MPI_Request posted[most_threads];
static unsigned char landing[most_threads][most_bytes];

void handed_over(int thread) {
  unsigned char out[most_bytes];
  const int other = (thread + 1) % threads;
  for (int i = 0; i < rounds; ++i) {
    MPI_Status status;
    MPI_Irecv(landing[thread], most_bytes, MPI_BYTE, peer, thread, comms[2], &posted[thread]);
    pthread_barrier_wait(&barrier);
    fill(out, thread, i);
    MPI_Send(out, size_of(thread, i), MPI_BYTE, peer, thread, comms[2]);
    MPI_Wait(&posted[other], &status);
    add_status(thread, landing[other], &status);
    pthread_barrier_wait(&barrier);
  }
}

void at_once(int thread) {
  enum { burst = 8 };
  static _Thread_local unsigned char out[burst][most_bytes], in[burst][most_bytes];
  for (int i = 0; i < rounds; i += burst) {
    MPI_Request requests[2 * burst];
    MPI_Status statuses[2 * burst];
    const int n = rounds - i < burst ? rounds - i : burst;
    for (int k = 0; k < n; ++k) {
      fill(out[k], thread, i + k);
      MPI_Irecv(in[k], most_bytes, MPI_BYTE, peer, 100 + thread, comms[3], &requests[k]);
      MPI_Isend(out[k], size_of(thread, i + k), MPI_BYTE, peer, 100 + thread, comms[3], &requests[n + k]);
    }
    if (thread % 3 == 0) {
      MPI_Waitall(2 * n, requests, statuses);
    } else if (thread % 3 == 1) {
      for (int done = 0; done < 2 * n; ++done) {
        int index;
        MPI_Waitany(2 * n, requests, &index, &statuses[0]);
      }
    } else {
      for (int done = 0, count; done < 2 * n; done += count) {
        int indices[2 * burst];
        MPI_Testsome(2 * n, requests, &count, indices, statuses);
      }
    }
    for (int k = 0; k < n; ++k) add(thread, in[k], size_of(thread, i + k));
  }
}

static MPI_Win window;
static unsigned char memory[most_threads * most_threads];

void one_sided(int thread) {
  const unsigned char out[most_threads] = {0};
  for (int i = 0; i < 100 * rounds; ++i)
    MPI_Put(out, thread + 1, MPI_BYTE, i % 2, most_threads * thread, thread + 1, MPI_BYTE, window);
}

static MPI_Comm own[most_threads];

void duplicates(int thread) {
  for (int i = 0; i < rounds / 5; ++i) {
    MPI_Comm made;
    MPI_Comm_dup(own[thread], &made);
    MPI_Comm_free(&made);
  }
}

static void* run(void* number) {
  const int thread = (int)(intptr_t)number;
  wildcards(thread);
  matched(thread);
  handed_over(thread);
  at_once(thread);
  one_sided(thread);
  duplicates(thread);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread[most_threads];
  uint64_t sum = 0, all[2];
  if (argc < 3 || (threads = atoi(argv[1])) > most_threads) return 2;
  rounds = atoi(argv[2]);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 3;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (intptr_t i = 0; i < threads; ++i) pthread_create(&thread[i], NULL, run, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(thread[i], NULL);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&own[i]);
  for (int i = 0; i < threads; ++i) sum += sums[i];
  MPI_Gather(&sum, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%llu %llu\n", (unsigned long long)all[0], (unsigned long long)all[1]);
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}

/* Reads and writes of a file, in all ways in which MPI-IO has them. Two ranks. Usage: events_files FILE */
#include <mpi.h>

int main(int argc, char** argv) {
  char data[200] = {0};
  int rank;
  MPI_File file;
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const MPI_Offset mine = 1000 * rank;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, mine, data, 100 + rank, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, mine + 200, data, 50, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(file, mine + 300, data, 30, MPI_CHAR, &requests[0]);
  MPI_File_iwrite_at(file, mine + 400, data, 40, MPI_CHAR, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_iread_at(file, mine, data, 70, MPI_CHAR, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_read_at(file, mine, data, 20, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}

/* An object with a function of MPI's name that is none of MPI. */
int MPI_Barrier(void) { return 4711; }

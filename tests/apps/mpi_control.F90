! MPI_Pcontrol from Fortran: two exchanges are measured, one of 1000 bytes in between is not.
program control
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  integer :: error, rank
  character :: out(1000), in(1000)
  out = 'x'
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call swap(100)
  call MPI_Pcontrol(0)
  call swap(1000)
  call MPI_Pcontrol(1)
  call swap(200)
  call MPI_Finalize(error)
contains
  subroutine swap(bytes)
    integer, intent(in) :: bytes
    call MPI_Sendrecv(out, bytes, MPI_CHARACTER, 1 - rank, 0, in, bytes, MPI_CHARACTER, 1 - rank, 0, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
  end subroutine
end program

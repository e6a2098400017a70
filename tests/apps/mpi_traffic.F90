! Five messages of 100 bytes in each direction.
program traffic
  implicit none
  include 'mpif.h'
  integer :: error, rank, i
  character :: out(100), in(100)
  out = 'x'
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do i = 1, 5
    if (rank == 0) then
      call MPI_Send(out, 100, MPI_CHARACTER, 1, 0, MPI_COMM_WORLD, error)
      call MPI_Recv(in, 100, MPI_CHARACTER, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    else
      call MPI_Recv(in, 100, MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call MPI_Send(out, 100, MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, error)
    end if
  end do
  call MPI_Finalize(error)
end program

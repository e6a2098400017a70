! What each program of link.py does, in each interface of MPI: the same as link_work.c.
subroutine work()
#if defined(USE_MPI)
  use mpi
#elif defined(USE_MPI_F08)
  use mpi_f08
#endif
  implicit none
#ifdef MPIF_H
  include 'mpif.h'
#endif
  integer :: rank, size, step, to, mine, from, total, result, i, e, all(64)
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, size, e)
  do step = 1, 5
    to = mod(rank + 1, size)
    mine = 10 * step + rank
    call MPI_Sendrecv(mine, 1, MPI_INTEGER, to, 7, from, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, e)
    total = from
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
  end do
  result = 1000000 * size + 10000 * rank + total
  call MPI_Gather(result, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
  if (rank == 0) then
    do i = 1, size
      print '(i0)', all(i)
    end do
  end if
  call MPI_Finalize(e)
end subroutine work

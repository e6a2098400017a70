! null_call.c in Fortran: makes MPI calls that move no data from two call sites in turn, DEPTH frames deep. Prints the
! CPU time per call in nanoseconds, the minimum over batches. Uses mpif.h, or the module mpi_f08 with USE_MPI_F08.
! Usage: fortran_null_call DEPTH [CALLS]
program fortran_null_call
#ifdef USE_MPI_F08
  use mpi_f08
#endif
  implicit none
#ifndef USE_MPI_F08
  include 'mpif.h'
#endif
  integer :: error, depth, total, done
  integer, parameter :: batch = 100000
  double precision :: best, time
  character(20) :: text
  call MPI_Init(error)
  depth = 10
  total = 2000000
  call get_command_argument(1, text)
  if (text /= '') read (text, *) depth
  call get_command_argument(2, text)
  if (text /= '') read (text, *) total
  best = huge(best)
  call descend(depth, 10000, time)
  done = 0
  do while (done < total)
    call descend(depth, batch, time)
    best = min(best, time)
    done = done + 2*batch
  end do
  print '(f0.2)', best
  call MPI_Finalize(error)
end program

recursive subroutine descend(depth, pairs, time)
  implicit none
  integer, intent(in) :: depth, pairs
  double precision, intent(out) :: time
  if (depth <= 1) then
    call calls(pairs, time)
  else
    call descend(depth - 1, pairs, time)
  end if
  time = time + 0
end subroutine

subroutine calls(pairs, time)
#ifdef USE_MPI_F08
  use mpi_f08
#endif
  implicit none
#ifndef USE_MPI_F08
  include 'mpif.h'
#endif
  integer, intent(in) :: pairs
  double precision, intent(out) :: time
  double precision :: begin, end
  integer :: i, error
  character(8) :: buffer
  buffer = ''
  call cpu_time(begin)
  do i = 1, pairs
    call MPI_Send(buffer, 8, MPI_CHARACTER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
    call MPI_Recv(buffer, 8, MPI_CHARACTER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end do
  call cpu_time(end)
  time = (end - begin)*1e9/(2*pairs)
end subroutine

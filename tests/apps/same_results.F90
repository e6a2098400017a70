! Results to the last bit, in Fortran: double and quadruple precision, formatted and written through the run-time
! library. Ends with the status that it is given.
!
!     same_results STATUS STEPS
program same_results
  use, intrinsic :: iso_fortran_env
  implicit none
  include 'mpif.h'
  integer :: error, rank, status, steps, i
  real(real64) :: x, total(2), all(2)
  real(real128) :: q
  character(32) :: word
  call get_command_argument(1, word)
  read (word, *) status
  call get_command_argument(2, word)
  read (word, *) steps
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  x = 0.1_real64 + 0.2_real64 * rank
  q = 0.3_real128
  total = 0
  do i = 1, steps
    x = 3.999_real64 * x * (1 - x)
    total(1) = total(1) + sqrt(x) * 1e8_real64 + x / 3
    if (mod(i, 50) == 0) q = 3.9999_real128 * q * (1 - q)
  end do
  total(2) = real(q, real64) + sin(x)
  call MPI_Allreduce(total, all, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) then
    write (*, '(2z18, es45.36)') total, q
    write (*, '(2z18)') all
  end if
  call MPI_Finalize(error)
  if (status /= 0) call exit(status)
end program

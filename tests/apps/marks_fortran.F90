! Marks of Fortran: macros and calls, the first mark of all in a subroutine of its own, a region by name and without.
#include <refrain/refrain_fortran.h>
program marks_fortran
  use mpi
  use refrain
  implicit none
  integer :: i, error
  real(8) :: sink = 0, begin, planted = 0

  call MPI_Init(error)
  call first_of_all()
  REFRAIN_LOOP_BEGIN("timestep")
  do i = 1, 20
    REFRAIN_ITERATION_BEGIN()
    call work(0.002d0)
    begin = clock()
    call refrain_region_begin("solve   ")
    call work(0.003d0)
    call communicate()
    call refrain_region_end("solve")
    planted = planted + clock() - begin
    REFRAIN_ITERATION_END()
  end do
  if (sink > 0) REFRAIN_LOOP_END()
  call communicate()
  call refrain_loop_end()  ! once too often
  print '(a,f13.9,a)', '{"solve": ', planted, '}'
  call MPI_Finalize(error)

contains

  subroutine first_of_all()
    REFRAIN_REGION_BEGIN("set-up")
    call work(0.2d0)
    call communicate()
    REFRAIN_REGION_END()
    call communicate()
  end subroutine

  function clock() result(seconds)
    real(8) :: seconds
    integer(8) :: count, rate
    call system_clock(count, rate)
    seconds = real(count, 8)/rate
  end function

  subroutine communicate()
    call MPI_Barrier(MPI_COMM_SELF, error)
  end subroutine

  subroutine work(seconds)
    real(8), intent(in) :: seconds
    real(8) :: finish
    integer :: k
    finish = clock() + seconds
    do while (clock() < finish)
      do k = 1, 1000
        sink = sink + 1
      end do
    end do
  end subroutine
end program

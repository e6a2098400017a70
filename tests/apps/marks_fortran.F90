! Marks of Fortran: macros and calls, the first mark of all in a subroutine of its own, a region by name and without.
#include <refrain/refrain_fortran.h>
program marks_fortran
  use mpi
  use refrain
  implicit none
  integer :: i, error
  ! Of a region: the time around its marks and the time between them.
  real(8) :: sink = 0, outer, inner, solve(2) = 0, set_up(2) = 0

  call MPI_Init(error)
  call first_of_all()
  REFRAIN_LOOP_BEGIN("timestep")
  do i = 1, 20
    REFRAIN_ITERATION_BEGIN()
    call work(0.002d0)
    outer = clock()
    call refrain_region_begin("solve   ")
    inner = clock()
    call work(0.003d0)
    call communicate()
    solve(1) = solve(1) + clock() - inner
    call refrain_region_end("solve")
    solve(2) = solve(2) + clock() - outer
    REFRAIN_ITERATION_END()
  end do
  if (sink > 0) REFRAIN_LOOP_END()
  call communicate()
  call refrain_loop_end()  ! once too often
  print '(4(a,f13.9),a)', '{"solve": [', solve(1), ', ', solve(2), '], "set-up": [', set_up(1), ', ', set_up(2), ']}'
  call MPI_Finalize(error)

contains

  subroutine first_of_all()
    outer = clock()
    REFRAIN_REGION_BEGIN("set-up")
    inner = clock()
    call work(0.2d0)
    call communicate()
    set_up(1) = clock() - inner
    REFRAIN_REGION_END()
    set_up(2) = clock() - outer
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

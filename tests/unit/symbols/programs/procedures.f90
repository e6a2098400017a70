module solver
  implicit none
contains
  subroutine relax(x, n)
    integer, intent(in) :: n
    double precision, intent(inout) :: x(n)
    integer :: i
    do i = 1, n
      call update(x(i))
    end do
  contains
    subroutine update(v)
      double precision, intent(inout) :: v
      v = v + n
    end subroutine
  end subroutine
end module
subroutine outside(x)
  double precision, intent(inout) :: x
  x = x * 2
end subroutine
program p
  use solver
  implicit none
  double precision :: x(100)
  x = 1
  call relax(x, 100)
  call outside(x(1))
  print *, sum(x)
end program

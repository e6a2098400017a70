! A main in Fortran: exceptions of a library of C++.
program throwing_main
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  implicit none
  include 'mpif.h'
  interface
    integer(c_long) function throw_and_catch(times) bind(c)
      import :: c_long
      integer(c_long), value :: times
    end function
    real(c_double) function throwing_seconds(times) bind(c)
      import :: c_long, c_double
      integer(c_long), value :: times
    end function
    integer(c_int) function raises_by_libgcc() bind(c)
      import :: c_int
    end function
  end interface
  integer :: error
  integer(c_long) :: times
  character(32) :: word
  call MPI_Init(error)
  call get_command_argument(1, word)
  read (word, *) times
  write (*, '(i0,1x,i0)') throw_and_catch(times), raises_by_libgcc()
  write (error_unit, '(f0.9)') throwing_seconds(times)
  call MPI_Finalize(error)
end program

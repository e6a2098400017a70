! Marks for the main loop of a Fortran program, its iterations, and regions of interest.
!
!   use refrain
!   call refrain_loop_begin("timestep")
!   do t = 1, steps
!     call refrain_iteration_begin()
!     call step(t)
!     call refrain_iteration_end()
!   end do
!   call refrain_loop_end()
!
! Compile this file (Fortran 2018) with the program, before the files that use it. There is nothing to link (before
! glibc 2.34: -ldl). The program runs with and without Refrain; without it a mark calls an empty procedure. The same
! marks as macros, as in C, are in refrain_fortran.h. Begin and end of a mark belong in one procedure. The
! outermost loop of a thread is cut into iterations; loops inside it become regions. Marks are per thread.
module refrain
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_f_procpointer, c_funloc, c_funptr, c_int, &
    c_null_char, c_null_ptr, c_ptr
  implicit none
  private

  abstract interface
    subroutine marks_begin(name)
      character(len=*), intent(in) :: name
    end subroutine
    subroutine marks_end(name)
      character(len=*), intent(in), optional :: name
    end subroutine
    subroutine marks()
    end subroutine
    subroutine marks_first(mark, name, length, helper) bind(c)
      import :: c_char, c_funptr, c_int
      integer(c_int), value :: mark, length
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: helper
    end subroutine
  end interface

  ! The marks are pointers into the runtime, so that no procedure stands between the program and it. The first mark that
  ! is called finds the runtime and sets them.
  procedure(marks_begin), pointer, public, protected :: refrain_loop_begin => first_loop_begin
  procedure(marks), pointer, public, protected :: refrain_loop_end => first_loop_end
  procedure(marks), pointer, public, protected :: refrain_iteration_begin => first_iteration_begin
  procedure(marks), pointer, public, protected :: refrain_iteration_end => first_iteration_end
  procedure(marks_begin), pointer, public, protected :: refrain_region_begin => first_region_begin
  ! Takes the name of the region; without a name it ends the innermost one.
  procedure(marks_end), pointer, public, protected :: refrain_region_end => first_region_end

  ! The table that a measuring runtime defines as the dynamic symbol refrain_fortran_marks_v1. `first_mark` skips the
  ! frame of `helper`.
  type, bind(c) :: table
    type(c_funptr) :: first_mark, loop_begin, loop_end, iteration_begin, iteration_end, region_begin, region_end
  end type
  procedure(marks_first), pointer :: first_mark => null()

  interface
    function find_symbol(handle, name) bind(c, name="dlsym") result(address)
      import :: c_char, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr) :: address
    end function
  end interface

contains

  ! Whether a runtime is loaded. Any number of threads may come here at once, since all do the same.
  logical function found()
    type(c_ptr) :: address
    type(table), pointer :: runtime
    address = find_symbol(c_null_ptr, "refrain_fortran_marks_v1"//c_null_char)
    found = c_associated(address)
    if (found) then
      call c_f_pointer(address, runtime)
      call c_f_procpointer(runtime%first_mark, first_mark)
      call c_f_procpointer(runtime%loop_begin, refrain_loop_begin)
      call c_f_procpointer(runtime%loop_end, refrain_loop_end)
      call c_f_procpointer(runtime%iteration_begin, refrain_iteration_begin)
      call c_f_procpointer(runtime%iteration_end, refrain_iteration_end)
      call c_f_procpointer(runtime%region_begin, refrain_region_begin)
      call c_f_procpointer(runtime%region_end, refrain_region_end)
    else
      refrain_loop_begin => no_begin
      refrain_loop_end => no_mark
      refrain_iteration_begin => no_mark
      refrain_iteration_end => no_mark
      refrain_region_begin => no_begin
      refrain_region_end => no_end
    end if
  end function

  recursive subroutine first_loop_begin(name)
    character(len=*), intent(in) :: name
    if (found()) call first_mark(0_c_int, name, len(name, c_int), c_funloc(first_loop_begin))
  end subroutine

  recursive subroutine first_loop_end()
    if (found()) call first_mark(1_c_int, "", 0_c_int, c_funloc(first_loop_end))
  end subroutine

  recursive subroutine first_iteration_begin()
    if (found()) call first_mark(2_c_int, "", 0_c_int, c_funloc(first_iteration_begin))
  end subroutine

  recursive subroutine first_iteration_end()
    if (found()) call first_mark(3_c_int, "", 0_c_int, c_funloc(first_iteration_end))
  end subroutine

  recursive subroutine first_region_begin(name)
    character(len=*), intent(in) :: name
    if (found()) call first_mark(4_c_int, name, len(name, c_int), c_funloc(first_region_begin))
  end subroutine

  recursive subroutine first_region_end(name)
    character(len=*), intent(in), optional :: name
    if (.not. found()) return
    if (present(name)) then
      call first_mark(5_c_int, name, len(name, c_int), c_funloc(first_region_end))
    else
      call first_mark(5_c_int, "", 0_c_int, c_funloc(first_region_end))
    end if
  end subroutine

  subroutine no_begin(name)
    character(len=*), intent(in) :: name
    if (.false.) print *, name
  end subroutine

  subroutine no_end(name)
    character(len=*), intent(in), optional :: name
    if (.false.) print *, present(name)
  end subroutine

  subroutine no_mark()
  end subroutine
end module

! The marks of refrain.h for preprocessed Fortran, in procedures that use the module refrain (refrain.f90):
!
!   #include <refrain/refrain_fortran.h>
!   subroutine run(steps)
!     use refrain
!     REFRAIN_LOOP_BEGIN("timestep")
!     do t = 1, steps
!       REFRAIN_ITERATION_BEGIN()
!       call step(t)
!       REFRAIN_ITERATION_END()
!     end do
!     REFRAIN_LOOP_END()
!
! REFRAIN_REGION_END takes the name of the region. Without a name it ends the innermost one.
#ifndef REFRAIN_REFRAIN_FORTRAN_H
#define REFRAIN_REFRAIN_FORTRAN_H
#define REFRAIN_LOOP_BEGIN(name) call refrain_loop_begin(name)
#define REFRAIN_LOOP_END() call refrain_loop_end()
#define REFRAIN_ITERATION_BEGIN() call refrain_iteration_begin()
#define REFRAIN_ITERATION_END() call refrain_iteration_end()
#define REFRAIN_REGION_BEGIN(name) call refrain_region_begin(name)
#define REFRAIN_REGION_END(name) call refrain_region_end(name)
#endif

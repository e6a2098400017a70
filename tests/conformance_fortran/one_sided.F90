! One-sided operations: bytes at the origin; two ranks.
#include "interface.inc"

program one_sided
#include "preamble.inc"
  integer :: error, rank
  double precision :: digest
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call open_truth(rank)
  call did('one_sided', 'MPI_Init')
  call did('one_sided', 'MPI_Comm_rank')
  digest = 0
  call fenced(rank, digest)
  call locked(rank, digest)
  call scheduled(rank, digest)
  call allocated(rank, digest)
  call without_fixed_memory()
  if (rank == 0) print '(a,es24.16)', 'one_sided ', digest
  call did('one_sided', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

subroutine fenced(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error
  integer, asynchronous, save :: a(50), b(50), c(50)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  HANDLE(MPI_Win) :: window
  a = rank + 1
  b = 0
  c = 0
  bytes = 200
  call MPI_Win_create(b, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call did('fenced', 'MPI_Win_create')
  call MPI_Win_set_name(window, 'a window', error)
  call did('fenced', 'MPI_Win_set_name')
  call MPI_Win_fence(0, window, error)
  call did('fenced', 'MPI_Win_fence')
  call MPI_Put(a, 5, MPI_INTEGER, 1 - rank, 3_MPI_ADDRESS_KIND, 5, MPI_INTEGER, window, error)
  call did('fenced', 'MPI_Put', 0, 20)
  call MPI_Win_fence(0, window, error)
  call did('fenced', 'MPI_Win_fence')
  call check(b(4) == 2 - rank .and. b(3) == 0, 'MPI_Put')
  call MPI_Get(c, 6, MPI_INTEGER, 1 - rank, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, window, error)
  call did('fenced', 'MPI_Get', 0, 0, 0, 24)
  call MPI_Win_fence(0, window, error)
  call did('fenced', 'MPI_Win_fence')
  call check(c(4) == rank + 1, 'MPI_Get')
  call MPI_Accumulate(a, 2, MPI_INTEGER, 1 - rank, 3_MPI_ADDRESS_KIND, 2, MPI_INTEGER, MPI_SUM, window, error)
  call did('fenced', 'MPI_Accumulate', 0, 8)
  call MPI_Put(a, 5, MPI_INTEGER, MPI_PROC_NULL, 3_MPI_ADDRESS_KIND, 5, MPI_INTEGER, window, error)
  call did('fenced', 'MPI_Put')
  call MPI_Win_fence(0, window, error)
  call did('fenced', 'MPI_Win_fence')
  call check(b(4) == 2*(2 - rank), 'MPI_Accumulate')
  call MPI_Win_free(window, error)
  call did('fenced', 'MPI_Win_free')
  digest = digest + sum(b)
end subroutine

subroutine locked(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error
  integer, asynchronous, save :: a(50), b(50), c(50)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Request) :: request
  a = rank + 1
  b = 0
  c = 0
  bytes = 200
  call MPI_Win_create(b, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call did('locked', 'MPI_Win_create')
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, window, error)
  call did('locked', 'MPI_Win_lock')
  call MPI_Fetch_and_op(a, c, MPI_INTEGER, 1 - rank, 0_MPI_ADDRESS_KIND, MPI_SUM, window, error)
  call did('locked', 'MPI_Fetch_and_op', 0, 4, 0, 4)
  call MPI_Fetch_and_op(a, c, MPI_INTEGER, 1 - rank, 0_MPI_ADDRESS_KIND, MPI_NO_OP, window, error)
  call did('locked', 'MPI_Fetch_and_op', 0, 0, 0, 4)
  call MPI_Win_flush(1 - rank, window, error)
  call did('locked', 'MPI_Win_flush')
  call check(c(1) == rank + 1, 'MPI_Fetch_and_op')
  call MPI_Compare_and_swap(a(2), a(3), c(2), MPI_INTEGER, 1 - rank, 1_MPI_ADDRESS_KIND, window, error)
  call did('locked', 'MPI_Compare_and_swap', 0, 4, 0, 4)
  call MPI_Get_accumulate(a, 3, MPI_INTEGER, c, 3, MPI_INTEGER, 1 - rank, 5_MPI_ADDRESS_KIND, 3, MPI_INTEGER, MPI_SUM, &
                          window, error)
  call did('locked', 'MPI_Get_accumulate', 0, 12, 0, 12)
  call MPI_Rput(a, 4, MPI_INTEGER, 1 - rank, 10_MPI_ADDRESS_KIND, 4, MPI_INTEGER, window, request, error)
  call did('locked', 'MPI_Rput', 0, 16)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call did('locked', 'MPI_Wait')
  call MPI_Win_unlock(1 - rank, window, error)
  call did('locked', 'MPI_Win_unlock')
  call MPI_Win_free(window, error)
  call did('locked', 'MPI_Win_free')
  digest = digest + sum(b)
end subroutine

subroutine scheduled(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error
  integer, asynchronous, save :: a(50), b(50)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Group) :: world, other
  a = rank + 1
  b = 0
  bytes = 200
  call MPI_Comm_group(MPI_COMM_WORLD, world, error)
  call did('scheduled', 'MPI_Comm_group')
  call MPI_Group_incl(world, 1, [1 - rank], other, error)
  call did('scheduled', 'MPI_Group_incl')
  call MPI_Win_create(b, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call did('scheduled', 'MPI_Win_create')
  if (rank == 0) then
    call MPI_Win_start(other, 0, window, error)
    call did('scheduled', 'MPI_Win_start')
    call MPI_Put(a, 10, MPI_INTEGER, 1, 0_MPI_ADDRESS_KIND, 10, MPI_INTEGER, window, error)
    call did('scheduled', 'MPI_Put', 0, 40)
    call MPI_Win_complete(window, error)
    call did('scheduled', 'MPI_Win_complete')
  else
    call MPI_Win_post(other, 0, window, error)
    call did('scheduled', 'MPI_Win_post')
    call MPI_Win_wait(window, error)
    call did('scheduled', 'MPI_Win_wait')
    call check(b(10) == 1, 'MPI_Put')
  end if
  call MPI_Win_free(window, error)
  call did('scheduled', 'MPI_Win_free')
  call MPI_Group_free(other, error)
  call did('scheduled', 'MPI_Group_free')
  call MPI_Group_free(world, error)
  call did('scheduled', 'MPI_Group_free')
  digest = digest + sum(b)
end subroutine

! Memory from MPI comes as an address: TYPE(C_PTR) with a module, an integer with mpif.h.
subroutine allocated(rank, digest)
  use truth
  USE_INTERFACE
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_INTERFACE
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, unit
  integer(kind=MPI_ADDRESS_KIND) :: bytes
#if defined(USE_MPI_F08) || defined(USE_MPI)
  type(c_ptr) :: base
#else
  integer(kind=MPI_ADDRESS_KIND) :: base
#endif
  HANDLE(MPI_Win) :: window
  bytes = 400
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, error)
  call did('allocated', 'MPI_Alloc_mem')
  call use_memory(base, error)
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, error)
  call did('allocated', 'MPI_Win_allocate')
  call MPI_Win_free(window, error)
  call did('allocated', 'MPI_Win_free')
  call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, error)
  call did('allocated', 'MPI_Win_allocate_shared')
  call MPI_Win_shared_query(window, 1 - rank, bytes, unit, base, error)
  call did('allocated', 'MPI_Win_shared_query')
  call check(bytes == 400 .and. unit == 4, 'MPI_Win_shared_query')
  call MPI_Win_lock_all(0, window, error)
  call did('allocated', 'MPI_Win_lock_all')
  call MPI_Win_sync(window, error)
  call did('allocated', 'MPI_Win_sync')
  call MPI_Win_unlock_all(window, error)
  call did('allocated', 'MPI_Win_unlock_all')
  call MPI_Win_free(window, error)
  call did('allocated', 'MPI_Win_free')
  digest = digest + unit
end subroutine

subroutine use_memory(base, error)
  use truth
  USE_INTERFACE
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_INTERFACE
  integer :: error
  integer, pointer :: memory(:)
#if defined(USE_MPI_F08) || defined(USE_MPI)
  type(c_ptr) :: base
  call c_f_pointer(base, memory, [100])
#else
  integer(kind=MPI_ADDRESS_KIND) :: base
  call c_f_pointer(transfer(base, c_null_ptr), memory, [100])
#endif
  memory = 1
  call check(sum(memory) == 100, 'MPI_Alloc_mem')
  call MPI_Free_mem(memory, error)
  call did('use_memory', 'MPI_Free_mem')
end subroutine

subroutine without_fixed_memory()
#include "preamble.inc"
  integer :: error
  integer, asynchronous, save :: a(50)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  HANDLE(MPI_Win) :: window
  bytes = 200
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call did('without_fixed_memory', 'MPI_Win_create_dynamic')
  call MPI_Win_attach(window, a, bytes, error)
  call did('without_fixed_memory', 'MPI_Win_attach')
  call MPI_Win_detach(window, a, error)
  call did('without_fixed_memory', 'MPI_Win_detach')
  call MPI_Win_free(window, error)
  call did('without_fixed_memory', 'MPI_Win_free')
end subroutine

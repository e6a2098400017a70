! Requests: non-blocking and persistent, all ways of completing them; two ranks.
#include "interface.inc"

program requests
#include "preamble.inc"
  integer :: error, rank
  double precision :: digest
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call open_truth(rank)
  call did('requests', 'MPI_Init')
  call did('requests', 'MPI_Comm_rank')
  digest = 0
  call wait_all(rank, digest)
  call wait_one(rank, digest)
  call wait_some(rank, digest)
  call test_all(rank, digest)
  call test_others(rank, digest)
  call persistent(rank, digest)
  call given_up(rank, digest)
  call null_requests()
  call generalized()
  if (rank == 0) print '(a,es24.16)', 'requests ', digest
  call did('requests', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

! Posts a receive of at most 20 numbers and sends `amount`.
subroutine post(rank, a, b, amount, two)
#include "preamble.inc"
  integer, intent(in) :: rank, amount
  integer :: a(20), b(20)
  HANDLE(MPI_Request) :: two(2)
  integer :: error, i
  a = [(i + rank, i=1, 20)]
  b = 0
  call MPI_Irecv(b, 20, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, two(1), error)
  call did('post', 'MPI_Irecv')
  call arrived('post', 'MPI_Irecv', 1, 4*amount)
  select case (mod(amount, 3))
  case (0)
    call MPI_Isend(a, amount, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, two(2), error)
    call did('post', 'MPI_Isend', 1, 4*amount)
  case (1)
    call MPI_Issend(a, amount, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, two(2), error)
    call did('post', 'MPI_Issend', 1, 4*amount)
  case (2)
    call MPI_Isend(a, amount, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, two(2), error)
    call did('post', 'MPI_Isend', 1, 4*amount)
  end select
end subroutine

subroutine wait_all(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer, parameter :: long = 100
  integer :: a(20), b(20), error, i, n, from(long), to(long)
  HANDLE(MPI_Request) :: two(2), many(2*long)
  STATUSES(statuses, 2)
  call post(rank, a, b, 4, two)
  call MPI_Waitall(2, two, MPI_STATUSES_IGNORE, error)
  call did('wait_all', 'MPI_Waitall')
  call completed('wait_all', 'MPI_Waitall', 1, 16)
  call check(b(4) == 5 - rank .and. b(5) == 0, 'MPI_STATUSES_IGNORE')
  call post(rank, a, b, 5, two)
  call MPI_Waitall(2, two, statuses, error)
  call did('wait_all', 'MPI_Waitall')
  call completed('wait_all', 'MPI_Waitall', 1, 20)
#ifdef USE_MPI_F08
  call MPI_Get_count(statuses(1), MPI_INTEGER, n, error)
#else
  call MPI_Get_count(statuses(:, 1), MPI_INTEGER, n, error)
#endif
  call did('wait_all', 'MPI_Get_count')
  call check(n == 5, 'statuses of MPI_Waitall')
  call check(two(1) == MPI_REQUEST_NULL .and. two(2) == MPI_REQUEST_NULL, 'requests after MPI_Waitall')
  digest = digest + sum(b)
  from = rank
  do i = 1, long
    call MPI_Irecv(to(i), 1, MPI_INTEGER, 1 - rank, 1000 + i, MPI_COMM_WORLD, many(i), error)
    call did('wait_all', 'MPI_Irecv')
    call arrived('wait_all', 'MPI_Irecv', 1, 4)
    call MPI_Isend(from(i), 1, MPI_INTEGER, 1 - rank, 1000 + i, MPI_COMM_WORLD, many(long + i), error)
    call did('wait_all', 'MPI_Isend', 1, 4)
  end do
  call MPI_Waitall(2*long, many, MPI_STATUSES_IGNORE, error)
  call did('wait_all', 'MPI_Waitall')
  call completed('wait_all', 'MPI_Waitall', long, 4*long)
  digest = digest + sum(to)
end subroutine

subroutine wait_one(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: a(20), b(20), error, i, which
  logical :: active
  HANDLE(MPI_Request) :: two(2)
  STATUS(status)
  call post(rank, a, b, 6, two)
  call MPI_Wait(two(1), MPI_STATUS_IGNORE, error)
  call did('wait_one', 'MPI_Wait')
  call completed('wait_one', 'MPI_Wait', 1, 24)
  call MPI_Wait(two(2), status, error)
  call did('wait_one', 'MPI_Wait')
  call post(rank, a, b, 7, two)
  active = .true.  ! which one it was is told by the request: MPICH 4.0 gives wrong indices in mpi_f08
  do i = 1, 2
    call MPI_Waitany(2, two, which, status, error)
    call did('wait_one', 'MPI_Waitany')
    if (active .and. two(1) == MPI_REQUEST_NULL) then
      active = .false.
      call completed('wait_one', 'MPI_Waitany', 1, 28)
      call check(SOURCE_OF(status) == 1 - rank, 'status of MPI_Waitany')
    end if
  end do
  call MPI_Waitany(2, two, which, MPI_STATUS_IGNORE, error)
  call did('wait_one', 'MPI_Waitany')
  digest = digest + sum(b)
end subroutine

subroutine wait_some(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: a(20), b(20), error, left, count, indices(2)
  logical :: active
  HANDLE(MPI_Request) :: two(2)
  STATUSES(statuses, 2)
  call post(rank, a, b, 8, two)
  active = .true.
  left = 2
  do while (left > 0)
    call MPI_Waitsome(2, two, count, indices, statuses, error)
    call did('wait_some', 'MPI_Waitsome')
    left = left - count
    if (active .and. two(1) == MPI_REQUEST_NULL) then
      active = .false.
      call completed('wait_some', 'MPI_Waitsome', 1, 32)
    end if
  end do
  call post(rank, a, b, 9, two)
  active = .true.
  left = 2
  do while (left > 0)
    call MPI_Testsome(2, two, count, indices, MPI_STATUSES_IGNORE, error)
    call did('wait_some', 'MPI_Testsome')
    left = left - count
    if (active .and. two(1) == MPI_REQUEST_NULL) then
      active = .false.
      call completed('wait_some', 'MPI_Testsome', 1, 36)
    end if
  end do
  digest = digest + sum(b)
end subroutine

subroutine test_all(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: a(20), b(20), error
  logical :: flag
  HANDLE(MPI_Request) :: two(2)
  STATUSES(statuses, 2)
  call post(rank, a, b, 10, two)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, two, flag, MPI_STATUSES_IGNORE, error)
    call did('test_all', 'MPI_Testall')
  end do
  call completed('test_all', 'MPI_Testall', 1, 40)
  call post(rank, a, b, 11, two)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, two, flag, statuses, error)
    call did('test_all', 'MPI_Testall')
  end do
  call completed('test_all', 'MPI_Testall', 1, 44)
  digest = digest + sum(b)
end subroutine

subroutine test_others(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: a(20), b(20), error, which, left
  logical :: flag, active
  HANDLE(MPI_Request) :: two(2)
  STATUS(status)
  call post(rank, a, b, 12, two)
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status(two(1), flag, status, error)
    call did('test_others', 'MPI_Request_get_status')
  end do
  flag = .false.
  do while (.not. flag)
    call MPI_Test(two(1), flag, MPI_STATUS_IGNORE, error)
    call did('test_others', 'MPI_Test')
  end do
  call completed('test_others', 'MPI_Test', 1, 48)
  call MPI_Wait(two(2), MPI_STATUS_IGNORE, error)
  call did('test_others', 'MPI_Wait')
  call post(rank, a, b, 13, two)
  active = .true.
  left = 2
  do while (left > 0)
    call MPI_Testany(2, two, which, flag, status, error)
    call did('test_others', 'MPI_Testany')
    if (.not. flag) cycle
    left = left - 1
    if (active .and. two(1) == MPI_REQUEST_NULL) then
      active = .false.
      call completed('test_others', 'MPI_Testany', 1, 52)
    end if
  end do
  digest = digest + sum(b)
end subroutine

subroutine persistent(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: a(20), b(20), error, i
  HANDLE(MPI_Request) :: two(2)
  STATUS(status)
  a = rank + 1
  b = 0
  call MPI_Recv_init(b, 20, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, two(1), error)
  call did('persistent', 'MPI_Recv_init')
  call MPI_Send_init(a, 14, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, two(2), error)
  call did('persistent', 'MPI_Send_init')
  do i = 1, 3
    call MPI_Startall(2, two, error)
    call did('persistent', 'MPI_Startall', 1, 56)
    call MPI_Waitall(2, two, MPI_STATUSES_IGNORE, error)
    call did('persistent', 'MPI_Waitall')
    call completed('persistent', 'MPI_Waitall', 1, 56)
    call arrived('persistent', 'MPI_Startall', 1, 56)
  end do
  call MPI_Request_free(two(2), error)
  call did('persistent', 'MPI_Request_free')
  call MPI_Ssend_init(a, 15, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, two(2), error)
  call did('persistent', 'MPI_Ssend_init')
  call MPI_Start(two(1), error)
  call did('persistent', 'MPI_Start')
  call MPI_Start(two(2), error)
  call did('persistent', 'MPI_Start', 1, 60)
  call MPI_Wait(two(1), status, error)
  call did('persistent', 'MPI_Wait')
  call completed('persistent', 'MPI_Wait', 1, 60)
  call arrived('persistent', 'MPI_Start', 1, 60)
  call MPI_Wait(two(2), MPI_STATUS_IGNORE, error)
  call did('persistent', 'MPI_Wait')
  ! An inactive request is complete at once.
  call MPI_Wait(two(2), MPI_STATUS_IGNORE, error)
  call did('persistent', 'MPI_Wait')
  call MPI_Request_free(two(1), error)
  call did('persistent', 'MPI_Request_free')
  call MPI_Request_free(two(2), error)
  call did('persistent', 'MPI_Request_free')
  call check(two(1) == MPI_REQUEST_NULL, 'MPI_Request_free')
  digest = digest + sum(b)
end subroutine

! Cancelled, and freed while active.
subroutine given_up(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: b(20), error
  integer, save :: a(20)
  logical :: flag
  HANDLE(MPI_Request) :: request
  STATUS(status)
  a = 4
  b = 0
  call MPI_Irecv(b, 20, MPI_INTEGER, 1 - rank, 77, MPI_COMM_WORLD, request, error)
  call did('given_up', 'MPI_Irecv')
  call MPI_Cancel(request, error)
  call did('given_up', 'MPI_Cancel')
  call MPI_Wait(request, status, error)
  call did('given_up', 'MPI_Wait')
  call MPI_Test_cancelled(status, flag, error)
  call did('given_up', 'MPI_Test_cancelled')
  call check(flag, 'MPI_Cancel')
  call MPI_Isend(a, 3, MPI_INTEGER, 1 - rank, 78, MPI_COMM_WORLD, request, error)
  call did('given_up', 'MPI_Isend', 1, 12)
  call MPI_Request_free(request, error)
  call did('given_up', 'MPI_Request_free')
  call MPI_Recv(b, 20, MPI_INTEGER, 1 - rank, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call did('given_up', 'MPI_Recv', 0, 0, 1, 12)
  digest = digest + sum(b)
end subroutine

subroutine null_requests()
#include "preamble.inc"
  integer :: error
  logical :: flag
  HANDLE(MPI_Request) :: two(2)
  two = MPI_REQUEST_NULL
  call MPI_Waitall(2, two, MPI_STATUSES_IGNORE, error)
  call did('null_requests', 'MPI_Waitall')
  call MPI_Waitall(0, two, MPI_STATUSES_IGNORE, error)
  call did('null_requests', 'MPI_Waitall')
  call MPI_Test(two(1), flag, MPI_STATUS_IGNORE, error)
  call did('null_requests', 'MPI_Test')
  call check(flag, 'MPI_REQUEST_NULL')
end subroutine

! MPI calls back into Fortran.
subroutine generalized()
#include "preamble.inc"
  integer :: error
  HANDLE(MPI_Request) :: request
  integer(kind=MPI_ADDRESS_KIND) :: state
  external :: query_it, free_it, cancel_it
#ifndef USE_MPI_F08
  state = 1
  call MPI_Grequest_start(query_it, free_it, cancel_it, state, request, error)
  call did('generalized', 'MPI_Grequest_start')
  call MPI_Grequest_complete(request, error)
  call did('generalized', 'MPI_Grequest_complete')
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call did('generalized', 'MPI_Wait')
#endif
end subroutine

! Called by MPI: its own calls are part of MPI_Wait.
subroutine query_it(state, status, error)
  USE_INTERFACE
  implicit none
  INCLUDE_INTERFACE
  integer(kind=MPI_ADDRESS_KIND) :: state
  STATUS(status)
  integer :: error, ignored
  call MPI_Status_set_elements(status, MPI_INTEGER, 0, ignored)
  call MPI_Status_set_cancelled(status, .false., ignored)
  SOURCE_OF(status) = MPI_UNDEFINED
  TAG_OF(status) = MPI_UNDEFINED
  error = MPI_SUCCESS
end subroutine

subroutine free_it(state, error)
  USE_INTERFACE
  implicit none
  INCLUDE_INTERFACE
  integer(kind=MPI_ADDRESS_KIND) :: state
  integer :: error
  error = MPI_SUCCESS
end subroutine

subroutine cancel_it(state, complete, error)
  USE_INTERFACE
  implicit none
  INCLUDE_INTERFACE
  integer(kind=MPI_ADDRESS_KIND) :: state
  logical :: complete
  integer :: error
  error = MPI_SUCCESS
end subroutine

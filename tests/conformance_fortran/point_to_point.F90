! Blocking point-to-point calls, two ranks.
#include "interface.inc"

program point_to_point
#include "preamble.inc"
  integer :: error, rank
  double precision :: digest
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call open_truth(rank)
  call did('point_to_point', 'MPI_Init')
  call did('point_to_point', 'MPI_Comm_rank')
  digest = 0
  call send_modes(rank, digest)
  call status_and_sentinels(rank, digest)
  call exchanges(rank, digest)
  call probes(rank, digest)
  call buffered(rank, digest)
  call nowhere(digest)
  call strided(rank, digest)
  if (rank == 0) print '(a,es24.16)', 'point_to_point ', digest
  call did('point_to_point', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

subroutine send_modes(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, i
  double precision :: a(20)
  STATUS(status)
  if (rank == 0) then
    a = [(i, i=1, 20)]
    call MPI_Send(a, 3, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, error)
    call did('send_modes', 'MPI_Send', 1, 24)
    call MPI_Ssend(a, 4, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, error)
    call did('send_modes', 'MPI_Ssend', 1, 32)
    ! The receive for this one is posted before the token below comes.
    call MPI_Recv(a, 20, MPI_DOUBLE_PRECISION, 1, 3, MPI_COMM_WORLD, status, error)
    call did('send_modes', 'MPI_Recv', 0, 0, 1, 0)
    call MPI_Rsend(a, 5, MPI_DOUBLE_PRECISION, 1, 4, MPI_COMM_WORLD, error)
    call did('send_modes', 'MPI_Rsend', 1, 40)
  else
    call late_ready(a)
  end if
  digest = digest + sum(a(:2))
end subroutine

subroutine late_ready(a)
#include "preamble.inc"
  double precision, intent(inout) :: a(20)
  integer :: error
  HANDLE(MPI_Request) :: request
  STATUS(status)
  a = 0
  ! Shorter than the buffers: what really came counts.
  call MPI_Recv(a, 20, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, status, error)
  call did('late_ready', 'MPI_Recv', 0, 0, 1, 24)
  call check(a(3) == 3 .and. a(4) == 0, 'MPI_Recv')
  call MPI_Recv(a, 20, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, status, error)
  call did('late_ready', 'MPI_Recv', 0, 0, 1, 32)
  call MPI_Irecv(a, 20, MPI_DOUBLE_PRECISION, 0, 4, MPI_COMM_WORLD, request, error)
  call did('late_ready', 'MPI_Irecv')
  call MPI_Send(a, 0, MPI_DOUBLE_PRECISION, 0, 3, MPI_COMM_WORLD, error)
  call did('late_ready', 'MPI_Send', 1, 0)
  call MPI_Wait(request, status, error)
  call did('late_ready', 'MPI_Wait')
  call completed('late_ready', 'MPI_Wait', 1, 40)
  call arrived('late_ready', 'MPI_Irecv', 1, 40)
end subroutine

subroutine status_and_sentinels(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, n, i
  integer :: a(100)
  STATUS(status)
  HANDLE(MPI_Datatype) :: here
  integer(kind=MPI_ADDRESS_KIND) :: address
  a = [(i + rank, i=1, 100)]
  if (rank == 0) then
    call MPI_Send(a, 7, MPI_INTEGER, 1, 11, MPI_COMM_WORLD, error)
    call did('status_and_sentinels', 'MPI_Send', 1, 28)
    call MPI_Send(a, 8, MPI_INTEGER, 1, 12, MPI_COMM_WORLD, error)
    call did('status_and_sentinels', 'MPI_Send', 1, 32)
    call MPI_Send(a, 9, MPI_INTEGER, 1, 13, MPI_COMM_WORLD, error)
    call did('status_and_sentinels', 'MPI_Send', 1, 36)
  else
    a = 0
    call MPI_Recv(a, 100, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
    call did('status_and_sentinels', 'MPI_Recv', 0, 0, 1, 28)
    call check(SOURCE_OF(status) == 0 .and. TAG_OF(status) == 11, 'status of MPI_Recv')
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    call did('status_and_sentinels', 'MPI_Get_count')
    call check(n == 7, 'MPI_Get_count')
    call MPI_Get_elements(status, MPI_INTEGER, n, error)
    call did('status_and_sentinels', 'MPI_Get_elements')
    call check(n == 7, 'MPI_Get_elements')
    call MPI_Recv(a, 100, MPI_INTEGER, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call did('status_and_sentinels', 'MPI_Recv', 0, 0, 1, 32)
    call check(a(8) == 8 .and. a(9) == 0, 'MPI_STATUS_IGNORE')
    ! The datatype holds the address, the buffer is MPI_BOTTOM.
    call MPI_Get_address(a, address, error)
    call did('status_and_sentinels', 'MPI_Get_address')
    call MPI_Type_create_hindexed(1, [100], [address], MPI_INTEGER, here, error)
    call did('status_and_sentinels', 'MPI_Type_create_hindexed')
    call MPI_Type_commit(here, error)
    call did('status_and_sentinels', 'MPI_Type_commit')
    call MPI_Recv(MPI_BOTTOM, 1, here, 0, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call did('status_and_sentinels', 'MPI_Recv', 0, 0, 1, 36)
    call MPI_Type_free(here, error)
    call did('status_and_sentinels', 'MPI_Type_free')
    call check(a(9) == 9 .and. a(10) == 0, 'MPI_BOTTOM')
  end if
  digest = digest + sum(a(:7))
end subroutine

subroutine exchanges(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error
  double precision :: a(10), b(10)
  STATUS(status)
  a = rank + 1
  b = 0
  call MPI_Sendrecv(a, 4 + rank, MPI_DOUBLE_PRECISION, 1 - rank, 5, b, 10, MPI_DOUBLE_PRECISION, 1 - rank, 5, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call did('exchanges', 'MPI_Sendrecv', 1, (4 + rank)*8, 1, (5 - rank)*8)
  call check(b(1) == 2 - rank, 'MPI_Sendrecv')
  call MPI_Sendrecv_replace(a, 10, MPI_DOUBLE_PRECISION, 1 - rank, 6, 1 - rank, 6, MPI_COMM_WORLD, status, error)
  call did('exchanges', 'MPI_Sendrecv_replace', 1, 80, 1, 80)
  call check(a(10) == 2 - rank .and. TAG_OF(status) == 6, 'MPI_Sendrecv_replace')
  digest = digest + sum(b)
end subroutine

subroutine probes(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, n
  integer :: a(10)
  logical :: flag
  HANDLE(MPI_Message) :: message
  HANDLE(MPI_Request) :: request
  STATUS(status)
  a = 3
  if (rank == 0) then
    do n = 1, 5
      call MPI_Send(a, n, MPI_INTEGER, 1, 20 + n, MPI_COMM_WORLD, error)
      call did('probes', 'MPI_Send', 1, 4*n)
    end do
  else
    call MPI_Probe(0, 21, MPI_COMM_WORLD, status, error)
    call did('probes', 'MPI_Probe')
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    call did('probes', 'MPI_Get_count')
    call check(n == 1, 'MPI_Probe')
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(0, 22, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, error)
      call did('probes', 'MPI_Iprobe')
    end do
    call MPI_Recv(a, 10, MPI_INTEGER, 0, 21, MPI_COMM_WORLD, status, error)
    call did('probes', 'MPI_Recv', 0, 0, 1, 4)
    call MPI_Recv(a, 10, MPI_INTEGER, 0, 22, MPI_COMM_WORLD, status, error)
    call did('probes', 'MPI_Recv', 0, 0, 1, 8)
    call MPI_Mprobe(0, 23, MPI_COMM_WORLD, message, status, error)
    call did('probes', 'MPI_Mprobe')
    call MPI_Mrecv(a, 10, MPI_INTEGER, message, MPI_STATUS_IGNORE, error)
    call did('probes', 'MPI_Mrecv', 0, 0, 1, 12)
    call check(message == MPI_MESSAGE_NULL, 'MPI_Mrecv')
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(MPI_ANY_SOURCE, 24, MPI_COMM_WORLD, flag, message, status, error)
      call did('probes', 'MPI_Improbe')
    end do
    call MPI_Imrecv(a, 10, MPI_INTEGER, message, request, error)
    call did('probes', 'MPI_Imrecv')
    call MPI_Wait(request, status, error)
    call did('probes', 'MPI_Wait')
    call arrived('probes', 'MPI_Imrecv', 1, 16)
    call completed('probes', 'MPI_Wait', 1, 16)
    call MPI_Mprobe(0, 25, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, error)
    call did('probes', 'MPI_Mprobe')
    call MPI_Mrecv(a, 10, MPI_INTEGER, message, status, error)
    call did('probes', 'MPI_Mrecv', 0, 0, 1, 20)
  end if
  digest = digest + sum(a)
end subroutine

subroutine buffered(rank, digest)
  use truth
  USE_INTERFACE
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none
  INCLUDE_INTERFACE
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, length
  integer, save, target :: space(10000)
  integer :: a(10)
#ifdef USE_MPI_F08
  type(c_ptr) :: detached
#else
  integer :: detached(10000)
#endif
  a = 5
  if (rank == 0) then
    call MPI_Buffer_attach(space, 40000, error)
    call did('buffered', 'MPI_Buffer_attach')
    call MPI_Bsend(a, 6, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, error)
    call did('buffered', 'MPI_Bsend', 1, 24)
    call MPI_Buffer_detach(detached, length, error)
    call did('buffered', 'MPI_Buffer_detach')
    call check(length == 40000, 'MPI_Buffer_detach')
  else
    call MPI_Recv(a, 10, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call did('buffered', 'MPI_Recv', 0, 0, 1, 24)
  end if
  digest = digest + sum(a)
end subroutine

! MPI_PROC_NULL moves nothing.
subroutine nowhere(digest)
#include "preamble.inc"
  double precision, intent(inout) :: digest
  integer :: error
  integer :: a(10)
  STATUS(status)
  a = 1
  call MPI_Send(a, 10, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
  call did('nowhere', 'MPI_Send')
  call MPI_Recv(a, 10, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, error)
  call did('nowhere', 'MPI_Recv')
  call check(SOURCE_OF(status) == MPI_PROC_NULL, 'MPI_PROC_NULL')
  call MPI_Sendrecv(a, 5, MPI_INTEGER, MPI_PROC_NULL, 1, a(6), 5, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, error)
  call did('nowhere', 'MPI_Sendrecv')
  digest = digest + sum(a)
end subroutine

! A section of an array. MPICH's mpi_f08 takes it as it is and makes a datatype of its own for it.
subroutine strided(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, i
  integer :: a(40)
  a = [(i, i=1, 40)]
  if (rank == 0) then
    call MPI_Send(a(1:40:4), 10, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, error)
    call did('strided', 'MPI_Send', 1, 40)
  else
    a = 0
    call MPI_Recv(a, 40, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call did('strided', 'MPI_Recv', 0, 0, 1, 40)
    call check(a(10) == 37 .and. a(11) == 0, 'a section of an array')
  end if
  digest = digest + sum(a(:10))
end subroutine

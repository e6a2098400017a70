! Collective operations, any number of ranks. Bytes as adapters/mpi/calls/traffic.hpp defines them.
#include "interface.inc"
! Persistent collective operations came with MPI 4; Open MPI 4.1 has them as an extension, which the modules do not show.
#if defined(USE_EXTENSION) && !defined(USE_MPI) && !defined(USE_MPI_F08)
#define ALLREDUCE_INIT MPIX_Allreduce_init
#elif !defined(USE_EXTENSION)
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif

program collectives
#include "preamble.inc"
  integer :: error, rank, ranks
  double precision :: digest, all
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call open_truth(rank)
  call did('collectives', 'MPI_Init')
  call did('collectives', 'MPI_Comm_rank')
  call did('collectives', 'MPI_Comm_size')
  digest = 0
  call from_one(rank, ranks, digest)
  call to_one(rank, ranks, digest)
  call in_place(rank, ranks, digest)
  call to_all(rank, ranks, digest)
  call reductions(rank, ranks, digest)
  call callbacks(rank, ranks, digest)
  call non_blocking(rank, ranks, digest)
  call neighbours(rank, ranks, digest)
#ifdef ALLREDUCE_INIT
  call persistent(rank, ranks, digest)
#endif
  call MPI_Reduce(digest, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  call did('collectives', 'MPI_Reduce', 0, 8, 0, merge(8*ranks, 0, rank == 0))
  if (rank == 0) print '(a,es24.16)', 'collectives ', all
  call did('collectives', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

subroutine from_one(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(100), b(100), counts(16), starts(16), error, i
  logical :: root
  root = rank == 1
  a = [(i, i=1, 100)]
  b = 0
  if (root) b = a
  call MPI_Bcast(b, 10, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  call did('from_one', 'MPI_Bcast', 0, merge(40*ranks, 0, root), 0, 40)
  call check(b(10) == 10, 'MPI_Bcast')
  call MPI_Scatter(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  call did('from_one', 'MPI_Scatter', 0, merge(12*ranks, 0, root), 0, 12)
  call check(b(1) == 3*rank + 1, 'MPI_Scatter')
  counts(:ranks) = [(i, i=1, ranks)]
  starts(:ranks) = [(i*(i - 1)/2, i=1, ranks)]
  call MPI_Scatterv(a, counts, starts, MPI_INTEGER, b, rank + 1, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  call did('from_one', 'MPI_Scatterv', 0, merge(4*(ranks*(ranks + 1)/2), 0, root), 0, 4*(rank + 1))
  call check(b(1) == rank*(rank + 1)/2 + 1, 'MPI_Scatterv')
  digest = digest + sum(b(:3))
end subroutine

subroutine to_one(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(100), b(100), counts(16), starts(16), error, i
  logical :: root
  root = rank == 0
  a = rank + 1
  b = 0
  call MPI_Gather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  call did('to_one', 'MPI_Gather', 0, 8, 0, merge(8*ranks, 0, root))
  if (root) call check(b(2*ranks) == ranks, 'MPI_Gather')
  counts(:ranks) = [(i, i=1, ranks)]
  starts(:ranks) = [(i*(i - 1)/2, i=1, ranks)]
  ! Fortran libraries ask for the size of the communicator here, which the program did not.
  call MPI_Gatherv(a, rank + 1, MPI_INTEGER, b, counts, starts, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  call did('to_one', 'MPI_Gatherv', 0, 4*(rank + 1), 0, merge(4*(ranks*(ranks + 1)/2), 0, root))
  call MPI_Reduce(a, b, 5, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  call did('to_one', 'MPI_Reduce', 0, 20, 0, merge(20*ranks, 0, root))
  if (root) call check(b(5) == ranks*(ranks + 1)/2, 'MPI_Reduce')
  digest = digest + sum(b)
end subroutine

subroutine in_place(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(100), b(100), counts(16), starts(16), error, i, o
  logical :: root
  o = ranks - 1
  root = rank == 0
  a = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, a, 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
  call did('in_place', 'MPI_Allreduce', 0, 16*o, 0, 16*o)
  call check(a(4) == ranks .and. a(5) == rank + 1, 'MPI_IN_PLACE in MPI_Allreduce')
  a = rank + 1
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('in_place', 'MPI_Allgather', 0, 8*o, 0, 8*o)
  call check(a(2*ranks) == ranks .and. a(1) == 1, 'MPI_IN_PLACE in MPI_Allgather')
  counts(:ranks) = [(i, i=1, ranks)]
  starts(:ranks) = [(i*(i - 1)/2, i=1, ranks)]
  call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('in_place', 'MPI_Allgatherv', 0, 4*o*(rank + 1), 0, 4*(ranks*(ranks + 1)/2 - rank - 1))
  a = rank + 1
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('in_place', 'MPI_Alltoall', 0, 8*o, 0, 8*o)
  call check(all(a(:2*ranks:2) == [(i, i=1, ranks)]), 'MPI_IN_PLACE in MPI_Alltoall')
  a = rank + 1
  if (root) then
    call MPI_Reduce(MPI_IN_PLACE, a, 3, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Reduce', 0, 0, 0, 12*o)
    call check(a(3) == ranks*(ranks + 1)/2, 'MPI_IN_PLACE in MPI_Reduce')
    call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Gather', 0, 0, 0, 8*o)
    call MPI_Scatter(b, 2, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Scatter', 0, 8*o, 0, 0)
    call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, starts, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Gatherv', 0, 0, 0, 4*(ranks*(ranks + 1)/2 - 1))
    call MPI_Scatterv(b, counts, starts, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Scatterv', 0, 4*(ranks*(ranks + 1)/2 - 1), 0, 0)
  else
    call MPI_Reduce(a, b, 3, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Reduce', 0, 12, 0, 0)
    call MPI_Gather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Gather', 0, 8, 0, 0)
    b = 0
    call MPI_Scatter(b, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Scatter', 0, 0, 0, 8)
    call check(b(2) == rank + 1, 'MPI_Scatter')
    call MPI_Gatherv(a, rank + 1, MPI_INTEGER, b, counts, starts, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Gatherv', 0, 4*(rank + 1), 0, 0)
    call MPI_Scatterv(b, counts, starts, MPI_INTEGER, b, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call did('in_place', 'MPI_Scatterv', 0, 0, 0, 4*(rank + 1))
  end if
  a = rank + 1
  call MPI_Scan(MPI_IN_PLACE, a, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call did('in_place', 'MPI_Scan', 0, 8*(ranks - rank - 1), 0, 8*rank)
  call check(a(2) == (rank + 1)*(rank + 2)/2, 'MPI_IN_PLACE in MPI_Scan')
  a = rank + 1
  call MPI_Reduce_scatter_block(MPI_IN_PLACE, a, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call did('in_place', 'MPI_Reduce_scatter_block', 0, 8*o, 0, 8*o)
  call check(a(2) == ranks*(ranks + 1)/2, 'MPI_IN_PLACE in MPI_Reduce_scatter_block')
  digest = digest + sum(a(:2))
end subroutine

subroutine to_all(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(200), b(200), counts(16), starts(16), own(16), offsets(16), error, i
  HANDLE(MPI_Datatype) :: types(16)
  a = rank + 1
  b = 0
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Barrier')
  call MPI_Allgather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Allgather', 0, 8*ranks, 0, 8*ranks)
  counts(:ranks) = [(i, i=1, ranks)]
  starts(:ranks) = [(i*(i - 1)/2, i=1, ranks)]
  call MPI_Allgatherv(a, rank + 1, MPI_INTEGER, b, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Allgatherv', 0, 4*ranks*(rank + 1), 0, 4*(ranks*(ranks + 1)/2))
  call MPI_Alltoall(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Alltoall', 0, 12*ranks, 0, 12*ranks)
  ! Rank r sends r + i + 1 numbers to rank i.
  own(:ranks) = [(rank + i, i=1, ranks)]
  offsets(:ranks) = [((i - 1)*10, i=1, ranks)]
  call MPI_Alltoallv(a, own, offsets, MPI_INTEGER, b, own, offsets, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Alltoallv', 0, 4*sum(own(:ranks)), 0, 4*sum(own(:ranks)))
  types = MPI_INTEGER
  offsets = 4*offsets
  call MPI_Alltoallw(a, own, offsets, types, b, own, offsets, types, MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Alltoallw', 0, 4*sum(own(:ranks)), 0, 4*sum(own(:ranks)))
  call MPI_Alltoallw(MPI_IN_PLACE, own, offsets, types, b, own, offsets, types, MPI_COMM_WORLD, error)
  call did('to_all', 'MPI_Alltoallw', 0, 4*(sum(own(:ranks)) - own(rank + 1)), 0, &
           4*(sum(own(:ranks)) - own(rank + 1)))
  digest = digest + sum(b)
end subroutine

subroutine reductions(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  double precision :: a(100), b(100)
  integer :: counts(16), error, i
  a = rank + 1
  b = 0
  do i = 1, 7
    call MPI_Allreduce(a, b, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call did('reductions', 'MPI_Allreduce', 0, 32*ranks, 0, 32*ranks)
  end do
  counts(:ranks) = [(i, i=1, ranks)]
  call MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call did('reductions', 'MPI_Reduce_scatter', 0, 8*(ranks*(ranks + 1)/2), 0, 8*ranks*(rank + 1))
  call MPI_Reduce_scatter_block(a, b, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call did('reductions', 'MPI_Reduce_scatter_block', 0, 24*ranks, 0, 24*ranks)
  call MPI_Scan(a, b, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call did('reductions', 'MPI_Scan', 0, 16*(ranks - rank), 0, 16*(rank + 1))
  b = 0
  call MPI_Exscan(a, b, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call did('reductions', 'MPI_Exscan', 0, 16*(ranks - rank - 1), 0, 16*rank)
  if (rank > 0) call check(b(1) == rank*(rank + 1)/2, 'MPI_Exscan')
  call MPI_Reduce_local(a, b, 2, MPI_DOUBLE_PRECISION, MPI_SUM, error)
  call did('reductions', 'MPI_Reduce_local')
  digest = digest + sum(b(:2))
end subroutine

! MPI calls a function of the program; what it calls in turn is part of MPI_Allreduce.
subroutine callbacks(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(10), b(10), error
  HANDLE(MPI_Op) :: op
#ifdef USE_MPI_F08
  procedure(MPI_User_function) :: add_up
#else
  external :: add_up
#endif
  logical :: commutes
  a = rank + 1
  call MPI_Op_create(add_up, .true., op, error)
  call did('callbacks', 'MPI_Op_create')
  call MPI_Op_commutative(op, commutes, error)
  call did('callbacks', 'MPI_Op_commutative')
  call check(commutes, 'MPI_Op_commutative')
  call MPI_Allreduce(a, b, 10, MPI_INTEGER, op, MPI_COMM_WORLD, error)
  call did('callbacks', 'MPI_Allreduce', 0, 40*ranks, 0, 40*ranks)
  call check(b(10) == ranks*(ranks + 1)/2, 'an operation of the program')
  call MPI_Op_free(op, error)
  call did('callbacks', 'MPI_Op_free')
  digest = digest + sum(b)
end subroutine

#ifdef USE_MPI_F08
subroutine add_up(in, inout, n, datatype)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr), value :: in, inout
  integer :: n, error, bytes
  type(MPI_Datatype) :: datatype
  integer, pointer :: x(:), y(:)
  call c_f_pointer(in, x, [n])
  call c_f_pointer(inout, y, [n])
  call MPI_Type_size(datatype, bytes, error)
  if (bytes == 4) y = x + y
end subroutine
#else
subroutine add_up(in, inout, n, datatype)
  USE_INTERFACE
  implicit none
  INCLUDE_INTERFACE
  integer :: n, datatype, in(n), inout(n), error, bytes
  call MPI_Type_size(datatype, bytes, error)
  if (bytes == 4) inout = in + inout
end subroutine
#endif

subroutine non_blocking(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(200), b(200), c(200), d(200), own(16), offsets(16), error, i
  HANDLE(MPI_Request) :: requests(7)
  HANDLE(MPI_Datatype) :: types(16)
  a = rank + 1
  b = 0
  c = rank
  d = 0
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), error)
  call did('non_blocking', 'MPI_Ibarrier')
  call MPI_Iallreduce(a, b, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(2), error)
  call did('non_blocking', 'MPI_Iallreduce', 0, 12*ranks, 0, 12*ranks)
  call MPI_Ibcast(c, 5, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(3), error)
  call did('non_blocking', 'MPI_Ibcast', 0, merge(20*ranks, 0, rank == 0), 0, 20)
  call MPI_Igather(a, 1, MPI_INTEGER, d, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(4), error)
  call did('non_blocking', 'MPI_Igather', 0, 4, 0, merge(4*ranks, 0, rank == 0))
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
  call did('non_blocking', 'MPI_Waitall')
  call check(b(3) == ranks*(ranks + 1)/2 .and. c(5) == 0, 'non-blocking collective operations')
  digest = digest + sum(b(:3)) + sum(d(:ranks))
  b = 0
  d = 0
  own(:ranks) = [(rank + i, i=1, ranks)]
  offsets(:ranks) = [((i - 1)*10, i=1, ranks)]
  types = MPI_INTEGER
  call MPI_Ialltoallv(a, own, offsets, MPI_INTEGER, b, own, offsets, MPI_INTEGER, MPI_COMM_WORLD, requests(5), error)
  call did('non_blocking', 'MPI_Ialltoallv', 0, 4*sum(own(:ranks)), 0, 4*sum(own(:ranks)))
  call MPI_Wait(requests(5), MPI_STATUS_IGNORE, error)
  call did('non_blocking', 'MPI_Wait')
  offsets = 4*offsets
  call MPI_Ialltoallw(a, own, offsets, types, d, own, offsets, types, MPI_COMM_WORLD, requests(6), error)
  call did('non_blocking', 'MPI_Ialltoallw', 0, 4*sum(own(:ranks)), 0, 4*sum(own(:ranks)))
  call MPI_Wait(requests(6), MPI_STATUS_IGNORE, error)
  call did('non_blocking', 'MPI_Wait')
  call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(7), error)
  call did('non_blocking', 'MPI_Iallgather', 0, 4*(ranks - 1), 0, 4*(ranks - 1))
  call MPI_Wait(requests(7), MPI_STATUS_IGNORE, error)
  call did('non_blocking', 'MPI_Wait')
  digest = digest + sum(b) + sum(d)
end subroutine

! A ring without an end, and one with: at the border MPI_PROC_NULL moves nothing.
subroutine neighbours(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(10), b(20), counts(2), starts(2), error, n
  integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
  HANDLE(MPI_Comm) :: ring, line, graph
  HANDLE(MPI_Datatype) :: types(2)
  a = rank + 1
  b = 0
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, error)
  call did('neighbours', 'MPI_Cart_create')
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.false.], .false., line, error)
  call did('neighbours', 'MPI_Cart_create')
  call MPI_Neighbor_allgather(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, ring, error)
  call did('neighbours', 'MPI_Neighbor_allgather', 0, 24, 0, 24)
  n = 2
  if (rank == 0) n = n - 1
  if (rank == ranks - 1) n = n - 1
  call MPI_Neighbor_alltoall(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, line, error)
  call did('neighbours', 'MPI_Neighbor_alltoall', 0, 8*n, 0, 8*n)
  counts = [2, 2]
  starts = [0, 4]
  call MPI_Neighbor_alltoallv(a, counts, starts, MPI_INTEGER, b, counts, starts, MPI_INTEGER, ring, error)
  call did('neighbours', 'MPI_Neighbor_alltoallv', 0, 16, 0, 16)
  call MPI_Neighbor_allgatherv(a, 2, MPI_INTEGER, b, counts, starts, MPI_INTEGER, ring, error)
  call did('neighbours', 'MPI_Neighbor_allgatherv', 0, 16, 0, 16)
  offsets = [0, 16]
  types = MPI_INTEGER
  ! MPICH's mpi_f08 takes every topology for a graph here.
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [mod(rank + 1, ranks), mod(rank + ranks - 1, ranks)], &
                                      MPI_UNWEIGHTED, 2, [mod(rank + ranks - 1, ranks), mod(rank + 1, ranks)], &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, error)
  call did('neighbours', 'MPI_Dist_graph_create_adjacent')
  call MPI_Neighbor_alltoallw(a, counts, offsets, types, b, counts, offsets, types, graph, error)
  call did('neighbours', 'MPI_Neighbor_alltoallw', 0, 16, 0, 16)
  call MPI_Comm_free(ring, error)
  call did('neighbours', 'MPI_Comm_free')
  call MPI_Comm_free(line, error)
  call did('neighbours', 'MPI_Comm_free')
  call MPI_Comm_free(graph, error)
  call did('neighbours', 'MPI_Comm_free')
  digest = digest + sum(b)
end subroutine

#ifdef ALLREDUCE_INIT
subroutine persistent(rank, ranks, digest)
#include "preamble.inc"
  integer, intent(in) :: rank, ranks
  double precision, intent(inout) :: digest
  integer :: a(10), b(10), error, i
  HANDLE(MPI_Request) :: request
  a = rank + 1
  call ALLREDUCE_INIT(a, b, 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
#ifdef USE_EXTENSION
  call did('persistent', 'MPIX_Allreduce_init')
#else
  call did('persistent', 'MPI_Allreduce_init')
#endif
  do i = 1, 2
    call MPI_Start(request, error)
    call did('persistent', 'MPI_Start', 0, 24*ranks, 0, 24*ranks)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call did('persistent', 'MPI_Wait')
  end do
  call MPI_Request_free(request, error)
  call did('persistent', 'MPI_Request_free')
  call check(b(6) == ranks*(ranks + 1)/2, 'MPI_Allreduce_init')
  digest = digest + sum(b(:6))
end subroutine
#endif

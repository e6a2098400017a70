! Communicators, groups, topologies; 4 ranks.
#include "interface.inc"

program communicators
#include "preamble.inc"
  integer :: error, rank, provided
  double precision :: digest
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call open_truth(rank)
  call did('communicators', 'MPI_Init_thread')
  call did('communicators', 'MPI_Comm_rank')
  call check(provided >= MPI_THREAD_FUNNELED, 'MPI_Init_thread')
  digest = 0
  call duplicates(rank, digest)
  call parts(rank, digest)
  call groups(rank, digest)
  call grid(rank, digest)
  call graphs(rank, digest)
  call bridges(rank, digest)
  if (rank == 0) print '(a,es24.16)', 'communicators ', digest
  call did('communicators', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

subroutine duplicates(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, length, outcome, a
  character(MPI_MAX_OBJECT_NAME) :: name
  HANDLE(MPI_Comm) :: one, two, three
  HANDLE(MPI_Request) :: request
  call MPI_Comm_dup(MPI_COMM_WORLD, one, error)
  call did('duplicates', 'MPI_Comm_dup')
  call MPI_Comm_set_name(one, 'from Fortran', error)
  call did('duplicates', 'MPI_Comm_set_name')
  call MPI_Comm_get_name(one, name, length, error)
  call did('duplicates', 'MPI_Comm_get_name')
  call check(name(:length) == 'from Fortran' .and. name == 'from Fortran', 'MPI_Comm_get_name')
  call MPI_Comm_idup(one, two, request, error)
  call did('duplicates', 'MPI_Comm_idup')
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call did('duplicates', 'MPI_Wait')
  call MPI_Comm_dup_with_info(one, MPI_INFO_NULL, three, error)
  call did('duplicates', 'MPI_Comm_dup_with_info')
  call MPI_Comm_compare(one, two, outcome, error)
  call did('duplicates', 'MPI_Comm_compare')
  call check(outcome == MPI_CONGRUENT, 'MPI_Comm_compare')
  a = rank
  call MPI_Allreduce(MPI_IN_PLACE, a, 1, MPI_INTEGER, MPI_SUM, two, error)
  call did('duplicates', 'MPI_Allreduce', 0, 12, 0, 12)
  call check(a == 6, 'MPI_Comm_idup')
  call MPI_Comm_free(one, error)
  call did('duplicates', 'MPI_Comm_free')
  call MPI_Comm_free(two, error)
  call did('duplicates', 'MPI_Comm_free')
  call MPI_Comm_free(three, error)
  call did('duplicates', 'MPI_Comm_free')
  call check(three == MPI_COMM_NULL, 'MPI_Comm_free')
  digest = digest + a
end subroutine

subroutine parts(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, n
  HANDLE(MPI_Comm) :: half, node, nothing
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, error)
  call did('parts', 'MPI_Comm_split')
  call MPI_Comm_size(half, n, error)
  call did('parts', 'MPI_Comm_size')
  call check(n == 2, 'MPI_Comm_split')
  call MPI_Bcast(n, 1, MPI_INTEGER, 0, half, error)
  call did('parts', 'MPI_Bcast', 0, merge(8, 0, rank >= 2), 0, 4)
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, nothing, error)
  call did('parts', 'MPI_Comm_split')
  call check(nothing == MPI_COMM_NULL, 'MPI_UNDEFINED')
  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, error)
  call did('parts', 'MPI_Comm_split_type')
  call MPI_Comm_free(half, error)
  call did('parts', 'MPI_Comm_free')
  call MPI_Comm_free(node, error)
  call did('parts', 'MPI_Comm_free')
  digest = digest + n
end subroutine

subroutine groups(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, n, ranks(2), ranges(3, 1)
  HANDLE(MPI_Group) :: world, few, range
  HANDLE(MPI_Comm) :: made, by_group
  call MPI_Comm_group(MPI_COMM_WORLD, world, error)
  call did('groups', 'MPI_Comm_group')
  call MPI_Group_incl(world, 2, [3, 1], few, error)
  call did('groups', 'MPI_Group_incl')
  call MPI_Group_translate_ranks(few, 2, [0, 1], world, ranks, error)
  call did('groups', 'MPI_Group_translate_ranks')
  call check(ranks(1) == 3 .and. ranks(2) == 1, 'MPI_Group_translate_ranks')
  ranges(:, 1) = [0, 2, 2]
  call MPI_Group_range_excl(world, 1, ranges, range, error)
  call did('groups', 'MPI_Group_range_excl')
  call MPI_Group_size(range, n, error)
  call did('groups', 'MPI_Group_size')
  call check(n == 2, 'MPI_Group_range_excl')
  call MPI_Comm_create(MPI_COMM_WORLD, few, made, error)
  call did('groups', 'MPI_Comm_create')
  if (mod(rank, 2) == 1) then
    call MPI_Comm_create_group(MPI_COMM_WORLD, few, 9, by_group, error)
    call did('groups', 'MPI_Comm_create_group')
    call MPI_Barrier(by_group, error)
    call did('groups', 'MPI_Barrier')
    call MPI_Comm_free(by_group, error)
    call did('groups', 'MPI_Comm_free')
    call MPI_Comm_free(made, error)
    call did('groups', 'MPI_Comm_free')
  end if
  call MPI_Group_free(world, error)
  call did('groups', 'MPI_Group_free')
  call MPI_Group_free(few, error)
  call did('groups', 'MPI_Group_free')
  call MPI_Group_free(range, error)
  call did('groups', 'MPI_Group_free')
  digest = digest + n
end subroutine

subroutine grid(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, dims(2), coords(2), source, dest, n
  logical :: periods(2)
  HANDLE(MPI_Comm) :: cart, row
  dims = 0
  call MPI_Dims_create(4, 2, dims, error)
  call did('grid', 'MPI_Dims_create')
  call check(all(dims == 2), 'MPI_Dims_create')
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, error)
  call did('grid', 'MPI_Cart_create')
  call MPI_Cart_coords(cart, rank, 2, coords, error)
  call did('grid', 'MPI_Cart_coords')
  call check(coords(1) == rank/2 .and. coords(2) == mod(rank, 2), 'MPI_Cart_coords')
  call MPI_Cart_rank(cart, coords, n, error)
  call did('grid', 'MPI_Cart_rank')
  call check(n == rank, 'MPI_Cart_rank')
  call MPI_Cart_shift(cart, 1, 1, source, dest, error)
  call did('grid', 'MPI_Cart_shift')
  call check((dest == MPI_PROC_NULL) .eqv. (coords(2) == 1), 'MPI_Cart_shift')
  periods = .false.
  call MPI_Cart_get(cart, 2, dims, periods, coords, error)
  call did('grid', 'MPI_Cart_get')
  call check(periods(1) .and. .not. periods(2), 'MPI_Cart_get')
  call MPI_Topo_test(cart, n, error)
  call did('grid', 'MPI_Topo_test')
  call check(n == MPI_CART, 'MPI_Topo_test')
  call MPI_Cart_sub(cart, [.false., .true.], row, error)
  call did('grid', 'MPI_Cart_sub')
  call MPI_Comm_size(row, n, error)
  call did('grid', 'MPI_Comm_size')
  call check(n == 2, 'MPI_Cart_sub')
  call MPI_Sendrecv_replace(n, 1, MPI_INTEGER, dest, 1, source, 1, cart, MPI_STATUS_IGNORE, error)
  call did('grid', 'MPI_Sendrecv_replace', merge(1, 0, coords(2) == 0), merge(4, 0, coords(2) == 0), &
           merge(1, 0, coords(2) == 1), merge(4, 0, coords(2) == 1))
  call MPI_Comm_free(row, error)
  call did('grid', 'MPI_Comm_free')
  call MPI_Comm_free(cart, error)
  call did('grid', 'MPI_Comm_free')
  digest = digest + n
end subroutine

subroutine graphs(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, before, after, n, m, sources(2), targets(2), weights(2), others(2)
  logical :: weighted
  HANDLE(MPI_Comm) :: ring, adjacent, empty, graph
  before = mod(rank + 3, 4)
  after = mod(rank + 1, 4)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [after], MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., adjacent, error)
  call did('graphs', 'MPI_Dist_graph_create_adjacent')
  call MPI_Dist_graph_neighbors_count(adjacent, n, m, weighted, error)
  call did('graphs', 'MPI_Dist_graph_neighbors_count')
  call check(n == 1 .and. m == 1 .and. .not. weighted, 'MPI_UNWEIGHTED')
  call MPI_Dist_graph_neighbors(adjacent, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, error)
  call did('graphs', 'MPI_Dist_graph_neighbors')
  call check(sources(1) == before .and. targets(1) == after, 'MPI_Dist_graph_neighbors')
  n = 0
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, n, 1, MPI_INTEGER, adjacent, error)
  call did('graphs', 'MPI_Neighbor_allgather', 0, 4, 0, 4)
  call check(n == before, 'MPI_Neighbor_allgather')
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, others, MPI_WEIGHTS_EMPTY, 0, others, MPI_WEIGHTS_EMPTY, &
                                      MPI_INFO_NULL, .false., empty, error)
  call did('graphs', 'MPI_Dist_graph_create_adjacent')
  call MPI_Dist_graph_neighbors_count(empty, n, m, weighted, error)
  call did('graphs', 'MPI_Dist_graph_neighbors_count')
  call check(n == 0 .and. m == 0, 'MPI_WEIGHTS_EMPTY')
  ! MPI_Dist_graph_create of Open MPI 4.1 hangs now and then when several ranks take part.
  weights = [3, 4]
  call MPI_Dist_graph_create(MPI_COMM_SELF, 1, [0], [1], [0], weights, MPI_INFO_NULL, .false., ring, error)
  call did('graphs', 'MPI_Dist_graph_create')
  call MPI_Dist_graph_neighbors_count(ring, n, m, weighted, error)
  call did('graphs', 'MPI_Dist_graph_neighbors_count')
  call check(n == 1 .and. weighted, 'weights')
  call MPI_Graph_create(MPI_COMM_WORLD, 4, [1, 2, 3, 4], [1, 2, 3, 0], .false., graph, error)
  call did('graphs', 'MPI_Graph_create')
  call MPI_Graph_neighbors_count(graph, rank, n, error)
  call did('graphs', 'MPI_Graph_neighbors_count')
  call check(n == 1, 'MPI_Graph_create')
  call MPI_Comm_free(ring, error)
  call did('graphs', 'MPI_Comm_free')
  call MPI_Comm_free(adjacent, error)
  call did('graphs', 'MPI_Comm_free')
  call MPI_Comm_free(empty, error)
  call did('graphs', 'MPI_Comm_free')
  call MPI_Comm_free(graph, error)
  call did('graphs', 'MPI_Comm_free')
  digest = digest + n
end subroutine

subroutine bridges(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, n, a
  logical :: flag
  HANDLE(MPI_Comm) :: half, bridge, merged
  call MPI_Comm_split(MPI_COMM_WORLD, rank/2, rank, half, error)
  call did('bridges', 'MPI_Comm_split')
  call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, merge(2, 0, rank < 2), 5, bridge, error)
  call did('bridges', 'MPI_Intercomm_create')
  call MPI_Comm_test_inter(bridge, flag, error)
  call did('bridges', 'MPI_Comm_test_inter')
  call MPI_Comm_remote_size(bridge, n, error)
  call did('bridges', 'MPI_Comm_remote_size')
  call check(flag .and. n == 2, 'MPI_Intercomm_create')
  a = rank
  call MPI_Bcast(a, 1, MPI_INTEGER, merge(merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), 0, rank < 2), bridge, error)
  if (rank == 0) then
    call did('bridges', 'MPI_Bcast', 0, 8)
  else if (rank == 1) then
    call did('bridges', 'MPI_Bcast')
  else
    call did('bridges', 'MPI_Bcast', 0, 0, 0, 4)
    call check(a == 0, 'MPI_ROOT')
  end if
  call MPI_Intercomm_merge(bridge, rank < 2, merged, error)
  call did('bridges', 'MPI_Intercomm_merge')
  call MPI_Comm_rank(merged, n, error)
  call did('bridges', 'MPI_Comm_rank')
  call check(n == mod(rank + 2, 4), 'MPI_Intercomm_merge')
  call MPI_Comm_free(merged, error)
  call did('bridges', 'MPI_Comm_free')
  call MPI_Comm_free(bridge, error)
  call did('bridges', 'MPI_Comm_free')
  call MPI_Comm_free(half, error)
  call did('bridges', 'MPI_Comm_free')
  digest = digest + a
end subroutine

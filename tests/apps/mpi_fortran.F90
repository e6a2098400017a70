! Calls of many MPI functions from Fortran, with their truth written down by hand beside each call. Compiled three times
! for each MPI: mpif.h, with USE_MPI the module mpi, with USE_MPI_F08 the module mpi_f08.
!
! Rank 0 prints a digest of the data received. When TRUTH_FILE is set, every rank writes one line
! "function messages_sent bytes_sent messages_received bytes_received" per call to TRUTH_FILE.<rank>.
! Needs 2 ranks or more.
#ifdef USE_MPI_F08
#define HANDLE(kind) type(kind)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#else
#define HANDLE(kind) integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#endif

program mpi_fortran
#ifdef USE_MPI_F08
  use mpi_f08
#endif
#ifdef USE_MPI
  use mpi
#endif
  implicit none
#if !defined(USE_MPI) && !defined(USE_MPI_F08)
  include 'mpif.h'
#endif

  integer, parameter :: n = 10, long = 100
  integer, parameter :: eight = 8, four = 4
  integer :: error, rank, ranks, left, right, i, provided, polls, length, source, outcount
  integer :: coords(1), counts(64), displacements(64), indices(2), unit
  double precision :: a(n), b(n), big(n*64), all(n*64), digest
  logical :: flag, remain(1), periods(1), writes = .false.
  HANDLE(MPI_Comm) :: dup, grid, part
  HANDLE(MPI_Datatype) :: vector
  HANDLE(MPI_Request) :: requests(2), request, many(long)
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Op) :: op
  STATUS(status)
  STATUSES(statuses, 2)
  character(MPI_MAX_PROCESSOR_NAME) :: processor
  character(MPI_MAX_OBJECT_NAME) :: name
  integer(kind=MPI_ADDRESS_KIND) :: bytes

  digest = 0
#ifdef USE_MPI
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, error)
#else
  call MPI_Init(error)
  provided = MPI_THREAD_FUNNELED
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call open_truth()
#ifdef USE_MPI
  call did('MPI_Init_thread', 0, 0, 0, 0)
#else
  call did('MPI_Init', 0, 0, 0, 0)
#endif
  call did('MPI_Comm_rank', 0, 0, 0, 0)
  call did('MPI_Comm_size', 0, 0, 0, 0)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  a = [(rank + i, i=1, n)]
  b = 0

  call point_to_point()
  call non_blocking()
  call persistent()
  call collective()
  call communicators()
  call other()

  call MPI_Reduce(digest, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) then
    call did('MPI_Reduce', 0, eight, 0, ranks*eight)
    print '(a,i0,a,es24.16)', 'ranks=', ranks, ' digest=', all(1)
  else
    call did('MPI_Reduce', 0, eight, 0, 0)
  end if
  call did('MPI_Finalize', 0, 0, 0, 0)
  if (writes) close (unit)
  call MPI_Finalize(error)
  if (error /= MPI_SUCCESS) stop 9

contains

  subroutine open_truth()
    character(4096) :: path
    character(8) :: number
    call get_environment_variable('TRUTH_FILE', path)
    if (path == '') return
    write (number, '(i0)') rank
    open (newunit=unit, file=trim(path)//'.'//trim(number), action='write', status='replace')
    writes = .true.
  end subroutine

  subroutine did(what, messages_sent, bytes_sent, messages_received, bytes_received)
    character(*), intent(in) :: what
    integer, intent(in) :: messages_sent, bytes_sent, messages_received, bytes_received
    if (error /= MPI_SUCCESS) stop 8
    if (writes) write (unit, '(a,4(1x,i0))') what, messages_sent, bytes_sent, messages_received, bytes_received
  end subroutine

  subroutine check(good)
    logical, intent(in) :: good
    if (.not. good) stop 7
  end subroutine

  subroutine point_to_point()
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, right, 1, b, n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    call did('MPI_Sendrecv', 1, n*eight, 1, n*eight)
    call check(b(1) == left + 1)
    digest = digest + sum(b)
    call MPI_Sendrecv(a, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, b, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, &
                      MPI_COMM_WORLD, status, error)
    call did('MPI_Sendrecv', 0, 0, 0, 0)
    ! Shorter than the buffer: what really came counts.
    if (rank == 0) then
      call MPI_Send(a, 3, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, error)
      call did('MPI_Send', 1, 3*eight, 0, 0)
      call MPI_Ssend(a, 2, MPI_DOUBLE_PRECISION, 1, 3, MPI_COMM_WORLD, error)
      call did('MPI_Ssend', 1, 2*eight, 0, 0)
      call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call did('MPI_Recv', 0, 0, 1, 5*eight)
      call check(b(5) == 6)
    else if (rank == 1) then
      call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, status, error)
      call did('MPI_Recv', 0, 0, 1, 3*eight)
      call MPI_Get_count(status, MPI_DOUBLE_PRECISION, length, error)
      call did('MPI_Get_count', 0, 0, 0, 0)
      call check(length == 3)
      call MPI_Probe(0, 3, MPI_COMM_WORLD, status, error)
      call did('MPI_Probe', 0, 0, 0, 0)
      call MPI_Recv(b, n, MPI_DOUBLE_PRECISION, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call did('MPI_Recv', 0, 0, 1, 2*eight)
      call MPI_Send(a, 5, MPI_DOUBLE_PRECISION, 0, 4, MPI_COMM_WORLD, error)
      call did('MPI_Send', 1, 5*eight, 0, 0)
    end if
    digest = digest + sum(b)
  end subroutine

  subroutine non_blocking()
    ! Wait, all, some and any of it; with statuses and without.
    call exchange(4)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call did('MPI_Waitall', 0, 0, 1, 4*eight)
    call exchange(6)
    call MPI_Waitall(2, requests, statuses, error)
    call did('MPI_Waitall', 0, 0, 1, 6*eight)
    call exchange(5)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
    call did('MPI_Wait', 0, 0, 1, 5*eight)
    call MPI_Wait(requests(2), status, error)
    call did('MPI_Wait', 0, 0, 0, 0)
    call check(requests(1) == MPI_REQUEST_NULL)
    call exchange(7)
    do i = 1, 2
      call MPI_Waitany(2, requests, length, MPI_STATUS_IGNORE, error)
      if (length == 1) then
        call did('MPI_Waitany', 0, 0, 1, 7*eight)
      else
        call did('MPI_Waitany', 0, 0, 0, 0)
      end if
    end do
    call exchange(8)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, error)
      if (flag) then
        call did('MPI_Testall', 0, 0, 1, 8*eight)
      else
        call did('MPI_Testall', 0, 0, 0, 0)
      end if
    end do
    call exchange(9)
    polls = 0
    do while (polls < 2)
      call MPI_Waitsome(2, requests, outcount, indices, statuses, error)
      polls = polls + outcount
      if (any(indices(:outcount) == 1)) then
        call did('MPI_Waitsome', 0, 0, 1, 9*eight)
      else
        call did('MPI_Waitsome', 0, 0, 0, 0)
      end if
    end do
    call exchange(10)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, error)
      if (flag) then
        call did('MPI_Test', 0, 0, 1, 10*eight)
      else
        call did('MPI_Test', 0, 0, 0, 0)
      end if
    end do
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, error)
    call did('MPI_Wait', 0, 0, 0, 0)
    digest = digest + sum(b)
    ! More requests than any buffer at hand.
    do i = 1, long/2
      call MPI_Irecv(all(i), 1, MPI_DOUBLE_PRECISION, left, i, MPI_COMM_WORLD, many(i), error)
      call did('MPI_Irecv', 0, 0, 0, 0)
      call MPI_Isend(big(i), 1, MPI_DOUBLE_PRECISION, right, i, MPI_COMM_WORLD, many(long/2 + i), error)
      call did('MPI_Isend', 1, eight, 0, 0)
    end do
    call MPI_Waitall(long, many, MPI_STATUSES_IGNORE, error)
    call did('MPI_Waitall', 0, 0, long/2, long/2*eight)
  end subroutine

  subroutine exchange(amount)
    integer, intent(in) :: amount
    big = rank
    call MPI_Irecv(b, n, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, requests(1), error)
    call did('MPI_Irecv', 0, 0, 0, 0)
    call MPI_Isend(a, amount, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, requests(2), error)
    call did('MPI_Isend', 1, amount*eight, 0, 0)
  end subroutine

  subroutine persistent()
    call MPI_Recv_init(b, n, MPI_DOUBLE_PRECISION, left, 6, MPI_COMM_WORLD, requests(1), error)
    call did('MPI_Recv_init', 0, 0, 0, 0)
    call MPI_Send_init(a, n, MPI_DOUBLE_PRECISION, right, 6, MPI_COMM_WORLD, requests(2), error)
    call did('MPI_Send_init', 0, 0, 0, 0)
    do i = 1, 3
      call MPI_Startall(2, requests, error)
      call did('MPI_Startall', 1, n*eight, 0, 0)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      call did('MPI_Waitall', 0, 0, 1, n*eight)
    end do
    call MPI_Request_free(requests(1), error)
    call did('MPI_Request_free', 0, 0, 0, 0)
    call MPI_Request_free(requests(2), error)
    call did('MPI_Request_free', 0, 0, 0, 0)
  end subroutine

  subroutine collective()
    integer :: piece
    piece = n*eight
    b = a
    call MPI_Bcast(b, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    call did('MPI_Bcast', 0, merge(ranks*piece, 0, rank == 0), 0, piece)
    call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call did('MPI_Allreduce', 0, ranks*piece, 0, ranks*piece)
    digest = digest + sum(b)
    b = a
    call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call did('MPI_Allreduce', 0, (ranks - 1)*piece, 0, (ranks - 1)*piece)
    call check(b(1) == ranks)
    if (rank == 0) then
      b = a
      call MPI_Reduce(MPI_IN_PLACE, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
      call did('MPI_Reduce', 0, 0, 0, (ranks - 1)*piece)
    else
      call MPI_Reduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
      call did('MPI_Reduce', 0, piece, 0, 0)
    end if
    call MPI_Gather(a, n, MPI_DOUBLE_PRECISION, all, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    call did('MPI_Gather', 0, piece, 0, merge(ranks*piece, 0, rank == 0))
    ! Fortran libraries ask for the size of the communicator here, which the program did not.
    counts = 0
    displacements = 0
    counts(:ranks) = [(i, i=1, ranks)]
    displacements(:ranks) = [(i*(i - 1)/2, i=1, ranks)]
    call MPI_Gatherv(big, rank + 1, MPI_DOUBLE_PRECISION, all, counts, displacements, MPI_DOUBLE_PRECISION, 0, &
                     MPI_COMM_WORLD, error)
    call did('MPI_Gatherv', 0, (rank + 1)*eight, 0, merge(ranks*(ranks + 1)/2*eight, 0, rank == 0))
    call MPI_Allgatherv(big, rank + 1, MPI_DOUBLE_PRECISION, all, counts, displacements, MPI_DOUBLE_PRECISION, &
                        MPI_COMM_WORLD, error)
    call did('MPI_Allgatherv', 0, ranks*(rank + 1)*eight, 0, ranks*(ranks + 1)/2*eight)
    call MPI_Scatterv(big, counts, displacements, MPI_DOUBLE_PRECISION, all, rank + 1, MPI_DOUBLE_PRECISION, 0, &
                      MPI_COMM_WORLD, error)
    call did('MPI_Scatterv', 0, merge(ranks*(ranks + 1)/2*eight, 0, rank == 0), 0, (rank + 1)*eight)
    call MPI_Allgather(a, 1, MPI_DOUBLE_PRECISION, all, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    call did('MPI_Allgather', 0, ranks*eight, 0, ranks*eight)
    digest = digest + sum(all(:ranks))
    call MPI_Alltoall(big, 1, MPI_DOUBLE_PRECISION, all, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    call did('MPI_Alltoall', 0, ranks*eight, 0, ranks*eight)
    call MPI_Scan(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call did('MPI_Scan', 0, (ranks - rank)*piece, 0, (rank + 1)*piece)
    call MPI_Reduce_scatter_block(big, b, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call did('MPI_Reduce_scatter_block', 0, ranks*eight, 0, ranks*eight)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call did('MPI_Barrier', 0, 0, 0, 0)
    call MPI_Iallreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request, error)
    call did('MPI_Iallreduce', 0, ranks*piece, 0, ranks*piece)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call did('MPI_Wait', 0, 0, 0, 0)
    ! An operation of the program's own: MPI calls back into Fortran.
    call MPI_Op_create(add, .true., op, error)
    call did('MPI_Op_create', 0, 0, 0, 0)
    call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, op, MPI_COMM_WORLD, error)
    call did('MPI_Allreduce', 0, ranks*piece, 0, ranks*piece)
    call MPI_Op_free(op, error)
    call did('MPI_Op_free', 0, 0, 0, 0)
    digest = digest + sum(b)
  end subroutine

  subroutine communicators()
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, error)
    call did('MPI_Comm_dup', 0, 0, 0, 0)
    call MPI_Comm_set_name(dup, 'from Fortran', error)
    call did('MPI_Comm_set_name', 0, 0, 0, 0)
    call MPI_Comm_get_name(dup, name, length, error)
    call did('MPI_Comm_get_name', 0, 0, 0, 0)
    call check(name(:length) == 'from Fortran')
    call MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_DOUBLE_PRECISION, MPI_SUM, dup, error)
    call did('MPI_Allreduce', 0, (ranks - 1)*eight, 0, (ranks - 1)*eight)
    call MPI_Comm_free(dup, error)
    call did('MPI_Comm_free', 0, 0, 0, 0)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, part, error)
    call did('MPI_Comm_split', 0, 0, 0, 0)
    coords(1) = ranks
    periods = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, coords, periods, .false., grid, error)
    call did('MPI_Cart_create', 0, 0, 0, 0)
    coords(1) = ranks - 1
    call MPI_Cart_rank(grid, coords, source, error)
    call did('MPI_Cart_rank', 0, 0, 0, 0)
    call check(source == ranks - 1)
    call MPI_Cart_shift(grid, 0, 1, source, length, error)
    call did('MPI_Cart_shift', 0, 0, 0, 0)
    call check(source == left .and. length == right)
    remain = .true.
    call MPI_Comm_free(part, error)
    call did('MPI_Comm_free', 0, 0, 0, 0)
    call MPI_Cart_sub(grid, remain, part, error)
    call did('MPI_Cart_sub', 0, 0, 0, 0)
    call MPI_Comm_free(part, error)
    call did('MPI_Comm_free', 0, 0, 0, 0)
    call MPI_Comm_free(grid, error)
    call did('MPI_Comm_free', 0, 0, 0, 0)
  end subroutine

  subroutine other()
    call MPI_Pcontrol(1)
    call did('MPI_Pcontrol', 0, 0, 0, 0)
    call MPI_Initialized(flag, error)
    call did('MPI_Initialized', 0, 0, 0, 0)
    call check(flag .and. provided >= MPI_THREAD_FUNNELED)
    call MPI_Get_processor_name(processor, length, error)
    call did('MPI_Get_processor_name', 0, 0, 0, 0)
    call check(length > 0 .and. processor(length:length) /= ' ')
    call MPI_Type_vector(2, 2, 3, MPI_INTEGER, vector, error)
    call did('MPI_Type_vector', 0, 0, 0, 0)
    call MPI_Type_commit(vector, error)
    call did('MPI_Type_commit', 0, 0, 0, 0)
    counts = rank
    call MPI_Bcast(counts, 1, vector, 0, MPI_COMM_WORLD, error)
    call did('MPI_Bcast', 0, merge(ranks*4*four, 0, rank == 0), 0, 4*four)
    call check(counts(1) == 0 .and. counts(3) == rank)
    call MPI_Type_free(vector, error)
    call did('MPI_Type_free', 0, 0, 0, 0)
    bytes = n*eight
    call MPI_Win_create(b, bytes, eight, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
    call did('MPI_Win_create', 0, 0, 0, 0)
    call MPI_Win_fence(0, window, error)
    call did('MPI_Win_fence', 0, 0, 0, 0)
    call MPI_Win_free(window, error)
    call did('MPI_Win_free', 0, 0, 0, 0)
    call MPI_Error_class(MPI_SUCCESS, length, error)
    call did('MPI_Error_class', 0, 0, 0, 0)
  end subroutine

#ifdef USE_MPI_F08
  subroutine add(in, inout, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    double precision, pointer :: x(:), y(:)
    if (datatype /= MPI_DOUBLE_PRECISION) stop 6
    call c_f_pointer(in, x, [length])
    call c_f_pointer(inout, y, [length])
    y = x + y
  end subroutine
#else
  subroutine add(x, y, length, datatype)
    integer :: length, datatype
    double precision :: x(length), y(length)
    if (datatype /= MPI_DOUBLE_PRECISION) stop 6
    y = x + y
  end subroutine
#endif
end program

! Processes that MPI starts: the program starts itself, once alone and once twice; one rank.
#include "interface.inc"

program processes
#include "preamble.inc"
  integer :: error, rank
  HANDLE(MPI_Comm) :: parent
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_get_parent(parent, error)
  if (parent == MPI_COMM_NULL) then
    call open_truth(rank)
    call did('processes', 'MPI_Init')
    call did('processes', 'MPI_Comm_rank')
    call did('processes', 'MPI_Comm_get_parent')
    call starts_one()
    call starts_two()
    print '(a)', 'processes'
    call did('processes', 'MPI_Finalize')
    call close_truth()
  else
    call MPI_Bcast(rank, 1, MPI_INTEGER, 0, parent, error)
    call check(rank == 77, 'MPI_Bcast from the parent')
    call MPI_Comm_disconnect(parent, error)
  end if
  call MPI_Finalize(error)
end program

subroutine starts_one()
#include "preamble.inc"
  integer :: error, a
  character(1000) :: name
  HANDLE(MPI_Comm) :: children
  call get_command_argument(0, name)
  call MPI_Comm_spawn(name, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE, error)
  call did('starts_one', 'MPI_Comm_spawn')
  a = 77
  call MPI_Bcast(a, 1, MPI_INTEGER, MPI_ROOT, children, error)
  call did('starts_one', 'MPI_Bcast', 0, 4)
  call MPI_Comm_disconnect(children, error)
  call did('starts_one', 'MPI_Comm_disconnect')
end subroutine

subroutine starts_two()
#include "preamble.inc"
  integer :: error, a
  character(1000) :: names(2)
  HANDLE(MPI_Info) :: infos(2)
  HANDLE(MPI_Comm) :: children
  call get_command_argument(0, names(1))
  names(2) = names(1)
  infos = MPI_INFO_NULL
  call MPI_Comm_spawn_multiple(2, names, MPI_ARGVS_NULL, [1, 1], infos, 0, MPI_COMM_WORLD, children, &
                               MPI_ERRCODES_IGNORE, error)
  call did('starts_two', 'MPI_Comm_spawn_multiple')
  a = 77
  call MPI_Bcast(a, 1, MPI_INTEGER, MPI_ROOT, children, error)
  call did('starts_two', 'MPI_Bcast', 0, 8)
  call MPI_Comm_disconnect(children, error)
  call did('starts_two', 'MPI_Comm_disconnect')
end subroutine

! Datatypes, attributes, error handlers, info objects and enquiries. Fortran libraries implement some of these without
! the C function. One rank or more.
#include "interface.inc"

program objects
#include "preamble.inc"
  integer :: error, rank
  double precision :: digest
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call open_truth(rank)
  call did('objects', 'MPI_Init')
  call did('objects', 'MPI_Comm_rank')
  digest = 0
  call shapes(rank, digest)
  call packing(digest)
  call kinds()
  call attributes(digest)
  call errors()
  call infos()
  call enquiries(digest)
  call not_counted(digest)
  if (rank == 0) print '(a,es24.16)', 'objects ', digest
  call did('objects', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

! The bytes of a message are those of its datatype, holes are none.
subroutine shapes(rank, digest)
#include "preamble.inc"
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, a(100), b(100), n, i
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent, places(2)
  HANDLE(MPI_Datatype) :: vector, indexed, structure, resized, part, types(2)
  a = [(i, i=1, 100)]
  b = 0
  call MPI_Type_vector(3, 2, 5, MPI_INTEGER, vector, error)
  call did('shapes', 'MPI_Type_vector')
  call MPI_Type_commit(vector, error)
  call did('shapes', 'MPI_Type_commit')
  call MPI_Sendrecv(a, 2, vector, rank, 1, b, 100, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call did('shapes', 'MPI_Sendrecv', 1, 48, 1, 48)
  call check(b(3) == 6 .and. b(12) > 0 .and. b(13) == 0, 'MPI_Type_vector')
  call MPI_Type_indexed(2, [1, 3], [0, 10], MPI_INTEGER, indexed, error)
  call did('shapes', 'MPI_Type_indexed')
  call MPI_Type_commit(indexed, error)
  call did('shapes', 'MPI_Type_commit')
  b = 0
  call MPI_Sendrecv(a, 4, MPI_INTEGER, rank, 1, b, 1, indexed, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call did('shapes', 'MPI_Sendrecv', 1, 16, 1, 16)
  call check(b(1) == 1 .and. b(11) == 2 .and. b(13) == 4, 'MPI_Type_indexed')
  places = [0, 16]
  types(1) = MPI_INTEGER
  types(2) = MPI_DOUBLE_PRECISION
  call MPI_Type_create_struct(2, [1, 2], places, types, structure, error)
  call did('shapes', 'MPI_Type_create_struct')
  call MPI_Type_size(structure, n, error)
  call did('shapes', 'MPI_Type_size')
  call check(n == 20, 'MPI_Type_create_struct')
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 20_MPI_ADDRESS_KIND, resized, error)
  call did('shapes', 'MPI_Type_create_resized')
  call MPI_Type_get_extent(resized, lower, extent, error)
  call did('shapes', 'MPI_Type_get_extent')
  call check(lower == 0 .and. extent == 20, 'MPI_Type_create_resized')
  call MPI_Type_create_subarray(2, [10, 10], [4, 5], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, part, error)
  call did('shapes', 'MPI_Type_create_subarray')
  call MPI_Type_commit(part, error)
  call did('shapes', 'MPI_Type_commit')
  b = 0
  call MPI_Sendrecv(a, 1, part, rank, 1, b, 100, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call did('shapes', 'MPI_Sendrecv', 1, 80, 1, 80)
  call check(b(1) == 12 .and. b(5) == 22, 'MPI_Type_create_subarray')
  call MPI_Type_free(vector, error)
  call did('shapes', 'MPI_Type_free')
  call MPI_Type_free(indexed, error)
  call did('shapes', 'MPI_Type_free')
  call MPI_Type_free(structure, error)
  call did('shapes', 'MPI_Type_free')
  call MPI_Type_free(resized, error)
  call did('shapes', 'MPI_Type_free')
  call MPI_Type_free(part, error)
  call did('shapes', 'MPI_Type_free')
  digest = digest + sum(b)
end subroutine

subroutine packing(digest)
#include "preamble.inc"
  double precision, intent(inout) :: digest
  integer :: error, a(10), position, n
  character :: space(1000)
  call MPI_Pack_size(10, MPI_INTEGER, MPI_COMM_WORLD, n, error)
  call did('packing', 'MPI_Pack_size')
  a = 3
  position = 0
  call MPI_Pack(a, 10, MPI_INTEGER, space, 1000, position, MPI_COMM_WORLD, error)
  call did('packing', 'MPI_Pack')
  call check(position == 40, 'MPI_Pack')
  position = 0
  a = 0
  call MPI_Unpack(space, 1000, position, a, 10, MPI_INTEGER, MPI_COMM_WORLD, error)
  call did('packing', 'MPI_Unpack')
  call check(all(a == 3), 'MPI_Unpack')
  digest = digest + sum(a)
end subroutine

subroutine kinds()
#include "preamble.inc"
  integer :: error, n
  HANDLE(MPI_Datatype) :: datatype
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, datatype, error)
  call did('kinds', 'MPI_Type_match_size')
  call MPI_Type_create_f90_integer(9, datatype, error)
  call did('kinds', 'MPI_Type_create_f90_integer')
  call MPI_Type_size(datatype, n, error)
  call did('kinds', 'MPI_Type_size')
  call check(n == 4, 'MPI_Type_create_f90_integer')
  call MPI_Type_create_f90_real(15, 307, datatype, error)
  call did('kinds', 'MPI_Type_create_f90_real')
end subroutine

subroutine attributes(digest)
#include "preamble.inc"
  double precision, intent(inout) :: digest
  integer :: error, key
  integer(kind=MPI_ADDRESS_KIND) :: value, none
  logical :: flag
  HANDLE(MPI_Comm) :: copy
  HANDLE(MPI_Datatype) :: datatype
  HANDLE(MPI_Win) :: window
  none = 0
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, none, error)
  call did('attributes', 'MPI_Comm_create_keyval')
  value = 123
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, error)
  call did('attributes', 'MPI_Comm_set_attr')
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
  call did('attributes', 'MPI_Comm_dup')
  value = 0
  call MPI_Comm_get_attr(copy, key, value, flag, error)
  call did('attributes', 'MPI_Comm_get_attr')
  call check(flag .and. value == 123, 'MPI_Comm_get_attr')
  call MPI_Comm_delete_attr(copy, key, error)
  call did('attributes', 'MPI_Comm_delete_attr')
  call MPI_Comm_free(copy, error)
  call did('attributes', 'MPI_Comm_free')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, error)
  call did('attributes', 'MPI_Comm_delete_attr')
  call MPI_Comm_free_keyval(key, error)
  call did('attributes', 'MPI_Comm_free_keyval')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
  call did('attributes', 'MPI_Comm_get_attr')
  call check(flag .and. value >= 32767, 'MPI_TAG_UB')
  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, none, error)
  call did('attributes', 'MPI_Type_create_keyval')
  call MPI_Type_dup(MPI_INTEGER, datatype, error)
  call did('attributes', 'MPI_Type_dup')
  value = 7
  call MPI_Type_set_attr(datatype, key, value, error)
  call did('attributes', 'MPI_Type_set_attr')
  value = 0
  call MPI_Type_get_attr(datatype, key, value, flag, error)
  call did('attributes', 'MPI_Type_get_attr')
  call check(flag .and. value == 7, 'MPI_Type_get_attr')
  call MPI_Type_free(datatype, error)
  call did('attributes', 'MPI_Type_free')
  call MPI_Type_free_keyval(key, error)
  call did('attributes', 'MPI_Type_free_keyval')
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call did('attributes', 'MPI_Win_create_dynamic')
  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, key, none, error)
  call did('attributes', 'MPI_Win_create_keyval')
  call MPI_Win_set_attr(window, key, value, error)
  call did('attributes', 'MPI_Win_set_attr')
  call MPI_Win_get_attr(window, key, value, flag, error)
  call did('attributes', 'MPI_Win_get_attr')
  call check(flag .and. value == 7, 'MPI_Win_get_attr')
  call MPI_Win_free(window, error)
  call did('attributes', 'MPI_Win_free')
  call MPI_Win_free_keyval(key, error)
  call did('attributes', 'MPI_Win_free_keyval')
  digest = digest + value
end subroutine

subroutine errors()
#include "preamble.inc"
  integer :: error, class, length, a
  character(MPI_MAX_ERROR_STRING) :: text
  HANDLE(MPI_Errhandler) :: handler
#ifdef USE_MPI_F08
  procedure(MPI_Comm_errhandler_function) :: handle
#else
  external :: handle
#endif
  call MPI_Comm_create_errhandler(handle, handler, error)
  call did('errors', 'MPI_Comm_create_errhandler')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, error)
  call did('errors', 'MPI_Comm_set_errhandler')
  a = 1
  ! Errors are the program's: its handler is called, IERROR is what MPI says, and nothing is counted as sent.
  call MPI_Send(a, 1, MPI_INTEGER, 99999, 1, MPI_COMM_WORLD, error)
  call did('errors', 'MPI_Send')
  call check(error /= MPI_SUCCESS, 'an invalid rank')
  call MPI_Error_class(error, class, error)
  call did('errors', 'MPI_Error_class')
  call check(class == MPI_ERR_RANK, 'MPI_ERR_RANK')
  call MPI_Error_string(class, text, length, error)
  call did('errors', 'MPI_Error_string')
  call check(length > 0 .and. text(length:length) /= ' ', 'MPI_Error_string')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
  call did('errors', 'MPI_Comm_set_errhandler')
  call MPI_Errhandler_free(handler, error)
  call did('errors', 'MPI_Errhandler_free')
end subroutine

#ifdef USE_MPI_F08
subroutine handle(comm, code)
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  integer :: code
end subroutine
#else
subroutine handle(comm, code)
  implicit none
  integer :: comm, code
end subroutine
#endif

subroutine infos()
#include "preamble.inc"
  integer :: error, n
  logical :: flag
  character(20) :: value
  HANDLE(MPI_Info) :: info
  call MPI_Info_create(info, error)
  call did('infos', 'MPI_Info_create')
  call MPI_Info_set(info, ' a key ', ' a value ', error)
  call did('infos', 'MPI_Info_set')
  call MPI_Info_get_nkeys(info, n, error)
  call did('infos', 'MPI_Info_get_nkeys')
  call check(n == 1, 'MPI_Info_get_nkeys')
  value = 'x'
  call MPI_Info_get(info, 'a key', 20, value, flag, error)
  call did('infos', 'MPI_Info_get')
  call check(flag .and. value == 'a value', 'MPI_Info_get')
  call MPI_Info_free(info, error)
  call did('infos', 'MPI_Info_free')
end subroutine

subroutine enquiries(digest)
#include "preamble.inc"
  double precision, intent(inout) :: digest
  integer :: error, version, subversion, length
  logical :: flag
  character(MPI_MAX_PROCESSOR_NAME) :: name
  character(MPI_MAX_LIBRARY_VERSION_STRING) :: library
  call MPI_Initialized(flag, error)
  call did('enquiries', 'MPI_Initialized')
  call check(flag, 'MPI_Initialized')
  call MPI_Finalized(flag, error)
  call did('enquiries', 'MPI_Finalized')
  call check(.not. flag, 'MPI_Finalized')
  call MPI_Is_thread_main(flag, error)
  call did('enquiries', 'MPI_Is_thread_main')
  call MPI_Query_thread(length, error)
  call did('enquiries', 'MPI_Query_thread')
  call MPI_Get_version(version, subversion, error)
  call did('enquiries', 'MPI_Get_version')
  call check(version >= 3, 'MPI_Get_version')
  call MPI_Get_library_version(library, length, error)
  call did('enquiries', 'MPI_Get_library_version')
  call MPI_Get_processor_name(name, length, error)
  call did('enquiries', 'MPI_Get_processor_name')
  call check(length > 0 .and. name(length:length) /= ' ', 'MPI_Get_processor_name')
  call MPI_Pcontrol(1)
  call did('enquiries', 'MPI_Pcontrol')
  digest = digest + version
end subroutine

! Functions that are not wrapped are no calls in the report.
subroutine not_counted(digest)
#include "preamble.inc"
  double precision, intent(inout) :: digest
  double precision :: before
  integer(kind=MPI_ADDRESS_KIND) :: address
  before = MPI_Wtime()
  call check(MPI_Wtime() >= before .and. MPI_Wtick() < 1, 'MPI_Wtime')
#if defined(USE_MPI) || defined(USE_MPI_F08)
  address = MPI_Aint_add(40_MPI_ADDRESS_KIND, 2_MPI_ADDRESS_KIND)
  call check(MPI_Aint_diff(address, 2_MPI_ADDRESS_KIND) == 40, 'MPI_Aint_diff')
#else
  address = 42
#endif
  digest = digest + address
end subroutine

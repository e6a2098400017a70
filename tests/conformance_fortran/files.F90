! Files: bytes read and written at the call; two ranks. The file lies in the directory SCRATCH.
#include "interface.inc"

program files
#include "preamble.inc"
  integer :: error, rank
  double precision :: digest
  character(1000) :: directory
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call open_truth(rank)
  call did('files', 'MPI_Init')
  call did('files', 'MPI_Comm_rank')
  call get_environment_variable('SCRATCH', directory)
  digest = 0
  call written_and_read(trim(directory)//'/a file', rank, digest)
  if (rank == 0) print '(a,es24.16)', 'files ', digest
  call did('files', 'MPI_Finalize')
  call close_truth()
  call MPI_Finalize(error)
end program

subroutine written_and_read(name, rank, digest)
#include "preamble.inc"
  character(*), intent(in) :: name
  integer, intent(in) :: rank
  double precision, intent(inout) :: digest
  integer :: error, n
  integer(kind=MPI_OFFSET_KIND) :: offset, length
  integer, asynchronous :: a(100), b(100)
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Request) :: request
  STATUS(status)
  a = rank + 1
  b = 0
  ! Fortran pads names with blanks.
  call MPI_File_open(MPI_COMM_WORLD, name//'   ', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
  call did('written_and_read', 'MPI_File_open')
  offset = 400*rank
  call MPI_File_write_at(file, offset, a, 50, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call did('written_and_read', 'MPI_File_write_at')
  call moved('written_and_read', 'MPI_File_write_at', 'bytes_written', 200)
  offset = offset + 200
  call MPI_File_write_at_all(file, offset, a, 25, MPI_INTEGER, status, error)
  call did('written_and_read', 'MPI_File_write_at_all')
  call moved('written_and_read', 'MPI_File_write_at_all', 'bytes_written', 100)
  call MPI_Get_count(status, MPI_INTEGER, n, error)
  call did('written_and_read', 'MPI_Get_count')
  call check(n == 25, 'status of MPI_File_write_at_all')
  offset = offset + 100
  call MPI_File_seek(file, offset, MPI_SEEK_SET, error)
  call did('written_and_read', 'MPI_File_seek')
  call MPI_File_write(file, a, 25, MPI_INTEGER, status, error)
  call did('written_and_read', 'MPI_File_write')
  call moved('written_and_read', 'MPI_File_write', 'bytes_written', 100)
  call MPI_File_sync(file, error)
  call did('written_and_read', 'MPI_File_sync')
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call did('written_and_read', 'MPI_Barrier')
  call MPI_File_get_size(file, length, error)
  call did('written_and_read', 'MPI_File_get_size')
  call check(length == 800, 'MPI_File_get_size')
  ! What the other one has written.
  offset = 400*(1 - rank)
  call MPI_File_read_at(file, offset, b, 100, MPI_INTEGER, status, error)
  call did('written_and_read', 'MPI_File_read_at')
  call moved('written_and_read', 'MPI_File_read_at', 'bytes_read', 400)
  call check(all(b == 2 - rank), 'MPI_File_read_at')
  offset = 700
  call MPI_File_read_at_all(file, offset, b, 25, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call did('written_and_read', 'MPI_File_read_at_all')
  call moved('written_and_read', 'MPI_File_read_at_all', 'bytes_read', 100)
  offset = 0
  call MPI_File_set_view(file, offset, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
  call did('written_and_read', 'MPI_File_set_view')
  call MPI_File_read_all(file, b, 30, MPI_INTEGER, status, error)
  call did('written_and_read', 'MPI_File_read_all')
  call moved('written_and_read', 'MPI_File_read_all', 'bytes_read', 120)
  call MPI_File_read(file, b, 20, MPI_INTEGER, status, error)
  call did('written_and_read', 'MPI_File_read')
  call moved('written_and_read', 'MPI_File_read', 'bytes_read', 80)
  digest = digest + sum(b(:30))
  offset = 0
  call MPI_File_iread_at(file, offset, b, 10, MPI_INTEGER, request, error)
  call did('written_and_read', 'MPI_File_iread_at')
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call did('written_and_read', 'MPI_Wait')
  call moved('written_and_read', 'MPI_File_iread_at', 'bytes_read', 40)
  call moved('written_and_read', 'MPI_Wait', 'bytes_completed', 40)
  offset = 100*rank
  call MPI_File_write_at_all_begin(file, offset, a, 10, MPI_INTEGER, error)
  call did('written_and_read', 'MPI_File_write_at_all_begin')
  call MPI_File_write_at_all_end(file, a, status, error)
  call did('written_and_read', 'MPI_File_write_at_all_end')
  call moved('written_and_read', 'MPI_File_write_at_all_end', 'bytes_written', 40)
  call MPI_File_close(file, error)
  call did('written_and_read', 'MPI_File_close')
  if (rank == 0) then
    call MPI_File_delete(name, MPI_INFO_NULL, error)
    call did('written_and_read', 'MPI_File_delete')
  end if
end subroutine

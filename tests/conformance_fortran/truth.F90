! The truth that a test program writes down beside its calls: one line "subroutine function field amount" each, in the
! file TRUTH_FILE.<rank>, if TRUTH_FILE is set. What is not true in the program itself ends it.
module truth
  implicit none
  private
  public :: open_truth, close_truth, did, arrived, completed, moved, check
  integer :: unit
  logical :: writes = .false.

contains

  subroutine open_truth(rank)
    integer, intent(in) :: rank
    character(4096) :: path
    character(8) :: number
    call get_environment_variable('TRUTH_FILE', path)
    if (path == '') return
    write (number, '(i0)') rank
    open (newunit=unit, file=trim(path)//'.'//trim(number), action='write', status='replace')
    writes = .true.
  end subroutine

  subroutine close_truth()
    if (writes) close (unit)
  end subroutine

  subroutine add(where, what, field, amount)
    character(*), intent(in) :: where, what, field
    integer, intent(in) :: amount
    if (writes .and. amount /= 0) write (unit, '(a,1x,a,1x,a,1x,i0)') where, what, field, amount
  end subroutine

  ! A call of MPI function `what` in subroutine `where`.
  subroutine did(where, what, messages_sent, bytes_sent, messages_received, bytes_received)
    character(*), intent(in) :: where, what
    integer, intent(in), optional :: messages_sent, bytes_sent, messages_received, bytes_received
    call add(where, what, 'visits', 1)
    if (present(messages_sent)) call add(where, what, 'messages_sent', messages_sent)
    if (present(bytes_sent)) call add(where, what, 'bytes_sent', bytes_sent)
    if (present(messages_received)) call arrived(where, what, messages_received, bytes_received)
  end subroutine

  ! What a receive brought that was posted at `where`.
  subroutine arrived(where, what, messages, bytes)
    character(*), intent(in) :: where, what
    integer, intent(in) :: messages, bytes
    call add(where, what, 'messages_received', messages)
    call add(where, what, 'bytes_received', bytes)
  end subroutine

  ! The same at the call that completed it.
  subroutine completed(where, what, messages, bytes)
    character(*), intent(in) :: where, what
    integer, intent(in) :: messages, bytes
    call add(where, what, 'messages_completed', messages)
    call add(where, what, 'bytes_completed', bytes)
  end subroutine

  ! Of a file: 'bytes_read', 'bytes_written'.
  subroutine moved(where, what, field, bytes)
    character(*), intent(in) :: where, what, field
    integer, intent(in) :: bytes
    call add(where, what, field, bytes)
  end subroutine

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    write (0, '(a,a)') 'not true: ', what
    error stop 7
  end subroutine
end module

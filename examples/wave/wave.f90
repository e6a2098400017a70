! A vibrating membrane: the 2-D wave equation, leapfrog in time, decomposed into strips of columns.
!
!   wave [--size N] [--steps N] [--imbalance TERMS]
!
! One step = halo exchange with both neighbors (Sendrecv), one update of the strip, and the energy of the membrane by
! all-reduce. Planted imbalance: the first rank alone evaluates a restoring force as a series of TERMS terms (default 8)
! for every cell. It enters with weight zero, so the output does not depend on it; `--imbalance 0` removes it.
program wave
  use mpi
  use refrain
  use, intrinsic :: iso_fortran_env, only: real64, error_unit
  implicit none

  integer, parameter :: dp = real64
  real(dp), parameter :: courant2 = 0.25_dp
  integer :: n, steps, terms
  integer :: rank, ranks, left, right, columns, first, error, s
  real(dp), allocatable :: before(:, :), now(:, :), next(:, :)
  real(dp) :: energy, checksum

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call parse_options()
  call decompose()
  call set_initial_shape()

  energy = 0
  call refrain_loop_begin("timestep")
  do s = 1, steps
    call refrain_iteration_begin()
    call step()
    call refrain_iteration_end()
  end do
  call refrain_loop_end()

  checksum = total_displacement()
  if (rank == 0) then
    print '(a,i0,a,i0,a,i0,a,es24.16,a,es24.16)', 'wave size=', n, ' steps=', steps, ' ranks=', ranks, &
      ' energy=', energy, ' checksum=', checksum
  end if
  call MPI_Finalize(error)

contains

  subroutine fail(what)
    character(*), intent(in) :: what
    write (error_unit, '(2a)') 'wave: ', what
    call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end subroutine

  subroutine parse_options()
    character(32) :: name, text
    integer :: i, value, status
    n = 400
    steps = 400
    terms = 8
    do i = 1, command_argument_count(), 2
      call get_command_argument(i, name)
      call get_command_argument(i + 1, text)
      read (text, *, iostat=status) value
      if (status /= 0) call fail('usage: wave [--size N] [--steps N] [--imbalance TERMS]')
      select case (name)
      case ('--size'); n = value
      case ('--steps'); steps = value
      case ('--imbalance'); terms = value
      case default; call fail('usage: wave [--size N] [--steps N] [--imbalance TERMS]')
      end select
    end do
    if (n < ranks .or. steps < 0 .or. terms < 0) call fail('size below the number of ranks, or a negative value')
  end subroutine

  subroutine decompose()
    first = int(int(n, 8)*rank/ranks) + 1
    columns = int(int(n, 8)*(rank + 1)/ranks) + 1 - first
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    allocate (before(0:n + 1, 0:columns + 1), now(0:n + 1, 0:columns + 1), next(0:n + 1, 0:columns + 1))
    before = 0
    now = 0
    next = 0
  end subroutine

  subroutine set_initial_shape()
    integer :: i, j
    real(dp) :: x, y
    do j = 1, columns
      do i = 1, n
        x = real(i, dp)/(n + 1)
        y = real(first + j - 1, dp)/(n + 1)
        now(i, j) = 16*x*(1 - x)*y*(1 - y)*(1 + x - y)
      end do
    end do
    before = now
  end subroutine

  subroutine step()
    call exchange_halo()
    call update()
    if (rank == 0 .and. terms > 0) call restoring_series()
    energy = total_energy()
    call rotate()
  end subroutine

  subroutine exchange_halo()
    call MPI_Sendrecv(now(1, columns), n, MPI_DOUBLE_PRECISION, right, 1, &
                      now(1, 0), n, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(now(1, 1), n, MPI_DOUBLE_PRECISION, left, 2, &
                      now(1, columns + 1), n, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  subroutine update()
    integer :: i, j
    do j = 1, columns
      do i = 1, n
        next(i, j) = 2*now(i, j) - before(i, j) + &
          courant2*(now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) - 4*now(i, j))
      end do
    end do
  end subroutine

  ! The planted work: the sine of each cell by its power series.
  subroutine restoring_series()
    integer :: i, j, k
    real(dp) :: x, term, series
    do j = 1, columns
      do i = 1, n
        x = now(i, j)
        term = x
        series = x
        do k = 1, terms
          term = -term*x*x/((2*k)*(2*k + 1))
          series = series + term
        end do
        next(i, j) = next(i, j) + 0*series
      end do
    end do
  end subroutine

  function total_energy() result(total)
    real(dp) :: total
    integer :: i, j
    real(dp) :: velocity
    total = 0
    do j = 1, columns
      do i = 1, n
        velocity = next(i, j) - now(i, j)
        total = total + velocity*velocity + courant2*(now(i, j) - now(i - 1, j))**2 &
                + courant2*(now(i, j) - now(i, j - 1))**2
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end function

  subroutine rotate()
    real(dp), allocatable :: spare(:, :)
    call move_alloc(before, spare)
    call move_alloc(now, before)
    call move_alloc(next, now)
    call move_alloc(spare, next)
  end subroutine

  ! Added rank by rank in rank order: the same digits in every run.
  function total_displacement() result(total)
    real(dp) :: total, local
    real(dp), allocatable :: all(:)
    allocate (all(ranks))
    local = sum(now(1:n, 1:columns))
    call MPI_Gather(local, 1, MPI_DOUBLE_PRECISION, all, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    total = sum(all)
  end function
end program

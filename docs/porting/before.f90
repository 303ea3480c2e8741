! A plucked string: the wave equation in one dimension, cut into one piece for each rank.
program string
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  implicit none
  integer, parameter :: total = 1000      ! points of the string
  integer, parameter :: steps = 50        ! of output
  integer, parameter :: between = 20      ! time steps from one output to the next
  real(real64), parameter :: dt = 0.0005_real64, dx = 0.001_real64
  real(real64), allocatable :: past(:), now(:), next(:)
  integer :: rank, ranks, left, right, first, n, i, step, inner
  real(real64) :: t
  character(len=32) :: name

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  first = total * rank / ranks            ! points left of this rank's
  n = total * (rank + 1) / ranks - first  ! this rank's
  allocate (past(0:n + 1), now(0:n + 1), next(0:n + 1))

  ! At rest, and pulled up to a triangle.
  now = 0
  do i = 1, n
    now(i) = dx * min(first + i, total + 1 - first - i)
  end do
  past = now
  next = 0
  t = 0

  write (name, "(a,i0,a)") "string_", rank, ".txt"
  open (10, file=name, status="replace")
  do step = 1, steps
    do inner = 1, between
      call exchange(now)
      do i = 1, n
        next(i) = 2 * now(i) - past(i) + (dt / dx)**2 * (now(i - 1) - 2 * now(i) + now(i + 1))
      end do
      past = now
      now = next
      t = t + dt
    end do
    write (10, *) t, now(1:n)
  end do
  close (10)
  call MPI_Finalize()

contains

  subroutine exchange(u)
    real(real64), intent(inout) :: u(0:n + 1)
    call MPI_Sendrecv(u(1), 1, MPI_DOUBLE_PRECISION, left, 0, u(n + 1), 1, &
      MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(n), 1, MPI_DOUBLE_PRECISION, right, 1, u(0), 1, &
      MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
end program string

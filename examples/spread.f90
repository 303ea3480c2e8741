! Heat spreads along a rod, on any number of ranks, and goes on from its last checkpoint. spread
! STEPS: prints the sum of the temperatures. spread.cpp, spread.c and spread.py do the same.
program spread_heat
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use sluice                                                                  ! 1
  implicit none
  integer, parameter :: cells = 4096
  integer :: rank, ranks, left, right, first, n, i, steps
  integer :: step
  real(real64), allocatable :: u(:)
  real(real64) :: all(0:cells - 1)
  character(len=20) :: text
  type(sluice_checkpoint) :: state                                            ! 2
  target :: u, step                                                           ! 3

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  steps = 100
  call get_command_argument(1, text)
  if (text /= "") read (text, *) steps
  first = cells * rank / ranks
  n = cells * (rank + 1) / ranks - first
  allocate (u(0:n + 1))
  u = 0
  do i = 1, n
    if (mod(first + i - 1, 100) == 50) u(i) = 100
  end do
  step = 0
  call state%open("spread.h5", MPI_COMM_WORLD, interval_calls=10)             ! 4
  call state%array("u", u(1:n), shape=[cells], start=[first + 1])             ! 5
  call state%value("step", step)                                              ! 6
  call state%restore()                                                        ! 7
  do while (step < steps)
    call MPI_Sendrecv(u(1), 1, MPI_DOUBLE_PRECISION, left, 0, u(n + 1), 1, MPI_DOUBLE_PRECISION, &
      right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(n), 1, MPI_DOUBLE_PRECISION, right, 1, u(0), 1, MPI_DOUBLE_PRECISION, &
      left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    u(1:n) = u(1:n) + 0.25_real64 * (u(0:n - 1) - 2 * u(1:n) + u(2:n + 1))
    step = step + 1
    if (state%due()) call state%save(time=real(step, real64))                 ! 8
    if (state%ending()) exit                                                  ! 9
  end do
  call state%close()                                                          ! 10
  all = 0
  do i = 0, n - 1
    all(first + i) = u(i + 1) * (1 + mod(first + i, 7))
  end do
  call MPI_Allreduce(MPI_IN_PLACE, all, cells, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  do i = 1, cells - 1
    all(0) = all(0) + all(i)
  end do
  if (rank == 0) print "(i0,1x,es24.16)", step, all(0)
  call MPI_Finalize()
end program spread_heat

! Heat spreads over a plate, on any number of ranks. heat FILE [FROM]: writes every step to FILE;
! goes on from the last step of FROM. heat.cpp, heat.c and heat.py write the same file.
program heat
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use mpi_f08
  use sluice
  implicit none
  integer, parameter :: rows = 64, columns = 32, steps = 8
  integer :: rank, ranks, up, down, first, n, i, j, t
  real(real64), allocatable :: u(:, :), old(:, :)
  logical, allocatable :: heater(:, :)
  character(len=500) :: path
  type(sluice_file) :: out, from

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (ranks > rows) then
    if (rank == 0) write (error_unit, "(2(a,i0),a)") "heat: ", ranks, " ranks for ", rows, &
      " rows: use fewer"
    call MPI_Finalize()
    error stop 2
  end if
  up = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  down = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  first = rows * rank / ranks
  n = rows * (rank + 1) / ranks - first
  allocate (u(columns, 0:n + 1), heater(columns, n))
  u = 0
  do concurrent (j = 1:columns, i = 1:n)
    heater(j, i) = first + i == rows / 2 + 1 .and. j > columns / 4 .and. j <= columns / 2
  end do
  if (command_argument_count() > 1) then
    call get_command_argument(2, path)
    call from%open(path, "r", MPI_COMM_WORLD)
    call from%get("temperature", u(:, 1:n), start=[1, first + 1])
    call from%close()
  end if

  call get_command_argument(1, path)
  call out%open(path, "w", MPI_COMM_WORLD)
  call out%set_text("", "title", "heat on a plate")
  call out%define("temperature", sluice_real64, shape=[columns, rows], steps=.true., unit="K")
  call out%define("heater", sluice_logical, shape=[columns, rows])
  call out%put("heater", heater, start=[1, first + 1])
  do t = 0, steps - 1
    call MPI_Sendrecv(u(:, 1), columns, MPI_DOUBLE_PRECISION, up, 0, u(:, n + 1), columns, &
      MPI_DOUBLE_PRECISION, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(:, n), columns, MPI_DOUBLE_PRECISION, down, 1, u(:, 0), columns, &
      MPI_DOUBLE_PRECISION, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    old = u
    do i = 1, n
      do j = 2, columns - 1
        u(j, i) = old(j, i) + 0.1_real64 * (old(j, i - 1) + old(j, i + 1) + old(j - 1, i) &
          + old(j + 1, i) - 4 * old(j, i))
        if (heater(j, i)) u(j, i) = 100
      end do
    end do
    call out%begin_step(time=0.1_real64 * t)
    call out%put("temperature", u(:, 1:n), start=[1, first + 1])
    call out%end_step()
  end do
  call out%close()
  call MPI_Finalize()
end program heat

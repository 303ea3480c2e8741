! Writes three steps, each rank its part, and reads the neighbour's part back.
program consumer
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use sluice
  implicit none
  integer(int64), parameter :: each = 1000
  integer :: rank, ranks, step, other, i
  real(real64) :: mine(each), theirs(each)
  type(sluice_file) :: file
  character(len=4096) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)

  call file%open(trim(path), "w", MPI_COMM_WORLD, 'strategy = "collective"')
  call file%define("x", sluice_real64, shape=[each * ranks], steps=.true., unit="nm")
  do step = 1, 3
    mine = [(value(rank, i, step), i = 1, int(each))]
    call file%begin_step(time=0.1_real64 * step)
    call file%put("x", mine, start=[rank * each + 1])
    call file%end_step()
  end do
  call file%close()

  other = mod(rank + 1, ranks)
  call file%open(trim(path), "r", MPI_COMM_WORLD)
  call file%get("x", theirs, start=[other * each + 1], step=3)
  call file%close()
  if (any(theirs /= [(value(other, i, 3), i = 1, int(each))])) error stop "wrong values"
  call MPI_Finalize()

contains

  pure function value(of, i, step)
    integer, intent(in) :: of, i, step
    real(real64) :: value
    value = of * 1e6_real64 + (i - 1) + (step - 1) * 0.5_real64
  end function
end program

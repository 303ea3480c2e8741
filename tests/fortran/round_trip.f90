! Writes every kind of data through the module sluice, reads it back, checks errors. On any number
! of ranks; the file is then read by tests/fortran/check_round_trip.py.
program round_trip
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  use mpi_f08
  use sluice
  implicit none
  integer :: rank, ranks
  integer(int64), parameter :: rows = 1000
  integer(int64) :: first, n
  character(len=512) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  first = rows * rank / ranks + 1
  n = rows * (rank + 1) / ranks - first + 1
  call write_file()
  call read_file()
  call check_errors()
  if (rank == 0) print "(a)", "fortran round trip: ok"
  call MPI_Finalize()

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      write (error_unit, "(a,i0,2a)") "rank ", rank, ": not so: ", what
      error stop 1
    end if
  end subroutine

  pure real(real64) function value_at(component, row, step)
    integer, intent(in) :: component
    integer(int64), intent(in) :: row
    integer, intent(in) :: step
    value_at = 1000000.0_real64 * step + 10.0_real64 * row + component
  end function

  subroutine write_file()
    type(sluice_file) :: out
    real(real64), allocatable :: x(:, :), ghosted(:, :)
    complex(real32), allocatable :: z(:)
    integer(int16), allocatable :: small(:)
    logical, allocatable :: even(:)
    character(len=5), allocatable :: names(:)
    integer(int64), allocatable :: ids(:)
    integer(int64) :: i
    integer :: c, step
    logical :: durable
    allocate (x(3, n), ghosted(3, 0:n + 1), z(n), small(n), even(n), names(n), ids(n))
    call out%open(trim(path), "w", MPI_COMM_WORLD, options='strategy = "shared"')
    call out%define("positions", sluice_real64, shape=[3_int64, rows], steps=.true., unit="nm")
    call out%define("velocities", sluice_real32, shape=[3_int64, rows], steps=.true.)
    call out%define("by_index", sluice_real64, shape=[3_int64, rows], steps=.true.)
    call out%define("group/charge", sluice_complex32, shape=[rows])
    call out%define("small", sluice_int32, shape=[rows])
    call out%define("even", sluice_logical, shape=[rows])
    call out%define("names", sluice_character(5), shape=[rows])
    call out%set_attribute("", "title", "a Fortran file")
    call out%set_attribute("", "cell", [1.5_real64, 2.5_real64, 3.5_real64])
    call out%set_attribute("positions", "particles", rows)
    do i = 1, n
      z(i) = cmplx(first + i - 1, -(first + i - 1), real32)
      small(i) = int(mod(first + i - 1, 1000_int64), int16)
      even(i) = mod(first + i - 1, 2_int64) == 0
      write (names(i), "(a,i0)") "n", mod(first + i - 1, 1000_int64)
      ids(i) = rows - (first + i - 1) + 1 ! backwards: another rank's rows
    end do
    call out%put("group/charge", z, start=[first])
    call out%put("small", small, start=[first])
    call out%put("even", even, start=[first])
    call out%put("names", names, start=[first])
    do step = 1, 3
      do i = 1, n
        do c = 1, 3
          x(c, i) = value_at(c, first + i - 1, step)
        end do
      end do
      ghosted = -1
      ghosted(:, 1:n) = x
      call out%begin_step(time=0.5_real64 * step)
      call out%put("positions", x, start=[1_int64, first])
      call out%put("velocities", ghosted(3:1:-1, 1:n), start=[1_int64, first]) ! a section, turned
      call out%put_rows("by_index", ids, x)
      call out%end_step(durable=durable)
      call require(durable, "a step is durable")
    end do
    call out%close()
  end subroutine

  subroutine read_file()
    type(sluice_file) :: in
    real(real64), allocatable :: x(:, :)
    real(real32), allocatable :: wide(:, :)
    logical, allocatable :: even(:)
    character(len=5), allocatable :: names(:)
    character(len=20) :: title
    integer(int64) :: i
    integer :: c
    allocate (x(3, n), wide(6, n), even(n), names(n))
    call in%open(trim(path), "r", MPI_COMM_WORLD)
    call require(in%steps() == 3, "three steps")
    call require(in%time(2_int64) == 1.0_real64, "time of the second step")
    call require(all(in%shape("positions") == [3_int64, rows]), "shape in Fortran's order")
    call in%get("positions", x, start=[1_int64, first], step=2_int64)
    wide = -1
    call in%get("velocities", wide(1:6:2, :), start=[1_int64, first], step=3_int64)
    call in%get("even", even, start=[first])
    call in%get("names", names, start=[first])
    do i = 1, n
      do c = 1, 3
        call require(x(c, i) == value_at(c, first + i - 1, 2), "positions")
        call require(wide(2 * c - 1, i) == real(value_at(4 - c, first + i - 1, 3), real32), &
          "velocities, strided")
        call require(wide(2 * c, i) == -1, "nothing beside the section")
      end do
      call require(even(i) .eqv. mod(first + i - 1, 2_int64) == 0, "logicals")
      call require(names(i) (1:1) == "n", "names")
    end do
    call in%get_rows("by_index", [rows, 1_int64], x(:, 1:2), step=1_int64)
    call require(x(1, 1) == value_at(1, 1_int64, 1), "rows by index")
    call require(x(1, 2) == value_at(1, rows, 1), "rows by index")
    call in%get_attribute("", "title", title)
    call require(title == "a Fortran file", "text attribute")
    call in%close()
  end subroutine

  subroutine check_errors()
    type(sluice_file) :: file
    real(real64) :: x(3, 2)
    integer :: stat
    character(len=300) :: message
    message = ""
    call file%put("nothing", x, stat=stat, errmsg=message)
    call require(stat /= 0 .and. message /= "", "a file that was never opened")
    call file%open("no/such/folder/file.h5", "r", MPI_COMM_WORLD, stat=stat, errmsg=message)
    call require(stat == 20, "a missing file: " // trim(message))
    call file%open(trim(path) // ".errors", "w", MPI_COMM_WORLD)
    call file%define("a", sluice_real64, shape=[3_int64, 2_int64 * ranks], steps=.true.)
    call file%put("b", x, stat=stat, errmsg=message)
    call require(stat == 20, "a variable that was not defined: " // trim(message))
    call file%put("a", x, start=[1_int64], stat=stat, errmsg=message)
    call require(stat == 10, "wrong rank of start: " // trim(message))
    call file%close(stat=stat)
    call file%close(stat=stat, errmsg=message)
    call require(stat == 19, "a second close: " // trim(message))
  end subroutine
end program round_trip

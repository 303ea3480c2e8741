! Writes every kind of data through the module sluice and reads it back, on any number of ranks; the
! file is then read by check_round_trip.py.
program round_trip
  use, intrinsic :: iso_fortran_env, only: int8, int16, int64, real32, real64, error_unit
  use mpi_f08
  use sluice
  implicit none
  integer, parameter :: rows = 1000
  integer :: rank, ranks, first, n
  character(len=512) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  first = rows * rank / ranks + 1
  n = rows * (rank + 1) / ranks - first + 1
  call write_file()
  call append_step()
  call read_file()
  call read_facts()
  call read_alone()
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
    integer, intent(in) :: component, row, step
    value_at = 1000000.0_real64 * step + 10.0_real64 * row + component
  end function

  subroutine fill(x, step)
    real(real64), intent(out) :: x(:, :)
    integer, intent(in) :: step
    integer :: c, i
    do i = 1, size(x, 2)
      do c = 1, size(x, 1)
        x(c, i) = value_at(c, first + i - 1, step)
      end do
    end do
  end subroutine

  subroutine describe(out)
    type(sluice_file), intent(inout) :: out
    character(len=12) :: author = "somebody"
    call out%define("positions", sluice_real64, shape=[3, rows], steps=.true., unit="nm", &
      description="where they are", dimensions=[character(len=9) :: "component", "particle"])
    call out%define("velocities", sluice_real32, shape=[3_int64, int(rows, int64)], &
      steps=.true., chunk=[3_int64, 100_int64])
    call out%define("by_index", sluice_real64, shape=[3, rows], steps=.true.)
    call out%define("events", sluice_int32, shape=[2, 4 * ranks], steps=.true., varying=.true.)
    call out%define("joined", sluice_int32, shape=[2, 4 * ranks], steps=.true., varying=.true.)
    call out%define("energy", sluice_real64, steps=.true.)
    call out%define("group/charge", sluice_complex32, shape=[rows])
    call out%define("small", sluice_int32, shape=[rows], fill=-1)
    call out%define("even", sluice_logical, shape=[rows])
    call out%define("names", sluice_character(5), shape=[rows])
    call out%define("sparse", sluice_real64, shape=[rows], partial=.true., fill=-1.0_real64)
    call out%define("filled/int", sluice_int64, shape=[rows], partial=.true., &
      fill=-9223372036854775806_int64)
    call out%define("filled/complex", sluice_complex64, shape=[rows], partial=.true., &
      fill=(1.0_real64, 2.0_real64))
    call out%define("filled/logical", sluice_logical, shape=[rows], partial=.true., fill=.true.)
    call out%define("filled/text", sluice_character(5), shape=[rows], partial=.true., fill="none")
    call out%set_text("", "title", "a Fortran file")
    call out%set_text("", "empty", "")
    call out%set_text("time", "units", "ps")
    call out%set_attribute("", "cell", [1.5_real64, 2.5_real64, 3.5_real64])
    call out%set_attribute("", "periodic", .true.)
    call out%set_attribute("", "kinds", [character(len=6) :: "oxygen", "iron"])
    call out%set_attribute("", "author", author)
    call out%set_attribute("positions", "particles", rows)
    call out%set_attribute("small", "flag_values", [0_int8, 1_int8])
    call out%set_attribute("small", "flag", [-1_int8])
    call out%set_attribute("small", "valid_range", [-100_int16, 100_int16])
    call out%set_attribute("small", "missing_value", -32767_int16)
  end subroutine

  subroutine put_fixed(out, z, small, even, names)
    type(sluice_file), intent(inout) :: out
    complex(real32), intent(out) :: z(:)
    integer(int16), intent(out) :: small(:)
    logical, intent(out) :: even(:)
    character(len=5), intent(out) :: names(:)
    integer :: i, row
    do i = 1, n
      row = first + i - 1
      z(i) = cmplx(row, -row, real32)
      small(i) = int(mod(row, 1000), int16)
      even(i) = mod(row, 2) == 0
      write (names(i), "(a,i0)") "n", mod(row, 1000)
    end do
    call out%put("group/charge", z, start=[first])
    call out%put("small", small, start=[first])
    call out%put("even", even, start=[first])
    call out%put("names", names, start=[first])
    call out%put("sparse", real(rank + 1, real64), start=[first])
  end subroutine

  subroutine put_step(out, x, ghosted, step)
    type(sluice_file), intent(inout) :: out
    real(real64), intent(inout), target :: x(:, :), ghosted(:, :)
    integer, intent(in) :: step
    integer :: i, mine
    integer :: ids(n), pairs(2, 4)
    call out%begin_step(time=0.5_real64 * step)
    call fill(x, step)
    ghosted = -1
    ghosted(:, 2:n + 1) = x
    ids = [(rows - (first + i - 1) + 1, i=1, n)] ! backwards: another rank's rows
    call out%put("positions", x, start=[1, first], in_place=.true.)
    call out%put("velocities", ghosted(3:1:-1, 2:n + 1), start=[1, first]) ! a section, turned
    call out%put_rows("by_index", ids, x)
    call out%resize("events", int(step * ranks, int64))
    do i = 1, step
      mine = rank * step + i
      call out%put("events", step, start=[1, mine])
      call out%put("events", mine, start=[2, mine])
    end do
    pairs(1, :) = step
    pairs(2, :) = [(rank * step + i, i=1, 4)]
    call out%put_joined("joined", pairs(:, 1:1))
    call out%put_joined("joined", pairs(:, 2:step))
    pairs = -1 ! they were copied
    if (rank == 0) call out%put("energy", 1.25_real64 * step)
  end subroutine

  subroutine write_file()
    type(sluice_file) :: out, follower
    real(real64) :: x(3, n), ghosted(3, n + 2)
    complex(real32) :: z(n)
    integer(int16) :: small(n)
    logical :: even(n), durable
    character(len=5) :: names(n)
    type(sluice_ticket) :: ticket
    integer :: step
    call require(.not. out%is_open(), "a file is closed before open")
    call out%open(path, "w", MPI_COMM_WORLD, options='strategy = "shared"')
    call require(out%is_open(), "and open after")
    call describe(out)
    call put_fixed(out, z, small, even, names)
    call out%flush()
    do step = 1, 3
      call put_step(out, x, ghosted, step)
      call out%end_step(durable=durable, ticket=ticket)
      call ticket%wait()
      call require(durable .and. ticket%durable(), "a step is durable")
      call require(ticket%step() == step, "steps count from 1")
      call out%poll()
      call out%drain(60.0_real64, all=durable)
      call require(durable, "what has ended is there")
      call ticket%free()
      if (step == 1) call follower%open(path, "r")
      call follower%refresh()
      call require(follower%steps() == step, "refresh shows the step that has ended")
    end do
    call follower%close()
    call out%close()
    call require(.not. out%is_open(), "a file is closed after close")
  end subroutine

  !> In a file that is there, through the integer communicator of the module mpi.
  subroutine append_step()
    type(sluice_file) :: out
    real(real64) :: x(3, n), ghosted(3, n + 2)
    call out%open(path, "a", MPI_COMM_WORLD%MPI_VAL)
    call require(out%steps() == 3, "three steps are there")
    call put_step(out, x, ghosted, 4)
    call out%end_step()
    call out%close()
  end subroutine

  subroutine read_file()
    type(sluice_file) :: in
    real(real64) :: x(3, n), expected(3, n), energy
    real(real32) :: wide(6, n)
    complex(real64) :: z(n)
    integer(int8) :: events(2, 2 * ranks)
    logical :: even(n)
    character(len=7) :: names(n)
    integer :: i
    call in%open(path, "r", MPI_COMM_WORLD)
    call in%get("positions", x, start=[1, first], step=2)
    call fill(expected, 2)
    call require(all(x == expected), "positions")
    call in%get("positions", x, start=[1_int64, int(first, int64)])
    call fill(expected, 4)
    call require(all(x == expected), "positions of the newest step")
    wide = -1
    x = 0
    call in%get("positions", x, start=[1, first], step=2, deferred=.true.)
    call in%get("energy", energy, step=3, deferred=.true.)
    call require(all(x == 0), "nothing before perform_gets")
    call in%perform_gets()
    call fill(expected, 2)
    call require(all(x == expected), "positions, deferred")
    call require(energy == 3.75_real64, "a scalar, deferred")
    call in%get("velocities", wide(1:6:2, :), start=[1, first], step=3)
    call fill(expected, 3)
    call require(all(wide(1:6:2, :) == real(expected(3:1:-1, :), real32)), "velocities, strided")
    call require(all(wide(2:6:2, :) == -1), "nothing beside the section")
    call in%get("group/charge", z, start=[first])
    call in%get("even", even, start=[first])
    call in%get("names", names, start=[first])
    do i = 1, n
      call require(z(i) == cmplx(first + i - 1, -(first + i - 1), real64), "complex numbers")
      call require(even(i) .eqv. mod(first + i - 1, 2) == 0, "logicals")
    end do
    call require(all(names(:)(1:1) == "n" .and. names(:)(6:7) == "  "), "text has blanks again")
    call in%get_rows("by_index", [rows, 1], x(:, 1:2), step=1)
    call require(x(1, 1) == value_at(1, 1, 1), "rows by index")
    call require(x(1, 2) == value_at(1, rows, 1), "rows by index")
    call in%get("energy", energy, step=3)
    call require(energy == 3.75_real64, "a scalar")
    call in%get("events", events, step=2)
    call require(all(events(1, :) == 2), "varying rows")
    call require(all(events(2, :) == [(int(i, int8), i=1, 2 * ranks)]), "varying rows")
    events = 0
    call in%get("joined", events, step=2)
    call require(all(events(1, :) == 2), "joined rows")
    call require(all(events(2, :) == [(int(i, int8), i=1, 2 * ranks)]), "joined rows")
    call in%close()
  end subroutine

  subroutine read_facts()
    type(sluice_file) :: in
    character(len=:), allocatable :: text
    character(len=20) :: title
    character(len=4) :: short
    real(real32) :: cell(3)
    integer :: stat, particles, i, type
    logical :: periodic
    call in%open(path, "r", MPI_COMM_WORLD)
    call require(in%steps() == 4, "four steps")
    call require(in%latest_good() == 4, "the newest step is whole")
    call require(in%time(2) == 1.0_real64, "time of the second step")
    call require(all(in%shape("positions") == [3, rows]), "shape in Fortran's order")
    call require(all(in%shape("events", step=2) == [2, 2 * ranks]), "shape of a varying step")
    call require(all(in%shape("joined", step=3) == [2, 3 * ranks]), "shape of joined rows")
    call require(in%type("positions") == sluice_real64, "type")
    call require(in%type("names") == sluice_character(5), "type of text")
    call require(in%has("even") .and. .not. in%has("odd"), "has")
    call require(any([(in%name(i) == "group/charge", i=1, in%variables())]), "names of variables")
    call in%get_attribute("", "title", title)
    call require(title == "a Fortran file", "text attribute")
    call in%get_attribute("", "title", short, stat=stat)
    call require(stat == sluice_error_overflow, "a text that is too long")
    call in%get_text("", "title", text)
    call require(text == "a Fortran file", "text of any length")
    call in%get_text("", "author", text)
    call require(text == "somebody", "text of a variable")
    call in%get_text("time", "units", text)
    call require(text == "ps", "units of the steps' times")
    call in%get_text("", "empty", text)
    call require(len(text) == 0, "empty text")
    call in%get_text("", "kinds", text, index=2)
    call require(text == "iron", "list of texts")
    call in%get_attribute("", "cell", cell)
    call require(all(cell == [1.5, 2.5, 3.5]), "list attribute, converted")
    call in%get_attribute("", "periodic", periodic)
    call require(periodic, "logical attribute")
    call in%get_attribute("positions", "particles", particles)
    call require(particles == rows, "integer attribute")
    call require(in%attribute_size("", "cell", type=type) == 3 .and. type == sluice_real64, "size")
    call require(in%attribute_size("", "title") == -1, "size of one value")
    call require(in%has_attribute("positions", "units"), "unit")
    call require(any([(in%attribute_name("", i) == "cell", i=1, in%attributes(""))]), "names")
    call require(.not. in%has_attribute("", "nothing"), "has_attribute")
    call in%close()
  end subroutine

  !> Without a communicator.
  subroutine read_alone()
    type(sluice_file) :: in
    integer :: small(rows), i
    call in%open(path, "r")
    call require(in%steps() == 4, "four steps")
    call in%get("small", small)
    call require(all(small == [(mod(i, 1000), i=1, rows)]), "small integers")
    call in%close()
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine
end program round_trip

! Checkpoints by the Fortran module: what was saved comes back, mistakes are said.
program checkpoint
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use mpi_f08
  use sluice
  implicit none
  integer, parameter :: columns = 5, rows_each = 3
  character(len=500) :: path
  integer :: rank, ranks, failures = 0
  type :: pair
    integer :: a, b
  end type

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  call save_some()
  call restore_them()
  call make_mistakes()
  call refuse_memory()
  call use_what_is_not_open()
  call count_from_one()
  call mix_kinds()
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (failures /= 0) error stop "checkpoint: failed"

contains

  subroutine require(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    failures = failures + 1
    print "(a)", "failed: " // what
  end subroutine

  !> field: with ghost cells all around.
  subroutine add(state, field, rows, ids, step, note, generator)
    type(sluice_checkpoint), intent(inout) :: state
    real(real64), intent(inout), target :: field(0:, 0:)
    real(real32), intent(inout), target :: rows(:, :)
    integer, intent(in) :: ids(:)
    integer, intent(inout), target :: step, generator(:)
    character(len=*), intent(inout), target :: note
    call state%array("field", field(1:columns, 1:rows_each), shape=[columns, rows_each * ranks], &
      start=[1, rank * rows_each + 1])
    call state%rows("rows", ids, rows, shape=[3, 2 * ranks])
    call state%value("step", step)
    call state%text("note", note)
    call state%bytes("generator", generator)
  end subroutine

  subroutine set(key, field, rows, ids, step, note, generator)
    integer, intent(in) :: key
    real(real64), intent(out) :: field(0:, 0:)
    real(real32), intent(out) :: rows(:, :)
    integer, intent(out) :: ids(:), step, generator(:)
    character(len=*), intent(out) :: note
    integer :: i, j
    field = 0
    do j = 1, rows_each
      do i = 1, columns
        field(i, j) = 1000 * key + 100 * rank + 10 * j + i
      end do
    end do
    ids = [2 * (ranks - rank), 2 * (ranks - rank) - 1]
    do j = 1, 2
      rows(:, j) = real(100 * key + 10 * ids(j), real32) + [1.0_real32, 2.0_real32, 3.0_real32]
    end do
    step = key
    write (note, "(a,i0)") "of key ", key
    generator = [key, rank, 3]
  end subroutine

  subroutine save_some()
    type(sluice_checkpoint) :: state
    real(real64), target :: field(0:columns + 1, 0:rows_each + 1)
    real(real32), target :: rows(3, 2)
    integer, target :: step, generator(3)
    integer :: ids(2), key, number, newer, stat
    real(real64) :: seconds
    character(len=200) :: errmsg
    character(len=20), target :: note
    character(len=:), allocatable :: why
    call set(0, field, rows, ids, step, note, generator)
    call state%open(trim(path), MPI_COMM_WORLD, keep=0, incremental=.true., stat=stat, &
      errmsg=errmsg)
    call require(stat /= 0 .and. index(errmsg, "incremental needs keep") > 0, trim(errmsg))
    call state%open(trim(path), MPI_COMM_WORLD, keep=2, interval_calls=1, &
      options='durability = "none"', scratch=trim(path) // ".node", incremental=.true.)
    call add(state, field, rows, ids, step, note, generator)
    call state%restore(number=number, newer=newer, why=why)
    call require(number == 0 .and. newer == 0 .and. why == "", "nothing is there yet")
    do key = 1, 4
      call set(key, field, rows, ids, step, note, generator)
      call require(state%due(), "each call is due")
      call require(.not. state%ending(), "nothing ends")
      call state%save(time=0.5_real64 * key, number=number, seconds=seconds, why=why)
      call require(number == key .and. why == "" .and. seconds > 0, "it is saved: " // why)
      call require(note == "of key " // achar(48 + key), "save leaves the text alone")
    end do
    call state%close()
  end subroutine

  subroutine restore_them()
    type(sluice_checkpoint) :: state
    real(real64), target :: field(0:columns + 1, 0:rows_each + 1)
    real(real64) :: wanted_field(0:columns + 1, 0:rows_each + 1), time
    real(real32), target :: rows(3, 2)
    real(real32) :: wanted_rows(3, 2)
    integer, target :: step, generator(3)
    integer :: ids(2), wanted_step, wanted_generator(3), number, writers, newer
    character(len=20), target :: note
    character(len=20) :: wanted_note
    call set(4, wanted_field, wanted_rows, ids, wanted_step, wanted_note, wanted_generator)
    call set(0, field, rows, ids, step, note, generator)
    field = 0
    note = "longer than that"
    call state%open(trim(path), MPI_COMM_WORLD)
    call add(state, field, rows, ids, step, note, generator)
    call state%restore(number=number, time=time, ranks=writers, newer=newer)
    call require(number == 4 .and. writers == ranks .and. newer == 0, "the newest is taken")
    call require(abs(time - 2) < 1e-12_real64, "its time")
    call require(all(abs(field - wanted_field) < 1e-12_real64), "field, without its ghost cells")
    call require(all(abs(rows - wanted_rows) < 1e-6_real32), "rows")
    call require(step == wanted_step .and. all(generator == wanted_generator), "step, generator")
    call require(note == wanted_note, "note: " // note)
    call state%close()
  end subroutine

  subroutine make_mistakes()
    type(sluice_checkpoint) :: state
    real(real64), target :: x(10)
    real(real64), allocatable, target :: nothing(:)
    type(pair), target :: pairs(3)
    logical, target :: flag
    integer :: code
    character(len=300) :: message
    allocate (nothing(3))
    deallocate (nothing)
    call state%open(trim(path), MPI_COMM_WORLD)
    call state%open(trim(path), MPI_COMM_WORLD, stat=code, errmsg=message)
    call require(code == 19 .and. index(message, "still open") > 0, "twice: " // trim(message))
    call state%array("x", x(1:9:2), stat=code, errmsg=message)
    call require(code == 30 .and. index(message, "gaps") > 0, "gaps: " // trim(message))
    call state%array("x", x, shape=[5, 2], stat=code, errmsg=message)
    call require(code == 10 .and. index(message, "shape") > 0, "shape: " // trim(message))
    call state%array("x", x, start=[2_int64], stat=code, errmsg=message)
    call require(code == 11 .and. index(message, "outside") > 0, "start: " // trim(message))
    call state%array("x", nothing, stat=code, errmsg=message)
    call require(code == 10 .and. index(message, "allocated") > 0, "nothing: " // trim(message))
    call state%bytes("x", nothing, stat=code, errmsg=message)
    call require(code == 10 .and. index(message, "allocated") > 0, "no bytes: " // trim(message))
    call give_bytes_of_unknown_size(state, pairs, code, message)
    call require(code == 10 .and. index(message, "assumed-size") > 0, "size: " // trim(message))
    call state%rows("x", [1, 2], x, shape=[20], stat=code, errmsg=message)
    call require(code == 10 .and. index(message, "ids") > 0, "rows: " // trim(message))
    call state%value("flag", flag, stat=code, errmsg=message)
    call require(code == 16 .and. index(message, "one byte") > 0, "logical: " // trim(message))
    call state%array("velocity", x)
    call state%restore(stat=code, errmsg=message)
    call require(code == 20 .and. index(message, "velocity") > 0, "restore: " // trim(message))
    call state%close()
  end subroutine

  !> A name is registered again, with memory that is refused: what it had may be gone.
  subroutine refuse_memory()
    type(sluice_checkpoint) :: state
    real(real64), target :: x(10), other(20)
    logical, target :: flags(10)
    integer :: code, kind, number
    character(len=300) :: message
    character(len=:), allocatable :: why
    x = 1
    other = 2
    flags = .true.
    do kind = 1, 3
      call state%open(trim(path) // ".refused.h5", MPI_COMM_WORLD)
      call state%array("x", x, shape=[10 * ranks], start=[10 * rank + 1])
      select case (kind)
      case (1)
        call state%array("x", other(1:20:2), shape=[10 * ranks], start=[10 * rank + 1], &
          stat=code, errmsg=message)
      case (2)
        call state%array("x", flags, shape=[10 * ranks], start=[10 * rank + 1], stat=code, &
          errmsg=message)
      case (3)
        call state%rows("x", [1, 2], x, shape=[10 * ranks], stat=code, errmsg=message)
      end select
      call require(code /= 0, "memory that cannot be registered")
      call state%save(time=1.0_real64, number=number, why=why)
      call require(number == 0 .and. index(why, "x") > 0, "saved what was there: " // trim(why))
      call state%array("x", other(1:10), shape=[10 * ranks], start=[10 * rank + 1])
      call state%save(time=2.0_real64, number=number)
      call require(number == 1, "registered again")
      call state%close()
    end do
  end subroutine

  subroutine use_what_is_not_open()
    type(sluice_checkpoint) :: state
    real(real64), target :: x(10)
    integer :: code
    character(len=300) :: message
    character(len=*), parameter :: never = "this sluice_checkpoint was never opened"
    call state%save(time=0.0_real64, stat=code, errmsg=message)
    call require(code == 19 .and. message == never, "never: " // trim(message))
    call state%array("x", x, stat=code, errmsg=message)
    call require(code == 19 .and. message == never, "array, never: " // trim(message))
    call state%open(trim(path), MPI_COMM_WORLD)
    call state%close()
    call state%save(time=0.0_real64, stat=code, errmsg=message)
    call require(code == 19 .and. message == trim(path) // ": is closed already", &
      "save: " // trim(message))
    call state%array("x", x, stat=code, errmsg=message)
    call require(code == 19 .and. message == trim(path) // ": is closed already", &
      "array: " // trim(message))
    call state%close(stat=code, errmsg=message)
    call require(code == 19 .and. message == trim(path) // ": is closed already", &
      "close: " // trim(message))
  end subroutine

  !> What save says of places, and restore of steps, counts from 1.
  subroutine count_from_one()
    type(sluice_checkpoint) :: state
    real(real64), target :: x(3, 2)
    character(len=:), allocatable :: why
    character(len=300) :: message
    integer :: number, code
    x = rank
    call state%open(trim(path) // ".overlap.h5", MPI_COMM_WORLD, options='log = "off"')
    call state%array("x", x, shape=[3, 2 * ranks + 1], start=[1, 1])
    call state%save(time=0.0_real64, number=number, why=why)
    call require(number == 0, "a hole or an overlap is no checkpoint")
    if (ranks > 1) then
      call require(index(why, "(1, 1)") > 0 .and. index(why, "(0, 0)") == 0, "overlap: " // why)
    else
      call require(index(why, "(3, 1)") > 0, "hole: " // why)
    end if
    call state%rows("rows", [4], x(:, 1:1), shape=[3, 3], stat=code, errmsg=message)
    call require(code == 11 .and. index(message, "row 4 of 3") > 0, "row: " // trim(message))
    call state%close(stat=code)
  end subroutine

  !> 32 and 64 bits in one call.
  subroutine mix_kinds()
    type(sluice_checkpoint) :: state
    real(real64), target :: a(2, 3), b(2, 3), c(2, 3), d(2, 3)
    integer(int64) :: ids(3), wide(2), start(2)
    integer :: i
    wide = [2, 3 * ranks]
    start = [1, 3 * rank + 1]
    ids = [(3 * rank + i, i = 1, 3)]
    call state%open(trim(path) // ".mixed.h5", MPI_COMM_WORLD, options='durability = "none"')
    call state%array("a", a, shape=wide, start=[1, 3 * rank + 1])
    call state%array("b", b, shape=[2, 3 * ranks], start=start)
    call state%rows("c", ids, c, shape=[2, 3 * ranks])
    call state%rows("d", int(ids), d, shape=wide)
    do i = 1, 3
      a(:, i) = [10 * ids(i), 10 * ids(i) + 1]
    end do
    b = a + 1000
    c = a + 2000
    d = a + 3000
    call state%save(time=0.0_real64)
    call state%close()
    a = 0
    b = 0
    c = 0
    d = 0
    ! Back by the other way of each.
    call state%open(trim(path) // ".mixed.h5", MPI_COMM_WORLD)
    call state%rows("a", ids, a, shape=[2, 3 * ranks])
    call state%rows("b", int(ids), b, shape=wide)
    call state%array("c", c, shape=wide, start=[1, 3 * rank + 1])
    call state%array("d", d, shape=[2, 3 * ranks], start=start)
    call state%restore()
    call state%close()
    do i = 1, 3
      call require(all(abs(a(:, i) - [10 * ids(i), 10 * ids(i) + 1]) < 1e-9_real64), "mixed kinds")
    end do
    call require(all(abs(b - a - 1000) < 1e-9_real64), "shape of 32, start of 64 bits")
    call require(all(abs(c - a - 2000) < 1e-9_real64), "ids of 64, shape of 32 bits")
    call require(all(abs(d - a - 3000) < 1e-9_real64), "ids of 32, shape of 64 bits")
  end subroutine

  subroutine give_bytes_of_unknown_size(state, pairs, code, message)
    type(sluice_checkpoint), intent(inout) :: state
    type(pair), target :: pairs(*)
    integer, intent(out) :: code
    character(len=*), intent(inout) :: message
    call state%bytes("pairs", pairs, stat=code, errmsg=message)
  end subroutine
end program checkpoint

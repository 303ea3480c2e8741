! What a program may do wrong through the module sluice: each is a code and a clear message in stat
! and errmsg, none a crash or a hang, and the file stays right. Run with one more argument, it makes
! a mistake without stat, and must be stopped with the message.
program errors
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use mpi
  use sluice
  implicit none
  integer, parameter :: invalid = sluice_error_invalid_argument, &
    outside = sluice_error_out_of_bounds, mismatch = sluice_error_type_mismatch, &
    state = sluice_error_wrong_state, missing = sluice_error_not_found
  integer :: rank, ranks, code
  character(len=512) :: path
  character(len=600) :: message
  real(real64) :: x(3, 2)

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call get_command_argument(1, path)
  x = reshape([1, 2, 3, 4, 5, 6], [3, 2])
  call check_the_library()
  call check_opening()
  call check_refused_commits()
  call check_puts()
  call check_data_that_is_not_there()
  call check_states()
  call check_reading()
  if (rank == 0) print "(a)", "fortran errors: ok"
  if (command_argument_count() > 1) call be_stopped()
  call MPI_Finalize(code)

contains

  !> The last call must have given `wanted` and a message with `words`.
  subroutine expect(wanted, words)
    integer, intent(in) :: wanted
    character(len=*), intent(in) :: words
    if (code == wanted .and. index(message, words) > 0 .or. wanted == 0 .and. code == 0) then
      code = -1
      message = ""
      return
    end if
    write (error_unit, "(a,i0,a,i0,a,i0,5a)") "rank ", rank, ": code ", code, ", not ", wanted, &
      ": '", trim(message), "' should say '", words, "'"
    error stop 1
  end subroutine

  subroutine check_the_library()
    if (sluice_ok /= 0) error stop "ok is no failure"
    if (sluice_code_name(sluice_ok) /= "ok") error stop "the name of no failure"
    if (sluice_code_name(sluice_error_not_found) /= "not_found") error stop "the name of a code"
    if (sluice_code_name(sluice_error_internal) /= "internal") error stop "the name of a code"
    if (sluice_code_name(-4711) /= "unknown") error stop "the name of no code"
    if (index(sluice_mpi_library(), "MPI") == 0) error stop "the MPI of this process"
  end subroutine

  subroutine check_opening()
    type(sluice_file) :: file
    call file%open("no/such/folder/file.h5", "r", MPI_COMM_WORLD, stat=code, errmsg=message)
    call expect(missing, "no/such/folder")
    call file%open(path, "rw", MPI_COMM_WORLD, stat=code, errmsg=message)
    call expect(invalid, "r, w, x, a")
    call file%open(path, "w", MPI_COMM_WORLD, "strategie = 'serial'", stat=code, errmsg=message)
    call expect(invalid, "strategie")
    call file%open(path, "w", MPI_COMM_NULL, stat=code, errmsg=message)
    call expect(invalid, "MPI_COMM_NULL")
    call file%put("x", x, stat=code, errmsg=message)
    call expect(state, "never opened")
    call file%close(stat=code, errmsg=message)
    call expect(state, "never opened")
  end subroutine

  !> What a refused call leaves is still there for the commit, though the module has copies.
  subroutine check_refused_commits()
    integer, parameter :: rows = 3000
    type(sluice_file) :: file
    real(real64), allocatable :: data(:), got(:)
    character(len=8000), allocatable :: reused(:)
    integer :: i
    call file%open(path, "w", MPI_COMM_WORLD, "durability = 'none'")
    call file%define("x", sluice_real64, shape=[rows * ranks], steps=.true.)
    call file%define("rows", sluice_real64, shape=[rows * ranks])
    data = [(10000.0_real64 * rank + i, i = 1, 2 * rows)]
    call file%put_rows("rows", [(rows * rank + i, i = 1, rows)], data(::2))
    call file%end_step(stat=code, errmsg=message)
    call expect(state, "no step under way")
    call file%begin_step(time=2.0_real64)
    call file%put("x", data(::2), start=[rows * rank + 1])
    call file%flush(stat=code, errmsg=message)
    call expect(state, "end the step")
    call file%close(stat=code, errmsg=message)
    call expect(state, "has not ended")
    allocate (reused(40))
    reused = repeat("x", 8000)
    call file%end_step()
    call file%close()
    call file%open(path, "r", MPI_COMM_WORLD)
    allocate (got(rows))
    call file%get("x", got, start=[rows * rank + 1])
    if (any(got /= data(::2))) error stop "x is not what was put"
    call file%get("rows", got, start=[rows * rank + 1])
    if (any(got /= data(::2))) error stop "rows are not what was put"
    if (file%time(1) /= 2) error stop "the time of the step"
    if (file%time(0, stat=code, errmsg=message) /= 0) error stop "the time of no step"
    call expect(outside, "step")
    call file%close()
  end subroutine

  !> Each fails at once with its reason; so does the step, on every rank, and no other step.
  subroutine wrong_put(out, which)
    type(sluice_file), intent(inout) :: out
    integer, intent(in) :: which
    type :: of_the_program
      integer :: a, b
    end type
    type(of_the_program) :: unknown(3)
    character(len=2000) :: long(1, 2) ! longer than the message's room
    character(len=12) :: number
    unknown = of_the_program(1, 2)
    long = "text"
    number = ""
    select case (which)
    case (1) ! wrong rank of array
      call out%put("x", x(:, 1), start=[1], stat=code, errmsg=message)
      call expect(invalid, "1 dimensions")
    case (2)
      call out%put("x", x, start=[1], stat=code, errmsg=message)
      call expect(invalid, "1 dimensions")
    case (3)
      call out%put("x", x(:, 1), start=[1, 1], stat=code, errmsg=message)
      call expect(invalid, "1 dimensions")
    case (4) ! wrong type
      call out%put("x", reshape(["a", "b"], [1, 2]), start=[1, 1], stat=code, errmsg=message)
      call expect(mismatch, "string[1]")
      call out%put("x", long, start=[1, 1], stat=code, errmsg=message)
      call expect(mismatch, "string[2000]")
    case (5)
      call out%put_rows("flat", [1, 2, 3], unknown, stat=code, errmsg=message)
      call expect(mismatch, "put_rows flat: the data is of a type that files do not have")
    case (6)
      call out%put("flat", .true., start=[1], stat=code, errmsg=message)
      call expect(mismatch, "bool")
    case (7) ! use before definition
      call out%put("y", x, stat=code, errmsg=message)
      call expect(missing, "no variable y (there are: x, flat, fixed)")
    case (8)
      call out%put("x", x, start=[0, 1], stat=code, errmsg=message)
      call expect(invalid, "start (1, 0): is before the first element")
    case (9)
      call out%put("x", x, start=[1, 2 * ranks], stat=code, errmsg=message)
      write (number, "(i0)") 2 * ranks
      call expect(outside, "start (" // trim(number) // ", 1) count (2, 3) is outside")
    case (10)
      call out%put_rows("x", [1, 2, 3], x, stat=code, errmsg=message)
      call expect(invalid, "put_rows x: the last dimension of the data")
    case (11)
      call out%put_rows("x", [1, 2], x(1:2, :), stat=code, errmsg=message)
      call expect(invalid, "before the last are not the variable's")
    case (12)
      call out%put_rows("x", [1], x(1, 1), stat=code, errmsg=message)
      call expect(invalid, "needs a last dimension")
    case (13)
      call out%resize("fixed", 1_int64, stat=code, errmsg=message)
      call expect(invalid, "fixed")
    case (14) ! texts that are no variables, for a number
      call out%put("flat", "hello", start=[1], stat=code, errmsg=message)
      call expect(mismatch, "put flat: memory of string[5] cannot be stored as float64")
    case (15)
      call out%put("flat", trim(number(1:0) // "abc "), start=[1_int64], stat=code, errmsg=message)
      call expect(mismatch, "put flat: memory of string[3] cannot be stored as float64")
    end select
  end subroutine

  subroutine define_all(out)
    type(sluice_file), intent(inout) :: out
    call out%open(path, "w", MPI_COMM_WORLD, "durability = 'none'" // new_line("a") // &
      "timeout_s = 20")
    call out%define("x", sluice_real64, shape=[3, 2 * ranks], steps=.true.)
    call out%define("flat", sluice_real64, shape=[3], steps=.true., partial=.true.)
    call out%define("fixed", sluice_real64, shape=[3, 2 * ranks])
  end subroutine

  subroutine check_puts()
    type(sluice_file) :: out
    integer :: which
    call define_all(out)
    do which = 1, 15
      call out%begin_step()
      ! On the last rank alone; the others must learn of it.
      if (rank == ranks - 1) then
        call wrong_put(out, which)
      else
        call out%put("x", x, start=[1, 2 * rank + 1])
      end if
      call out%end_step(stat=code, errmsg=message)
      if (code == 0) call expect(-1, "a failed step")
      if (which == 7 .and. index(message, "no variable y") == 0) call expect(-1, "no variable y")
      if (rank /= ranks - 1 .and. message == "") call expect(-1, "a message")
    end do
    call out%define("y", sluice_real64, shape=[3, -4], stat=code, errmsg=message)
    call expect(invalid, "-4 in dimension 2")
    call out%flush(stat=code, errmsg=message)
    call expect(invalid, "-4")
    call out%define("y", sluice_real64, shape=[3, 4], chunk=[3], stat=code, errmsg=message)
    call expect(invalid, "define y: chunk")
    call out%flush(stat=code, errmsg=message)
    call expect(invalid, "define y: chunk")
    if (rank == ranks - 1) then
      call out%define("y", sluice_real64, shape=[3, 4], dimensions=["x"], stat=code, errmsg=message)
      call expect(invalid, "define y: chunk and dimensions")
    end if
    call out%flush(stat=code, errmsg=message)
    call expect(invalid, "define y: chunk and dimensions")
    call out%define("y", real64, shape=[3, 4], stat=code, errmsg=message)
    call expect(invalid, "define y: 8 is no type. A kind, such as real64, is none")
    call out%flush(stat=code, errmsg=message)
    call expect(invalid, "no type")
    call out%define("../y", sluice_real64, shape=[3, 4], stat=code, errmsg=message)
    call expect(sluice_error_bad_name, "..")
    call out%flush(stat=code, errmsg=message)
    call expect(sluice_error_bad_name, "..")
    call out%set_attribute("", "matrix", x, stat=code, errmsg=message)
    call expect(invalid, "a value or a list")
    call out%flush(stat=code, errmsg=message)
    call out%set_attribute("", "letter", "literal", stat=code, errmsg=message)
    call expect(invalid, "set_text")
    call out%flush(stat=code, errmsg=message)
    call out%put("x", x, start=[1, 2 * rank + 1], stat=code, errmsg=message)
    call expect(state, "begin_step")
    call out%flush(stat=code, errmsg=message)
    call one_good_step(out)
    call out%close()
  end subroutine

  subroutine one_good_step(out)
    type(sluice_file), intent(inout) :: out
    real(real64) :: fixed(3, 2)
    fixed = x
    call out%put("fixed", fixed, start=[1, 2 * rank + 1])
    call out%begin_step(time=1.0_real64)
    call out%put("x", x, start=[1, 2 * rank + 1])
    call out%end_step()
  end subroutine

  !> Arrays that are not allocated, pointers to nothing, arrays whose size nobody knows.
  subroutine check_data_that_is_not_there()
    type(sluice_file) :: out
    integer :: listed(3), which
    character(len=4), pointer :: texts(:)
    logical, allocatable :: flags(:)
    character(len=0) :: none(3)
    listed = [5, 6, 7]
    none = ""
    allocate (texts(3), flags(3))
    deallocate (texts, flags)
    call define_all(out)
    call out%define("texts", sluice_character(4), shape=[3], partial=.true., fill="ab      ")
    call out%define("flags", sluice_logical, shape=[3], partial=.true.)
    do which = 1, 5
      if (rank == ranks - 1) call put_nothing(out, which, texts, flags, listed)
      call out%flush(stat=code, errmsg=message)
      call expect(invalid, "the data is ")
    end do
    call out%resize("nothing", 1_int64, stat=code, errmsg=message)
    call expect(missing, "no variable nothing")
    call out%flush(stat=code, errmsg=message)
    call expect(missing, "no variable nothing")
    if (rank == 0) call out%put("texts", none(2:2), start=[2])
    call out%set_attribute("", "two", listed(1:2))
    call one_good_step(out)
    call out%close()
    call read_nothing(texts, flags, listed)
  end subroutine

  subroutine put_nothing(out, which, texts, flags, listed)
    type(sluice_file), intent(inout) :: out
    integer, intent(in) :: which, listed(*)
    character(len=4), pointer, intent(in) :: texts(:)
    logical, allocatable, intent(in) :: flags(:)
    select case (which)
    case (1)
      call out%put("texts", texts, stat=code, errmsg=message)
      call expect(invalid, "put texts: the data is not allocated")
    case (2)
      call out%put("flags", flags, stat=code, errmsg=message)
      call expect(invalid, "put flags: the data is not allocated")
    case (3)
      call out%put_rows("flags", [1, 2, 3], flags, stat=code, errmsg=message)
      call expect(invalid, "put_rows flags: the data is not allocated")
    case (4)
      call out%set_attribute("", "flags", flags, stat=code, errmsg=message)
      call expect(invalid, "set_attribute flags: the data is not allocated")
    case (5)
      call out%set_attribute("", "list", listed, stat=code, errmsg=message)
      call expect(invalid, "set_attribute list: the data is an assumed-size array")
    end select
  end subroutine

  subroutine read_nothing(texts, flags, listed)
    character(len=4), pointer, intent(inout) :: texts(:)
    logical, allocatable, intent(inout) :: flags(:)
    integer, intent(inout) :: listed(*)
    type(sluice_file) :: in
    character(len=4) :: got(3)
    call in%open(path, "r", MPI_COMM_WORLD, "timeout_s = 20")
    call in%get("texts", got)
    if (any(got /= ["ab  ", "    ", "ab  "])) error stop "texts are not what was put"
    call in%get("texts", texts, stat=code, errmsg=message)
    call expect(invalid, "get texts: the data is not allocated")
    call in%get("flags", flags, stat=code, errmsg=message)
    call expect(invalid, "get flags: the data is not allocated")
    call in%get_attribute("", "two", listed(1:3))
    if (any(listed(1:3) /= [5, 6, 7])) error stop "what a list does not have should stay"
    call in%get_attribute("", "list", listed, stat=code, errmsg=message)
    call expect(invalid, "get_attribute list: the data is an assumed-size array")
    call in%close()
  end subroutine

  subroutine check_states()
    type(sluice_file) :: out, copy
    call define_all(out)
    call one_good_step(out)
    call out%end_step(stat=code, errmsg=message)
    call expect(state, "no step under way")
    call out%begin_step()
    call out%begin_step(stat=code, errmsg=message)
    call expect(state, "has not ended")
    call out%end_step(stat=code)
    call out%begin_step()
    call out%close(stat=code, errmsg=message)
    call expect(state, "has not ended")
    ! A failure inside a step: one rank cannot go on, every rank's end says why.
    if (rank == ranks - 1) then
      call out%abandon_step("the solver diverged")
    else
      call out%end_step(stat=code, errmsg=message)
      call expect(state, "the solver diverged")
    end if
    call out%get("x", x, start=[1, 1], stat=code, errmsg=message)
    call expect(state, "writing")
    call out%open("other.h5", "r", stat=code, errmsg=message)
    call expect(missing, "other.h5")
    call out%open(path, "r", stat=code, errmsg=message)
    call expect(state, "is still open here")
    copy = out
    call out%close()
    ! Closed handle, double close.
    call out%close(stat=code, errmsg=message)
    call expect(state, "closed already")
    call out%begin_step(stat=code, errmsg=message)
    call expect(state, "closed already")
    call out%put("x", x, stat=code, errmsg=message)
    call expect(state, "closed already")
    call out%end_step(stat=code, errmsg=message)
    call expect(state, "closed already")
    call out%get("x", x, stat=code, errmsg=message)
    call expect(state, "closed already")
    if (out%steps(stat=code, errmsg=message) /= 0) error stop "steps of a closed file"
    call expect(state, "closed already")
    call copy%put("x", x, stat=code, errmsg=message)
    call expect(state, "the file is closed already: its handle was freed")
    call copy%close(stat=code, errmsg=message)
    call expect(state, "the file is closed already: its handle was freed")
  end subroutine

  subroutine check_reading()
    type(sluice_file) :: in
    integer :: first
    first = 2 * rank + 1
    call in%open(path, "r", MPI_COMM_WORLD, "timeout_s = 20")
    if (in%steps() /= 1) error stop "there should be one step"
    call in%get("x", x, start=[1, first], step=2, stat=code, errmsg=message)
    call expect(outside, "step 2 of 1")
    call in%get("x", x, start=[1, first], step=-1, stat=code, errmsg=message)
    call expect(outside, "step -1 of 1")
    call in%get("x", x, start=[1, first], step=0, stat=code, errmsg=message)
    call expect(outside, "step 0 of 1")
    call in%get_rows("x", [1, 2], x, step=0, stat=code, errmsg=message)
    call expect(outside, "step 0 of 1")
    x(1, 1) = in%time(0, stat=code, errmsg=message)
    call expect(outside, "step 0 of 1")
    call check_counting(in)
    call in%begin_step(stat=code, errmsg=message)
    call expect(state, "reading")
    ! What one rank asks wrongly, the others need not wait for.
    if (rank == ranks - 1) then
      call in%get("nothing", x, stat=code, errmsg=message)
      call expect(missing, "nothing")
      call in%get("x", x(:, 1), start=[1], stat=code, errmsg=message)
      call expect(invalid, "1 dimensions")
      call in%get_rows("x", [1, 2, 3], x, stat=code, errmsg=message)
      call expect(invalid, "as many rows")
    else
      call in%get("x", x, start=[1, first], stat=code, errmsg=message)
      call expect(missing, "no variable nothing")
      call in%get("x", x, start=[1, first], stat=code, errmsg=message)
      if (code == 0) call expect(-1, "failed on every rank")
      call in%get_rows("x", [1, 2], x, stat=code, errmsg=message)
      if (code == 0) call expect(-1, "failed on every rank")
    end if
    call in%get("x", x(1:3:2, :), start=[1, first], deferred=.true., stat=code, errmsg=message)
    if (code == 0 .or. index(message, "gaps") == 0) call expect(-1, "gaps refused")
    call in%perform_gets(stat=code, errmsg=message)
    if (code == 0) call expect(-1, "failed on every rank")
    x = 0
    call in%get("x", x, start=[1, first])
    if (any(x /= reshape([1, 2, 3, 4, 5, 6], [3, 2]))) error stop "the step is not right"
    call in%close()
  end subroutine

  !> What is numbered from 1 in the program is so in messages.
  subroutine check_counting(in)
    type(sluice_file), intent(inout) :: in
    character(len=:), allocatable :: text
    text = in%name(9, stat=code, errmsg=message)
    call expect(invalid, "no variable 9")
    text = in%name(0, stat=code, errmsg=message)
    call expect(invalid, "no variable 0")
    text = in%attribute_name("x", 0, stat=code, errmsg=message)
    call expect(outside, "attribute 0 of ")
    text = in%attribute_name("x", 99, stat=code, errmsg=message)
    call expect(outside, "attribute 99 of ")
  end subroutine

  subroutine be_stopped()
    type(sluice_file) :: out
    call define_all(out)
    call out%put("undefined", x)
    print "(a)", "not stopped"
  end subroutine
end program errors

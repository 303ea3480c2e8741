! What the module sluice tells of variables, steps and itself: options of a variable, a step that
! was left out, and messages. Run on any number of ranks with the name of a file to write.
module heard
  implicit none
  character(len=:), allocatable :: message

contains

  subroutine hear(text)
    character(len=*), intent(in) :: text
    message = text
  end subroutine
end module heard

program facts
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64, error_unit
  use mpi_f08
  use sluice
  use heard
  implicit none
  integer :: rank, ranks, code
  character(len=512) :: path
  character(len=600) :: errmsg

  type, bind(c) :: limits
    integer(c_long) :: soft, hard
  end type
  interface
    integer(c_int) function getrlimit(resource, limit) bind(c)
      import
      integer(c_int), value :: resource
      type(limits), intent(out) :: limit
    end function
    integer(c_int) function setrlimit(resource, limit) bind(c)
      import
      integer(c_int), value :: resource
      type(limits), intent(in) :: limit
    end function
    integer(c_intptr_t) function signal(number, action) bind(c)
      import
      integer(c_int), value :: number
      integer(c_intptr_t), value :: action
    end function
  end interface

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  call write_variables()
  call read_variables()
  call leave_a_step_out()
  if (rank == 0) print "(a)", "fortran facts: ok"
  call MPI_Finalize()

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(a,i0,4a)") "rank ", rank, ": not so: ", what, " ", trim(errmsg)
    error stop 1
  end subroutine

  !> Shapes, chunks and rows are of either kind, in any combination.
  subroutine write_variables()
    type(sluice_file) :: out
    call out%open(path, "w", MPI_COMM_WORLD, "durability = 'none'")
    call out%define("plain", sluice_real64, shape=[4])
    call out%define("stepped", sluice_int32, shape=[6_int64, 4_int64], chunk=[3, 2], steps=.true., &
      dimensions=[character(len=3) :: "x", "row"])
    call out%define("other", sluice_int32, shape=[6, 4], chunk=[3_int64, 2_int64], steps=.true., &
      partial=.true., fill=-7)
    call out%define("few", sluice_real64, shape=[2, 9], steps=.true., varying=.true.)
    call out%define("byte", sluice_uint8, shape=[3], partial=.true., fill=200)
    call out%define("half", sluice_float16, shape=[3], partial=.true., fill=-1.5)
    call out%define("wide", sluice_int64, shape=[3], partial=.true., fill=2_int64**40)
    call out%define("real", sluice_real64, shape=[3], partial=.true., fill=0.1_real64)
    call out%define("pair", sluice_complex64, shape=[3], partial=.true., &
      fill=(1.0_real64, 2.0_real64))
    call out%define("flag", sluice_logical, shape=[3], partial=.true., fill=.true.)
    call out%define("text", sluice_character(6), shape=[3], partial=.true., fill="none")
    call check_variables(out)
    call out%begin_step()
    call out%resize("few", 2)
    if (rank == 0) then
      call out%put("plain", [1.0_real64, 2.0_real64, 3.0_real64, 4.0_real64])
      call out%put("stepped", reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, &
        18, 19, 20, 21, 22, 23, 24], [6, 4]))
      call out%put("few", reshape([1.0_real64, 2.0_real64, 3.0_real64, 4.0_real64], [2, 2]))
    end if
    call out%end_step()
    call out%begin_step()
    call out%resize("few", 0_int64)
    if (rank == 0) call out%put("stepped", reshape([(rank, code = 1, 24)], [6, 4]))
    call out%end_step()
    call out%close()
  end subroutine

  subroutine read_variables()
    type(sluice_file) :: in
    call in%open(path, "r", MPI_COMM_WORLD)
    call check_variables(in)
    call require(all(in%shape("few", step=1) == [2, 2]), "two rows")
    call require(all(in%shape("few", step=2) == [2, 0]), "no rows")
    call in%close()
    call require(.not. in%has_steps("plain", stat=code, errmsg=errmsg) .and. &
      code == sluice_error_wrong_state, "a closed file")
  end subroutine

  subroutine check_variables(file)
    type(sluice_file), intent(inout) :: file
    call require(.not. file%has_steps("plain") .and. file%has_steps("stepped"), "has_steps")
    call require(.not. file%is_partial("stepped") .and. file%is_partial("other"), "is_partial")
    call require(.not. file%is_varying("other") .and. file%is_varying("few"), "is_varying")
    call require(file%dimension_name("stepped", 1) == "x", "the first dimension")
    call require(file%dimension_name("stepped", 2) == "row", "the second dimension")
    call require(file%dimension_name("plain", 1) == "", "a dimension without a name")
    call require(.not. file%is_partial("none", stat=code, errmsg=errmsg) .and. &
      code == sluice_error_not_found .and. index(errmsg, "none") > 0, "no variable")
    call require(file%dimension_name("plain", 2, stat=code, errmsg=errmsg) == "" .and. &
      code == sluice_error_out_of_bounds .and. index(errmsg, "plain") > 0, "no dimension")
    call require(file%dimension_name("plain", 0, stat=code) == "" .and. &
      code == sluice_error_out_of_bounds, "dimension 0")
    call check_fills(file)
    call check_wrong_fills(file)
  end subroutine

  subroutine check_fills(file)
    type(sluice_file), intent(inout) :: file
    integer :: number
    integer(int8) :: small
    integer(int64) :: large
    real(real32) :: single
    real(real64) :: double
    complex(real64) :: pair
    logical :: flag
    character(len=8) :: text
    call file%get_fill("other", number)
    call require(number == -7, "an integer")
    call file%get_fill("other", small)
    call require(small == -7, "a smaller integer")
    call file%get_fill("byte", number)
    call require(number == 200, "an integer without sign")
    call file%get_fill("wide", large)
    call require(large == 2_int64**40, "a large integer")
    call file%get_fill("half", single)
    call require(single == -1.5, "a half")
    call file%get_fill("half", double)
    call require(double == -1.5_real64, "a half as a double")
    call file%get_fill("real", double)
    call require(double == 0.1_real64, "a double")
    call file%get_fill("pair", pair)
    call require(pair == (1.0_real64, 2.0_real64), "a complex number")
    call file%get_fill("flag", flag)
    call require(flag, "a logical")
    text = "12345678"
    call file%get_fill("text", text)
    call require(text == "none", "a text")
    double = 1
    call file%get_fill("plain", double)
    call require(double == 0, "zero, where there is none")
  end subroutine

  subroutine check_wrong_fills(file)
    type(sluice_file), intent(inout) :: file
    integer :: number, list(2)
    integer(int8) :: small
    real(real32) :: single
    character(len=3) :: text
    small = 5
    call file%get_fill("byte", small, stat=code, errmsg=errmsg)
    call require(code == sluice_error_overflow .and. small == 5, "200 in a byte with sign")
    call file%get_fill("wide", number, stat=code, errmsg=errmsg)
    call require(code == sluice_error_overflow .and. index(errmsg, "wide") > 0, "2**40 in 32 bits")
    call file%get_fill("real", single, stat=code, errmsg=errmsg)
    call require(code == sluice_error_overflow, "0.1 as a real(real32)")
    call file%get_fill("text", text, stat=code, errmsg=errmsg)
    call require(code == sluice_error_overflow, "a text that is too long")
    call file%get_fill("real", number, stat=code, errmsg=errmsg)
    call require(code == sluice_error_type_mismatch, "a real as an integer")
    call file%get_fill("text", single, stat=code, errmsg=errmsg)
    call require(code == sluice_error_type_mismatch, "a text as a real")
    call file%get_fill("other", list, stat=code, errmsg=errmsg)
    call require(code == sluice_error_invalid_argument, "a list")
    call file%get_fill("none", number, stat=code, errmsg=errmsg)
    call require(code == sluice_error_not_found .and. index(errmsg, "none") > 0, "no variable")
  end subroutine

  !> A file that may not grow stands for a full disk.
  subroutine leave_a_step_out()
    integer(c_int), parameter :: file_size = 1, beyond_it = 25
    integer(c_intptr_t), parameter :: ignored = 1
    type(sluice_file) :: out
    type(sluice_ticket) :: ticket
    type(limits) :: old, small
    integer(int64) :: bytes
    message = ""
    call sluice_set_message_handler(hear)
    call out%open(path, "w", MPI_COMM_WORLD, "on_error = 'skip_step'" // new_line("a") // &
      "strategy = 'shared'")
    call out%define("x", sluice_real64, shape=[100000 * ranks], steps=.true.)
    call put_step(out, ticket)
    call require(.not. ticket%skipped() .and. ticket%step() == 1, "a step")
    call ticket%free()
    inquire (file=path, size=bytes)
    call MPI_Barrier(MPI_COMM_WORLD)
    call require(signal(beyond_it, ignored) /= -1, "signal")
    call require(getrlimit(file_size, old) == 0, "getrlimit")
    small = limits(int(bytes, c_long) + 1000, old%hard)
    call require(setrlimit(file_size, small) == 0, "setrlimit")
    call put_step(out, ticket)
    call require(setrlimit(file_size, old) == 0, "setrlimit")
    call require(ticket%skipped() .and. .not. ticket%durable(), "a step that was left out")
    call ticket%free()
    call MPI_Barrier(MPI_COMM_WORLD)
    call require(index(message, "is left out") > 0 .neqv. rank > 0, "the message: " // message)
    call sluice_set_message_handler()
    call put_step(out, ticket)
    call require(.not. ticket%skipped(), "the step after it")
    call ticket%free()
    call require(out%steps() == 2, "two steps")
    call out%close()
  end subroutine

  subroutine put_step(out, ticket)
    type(sluice_file), intent(inout) :: out
    type(sluice_ticket), intent(out) :: ticket
    real(real64), allocatable :: x(:)
    allocate (x(100000), source=real(rank, real64))
    call out%begin_step()
    call out%put("x", x, start=[100000 * rank + 1])
    call out%end_step(ticket=ticket)
  end subroutine
end program facts

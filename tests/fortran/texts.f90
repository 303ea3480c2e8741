! Texts with NULs inside come back as they were: in arrays, as rows, as fill value, in checkpoints.
! So do literals, substrings and concatenations. Characters of kind 4 are refused.
program texts
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int64, real64
  use mpi
  use sluice
  implicit none
  character(len=*), parameter :: nul = achar(0)
  integer, parameter :: wide_kind = selected_char_kind("ISO_10646")
  integer :: rank, ranks, code
  character(len=512) :: path

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  call get_command_argument(1, path)
  call refuse_wide()
  call write_file()
  call read_file()
  call check_a_checkpoint()
  call MPI_Finalize(code)

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(a,i0,2a)") "rank ", rank, ": not so: ", what
    error stop 1
  end subroutine

  function some_texts() result(values)
    character(len=6) :: values(3)
    values = [character(len=6) :: "a" // nul // "b", nul // nul // "cd", " e " // nul // "f "]
  end function

  !> gfortran does not pass the kind on through a dummy argument of type(*): by the C function.
  subroutine refuse_wide()
    interface
      integer(c_int) function get(file, owner, name, value) &
          bind(c, name="sluice_fortran_get_attribute")
        import :: c_int, c_ptr, c_char
        type(c_ptr), value :: file
        character(kind=c_char), intent(in) :: owner(*), name(*)
        type(*), intent(inout) :: value(..)
      end function
    end interface
    character(kind=wide_kind, len=2) :: wide
    character(len=2) :: narrow
    narrow = ""
    wide = char(960, wide_kind) // char(32, wide_kind)
    call require(abs(get(c_null_ptr, nul, "a" // nul, wide)) == sluice_error_type_mismatch, &
      "a character of kind 4 is no text")
    call require(abs(get(c_null_ptr, nul, "a" // nul, narrow)) /= sluice_error_type_mismatch, &
      "one of kind 1 is")
  end subroutine

  subroutine write_file()
    type(sluice_file) :: out
    integer :: i
    call out%open(path, "w", MPI_COMM_WORLD, "durability = 'none'")
    call out%define("texts", sluice_character(6), shape=[3 * ranks])
    call out%define("rows", sluice_character(6), shape=[3 * ranks])
    call out%define("filled", sluice_character(6), shape=[2], partial=.true., &
      fill="x" // nul // "y")
    call out%define("parts", sluice_character(6), shape=[6 * ranks])
    call out%define("small", sluice_int8, shape=[3 * ranks])
    call put_parts(out, int(6 * rank, int64), "abcdef")
    call put_small(out, 3 * rank)
    call out%put("texts", some_texts(), start=[3 * rank + 1])
    call out%put_rows("rows", [(3 * rank + i, i=1, 3)], some_texts())
    call out%close()
  end subroutine

  !> Texts that are no variables, behind `before` others.
  subroutine put_parts(out, before, text)
    type(sluice_file), intent(inout) :: out
    integer(int64), intent(in) :: before
    character(len=*), intent(in) :: text
    integer(int64) :: i
    i = before
    call out%put("parts", "xy", start=[i + 1])
    call out%put("parts", text(2:4), start=[i + 2])
    call out%put("parts", text(1:2) // "z", start=[i + 3])
    call out%put("parts", trim(text(5:6) // "   "), start=[int(i + 4)])
    call out%put("parts", [character(len=2) :: "g", "hi"], start=[i + 5])
  end subroutine

  !> An integer of a byte is no text.
  subroutine put_small(out, before)
    type(sluice_file), intent(inout) :: out
    integer, intent(in) :: before
    integer(int8) :: one
    one = 104_int8
    call out%put("small", one, start=[before + 1])
    call out%put("small", one + 1_int8, start=[before + 2])
    call out%put("small", 106_int8, start=[before + 3])
  end subroutine

  subroutine read_parts(in)
    type(sluice_file), intent(inout) :: in
    character(len=6) :: parts(6)
    character(len=8) :: line
    integer(int8) :: small(3)
    call in%get("parts", parts, start=[6 * rank + 1])
    call require(all(parts == [character(len=6) :: "xy", "bcd", "abz", "ef", "g", "hi"]), &
      "parts of texts")
    line = "........"
    call in%get("parts", line(2:4), start=[6 * rank + 2])
    call require(line == ".bcd....", "the text in a part of one: " // line)
    call in%get("small", small, start=[3 * rank + 1])
    call require(all(small == [104, 105, 106]), "integers of a byte")
  end subroutine

  subroutine read_file()
    type(sluice_file) :: in
    character(len=6) :: got(3), one
    integer :: i
    call in%open(path, "r", MPI_COMM_WORLD)
    call in%get("texts", got, start=[3 * rank + 1])
    call require(all(got == some_texts()), "texts")
    call in%get_rows("rows", [(3 * rank + i, i=1, 3)], got)
    call require(all(got == some_texts()), "rows")
    call read_parts(in)
    call in%get_fill("filled", one)
    call require(one == "x" // nul // "y", "fill value")
    call in%close()
  end subroutine

  subroutine check_a_checkpoint()
    type(sluice_checkpoint) :: state
    character(len=9), target :: note
    character(len=:), allocatable :: why
    integer :: number
    call state%open(trim(path) // ".checkpoint", MPI_COMM_WORLD, options='durability = "none"')
    call state%text("note", note)
    note = "u" // nul // nul // "v w"
    call state%save(time=1.0_real64, number=number, why=why)
    call require(why == "" .and. number > 0, "it is saved: " // why)
    call require(note == "u" // nul // nul // "v w", "saving leaves the text alone")
    call state%close()
    note = "longer"
    call state%open(trim(path) // ".checkpoint", MPI_COMM_WORLD)
    call state%text("note", note)
    call state%restore(number=number)
    call require(number > 0 .and. note == "u" // nul // nul // "v w", "the text of a checkpoint")
    call state%close()
  end subroutine
end program texts

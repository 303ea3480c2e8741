! Input files that one rank reads for all. Part of the module sluice.
module sluice_text
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08, only: MPI_Comm
  use sluice_support, only: c_text, f_text, fail
  implicit none
  private
  public :: sluice_read_text

  !> Reads a file on one rank and gives its bytes to all, such as a program's input. Collective over
  !> `comm`. Take lines from the text by read (text, *), or by index().
  !>
  !> - `path`: the file, the same on every rank
  !> - `comm`: of mpi or mpi_f08; absent: this process alone, without MPI
  !> - `text`: receives all bytes
  !> - errors: `not_found`, `permission`, `io`
  interface sluice_read_text
    procedure read_f08, read_integer, read_serial
  end interface

  interface
    integer(c_int) function c_read_text_f(comm, path, text, bytes) &
        bind(c, name="sluice_read_text_f")
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: text
      integer(c_int64_t), intent(out) :: bytes
    end function
    integer(c_int) function c_read_text_serial(path, text, bytes) &
        bind(c, name="sluice_read_text_serial")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: text
      integer(c_int64_t), intent(out) :: bytes
    end function
    subroutine c_free_text(text) bind(c, name="sluice_free_text")
      import
      type(c_ptr), value :: text
    end subroutine
    type(c_ptr) function c_last_failure(file) bind(c, name="sluice_last_error")
      import
      type(c_ptr), value :: file
    end function
  end interface

contains

  subroutine read_f08(path, comm, text, stat, errmsg)
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call read_integer(path, comm%MPI_VAL, text, stat, errmsg)
  end subroutine

  subroutine read_integer(path, comm, text, stat, errmsg)
    character(len=*), intent(in) :: path
    integer, intent(in) :: comm
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int64_t) :: bytes
    integer(c_int) :: code
    code = c_read_text_f(int(comm, c_int), c_text(path), handle, bytes)
    call take(code, handle, bytes, text, stat, errmsg)
  end subroutine

  subroutine read_serial(path, text, stat, errmsg)
    character(len=*), intent(in) :: path
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int64_t) :: bytes
    integer(c_int) :: code
    code = c_read_text_serial(c_text(path), handle, bytes)
    call take(code, handle, bytes, text, stat, errmsg)
  end subroutine

  !> The library's copy becomes Fortran's.
  subroutine take(code, handle, bytes, text, stat, errmsg)
    integer(c_int), intent(in) :: code
    type(c_ptr), intent(in) :: handle
    integer(c_int64_t), intent(in) :: bytes
    character(len=:), allocatable, intent(out) :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), pointer :: each(:)
    integer(int64) :: i
    if (present(stat)) stat = 0
    if (code /= 0) then
      call fail(code, f_text(c_last_failure(c_null_ptr)), stat, errmsg)
      return
    end if
    call c_f_pointer(handle, each, [bytes])
    allocate (character(len=bytes) :: text)
    do i = 1, bytes
      text(i:i) = each(i)
    end do
    call c_free_text(handle)
  end subroutine
end module sluice_text

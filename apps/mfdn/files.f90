! files.c for Fortran: plain files by system calls. A call that fails stops the program, with the
! path and the reason's number.
module files
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  implicit none
  private
  public :: open_plain, write_at, read_at, sync_plain, close_plain, sync_path, make_folder, &
    bytes_read, require_done

  interface
    integer(c_int) function c_open(path, writes, makes, descriptor) bind(c, name="mfdn_open")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: writes, makes
      integer(c_int), intent(out) :: descriptor
    end function
    integer(c_int) function c_write_at(descriptor, data, bytes, offset) &
        bind(c, name="mfdn_write_at")
      import :: c_int, c_int64_t, c_ptr
      integer(c_int), value :: descriptor
      type(c_ptr), value :: data
      integer(c_int64_t), value :: bytes, offset
    end function
    integer(c_int) function c_read_at(descriptor, data, bytes, offset) bind(c, name="mfdn_read_at")
      import :: c_int, c_int64_t, c_ptr
      integer(c_int), value :: descriptor
      type(c_ptr), value :: data
      integer(c_int64_t), value :: bytes, offset
    end function
    integer(c_int) function c_sync(descriptor) bind(c, name="mfdn_sync")
      import :: c_int
      integer(c_int), value :: descriptor
    end function
    integer(c_int) function c_close(descriptor) bind(c, name="mfdn_close")
      import :: c_int
      integer(c_int), value :: descriptor
    end function
    integer(c_int) function c_sync_path(path) bind(c, name="mfdn_sync_path")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function c_make_folder(path) bind(c, name="mfdn_make_folder")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: path(*)
    end function
    !> Bytes that this process has got by read calls so far; -1 where the system does not count.
    integer(c_int64_t) function bytes_read() bind(c, name="mfdn_bytes_read")
      import :: c_int64_t
    end function
  end interface

contains

  subroutine open_plain(path, writes, makes, descriptor)
    character(len=*), intent(in) :: path
    logical, intent(in) :: writes, makes
    integer(c_int), intent(out) :: descriptor
    call require_done(c_open(trim(path) // c_null_char, merge(1, 0, writes), merge(1, 0, makes), &
      descriptor), path)
  end subroutine

  subroutine write_at(descriptor, data, bytes, offset, path)
    integer(c_int), intent(in) :: descriptor
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: bytes, offset
    character(len=*), intent(in) :: path
    call require_done(c_write_at(descriptor, data, bytes, offset), path)
  end subroutine

  subroutine read_at(descriptor, data, bytes, offset, path)
    integer(c_int), intent(in) :: descriptor
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: bytes, offset
    character(len=*), intent(in) :: path
    call require_done(c_read_at(descriptor, data, bytes, offset), path)
  end subroutine

  subroutine sync_plain(descriptor, path)
    integer(c_int), intent(in) :: descriptor
    character(len=*), intent(in) :: path
    call require_done(c_sync(descriptor), path)
  end subroutine

  subroutine close_plain(descriptor, path)
    integer(c_int), intent(in) :: descriptor
    character(len=*), intent(in) :: path
    call require_done(c_close(descriptor), path)
  end subroutine

  subroutine sync_path(path)
    character(len=*), intent(in) :: path
    call require_done(c_sync_path(trim(path) // c_null_char), path)
  end subroutine

  subroutine make_folder(path)
    character(len=*), intent(in) :: path
    call require_done(c_make_folder(trim(path) // c_null_char), path)
  end subroutine

  subroutine require_done(code, path)
    integer, intent(in) :: code
    character(len=*), intent(in) :: path
    if (code == 0) return
    write (error_unit, "(3a,i0)") "mfdn: ", trim(path), ": error ", code
    error stop 1
  end subroutine
end module files

! What the module sluice does to open and close a file.
submodule(sluice) sluice_open
  implicit none

contains

  module procedure open_integer
    type(c_ptr) :: handle
    integer(c_int) :: code
    code = c_open_f(int(comm, c_int), c_text(path), c_text(mode), c_text(options), handle)
    call take(self, handle, path, code, stat, errmsg)
  end procedure

  module procedure open_f08
    call self%open_integer(path, mode, comm%MPI_VAL, options, stat, errmsg)
  end procedure

  module procedure open_serial
    type(c_ptr) :: handle
    integer(c_int) :: code
    code = c_open_serial(c_text(path), c_text(mode), c_text(options), handle)
    call take(self, handle, path, code, stat, errmsg)
  end procedure

  !> What an open gave. A file that is open already stays, and the new one is given back.
  subroutine take(self, handle, path, code, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: path
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: ignored
    if (code == 0 .and. c_associated(self%handle)) then
      call c_free(handle)
      call fail(wrong_state, self%path // " is still open here: close it before opening " // &
        trim(path), stat, errmsg)
      return
    end if
    if (code /= 0) then
      call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
      return
    end if
    self%handle = handle
    ignored = c_count_from(handle, 1_c_int32_t)
    self%path = trim(path)
    self%cache = name_cache()
    if (present(stat)) stat = 0
  end subroutine

  module procedure close_file
    type(c_ptr) :: handle
    integer(c_int32_t) :: reading
    integer(c_int) :: code
    character(len=:), allocatable :: message
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    handle = self%handle
    message = ""
    code = c_close(handle)
    if (code /= 0) then
      message = f_text(c_last_error(handle))
      if (c_is_reading(handle, reading) == 0) then
        call fail(code, message, stat, errmsg)
        return
      end if
    end if
    call c_forget(handle)
    call c_free(handle)
    self%handle = c_null_ptr
    if (present(stat)) stat = 0
    if (code /= 0) call fail(code, message, stat, errmsg)
  end procedure

  module procedure is_open
    is_open = c_associated(self%handle)
  end procedure
end submodule sluice_open

! What the module sluice does while writing. Dimensions are turned round here and in calls.c.
submodule(sluice) sluice_write
  implicit none

contains

  module procedure define_64
    type(variable_options) :: options
    integer(c_int64_t), allocatable :: dims(:)
    integer(c_int64_t), allocatable, target :: tile(:)
    character(kind=c_char, len=:), allocatable, target :: unit_text, description_text, names_text
    character(kind=c_char, len=:), allocatable, target :: compress_text
    integer(int8), allocatable, target :: fill_bytes(:)
    type(c_ptr), allocatable, target :: names(:)
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    character(len=11) :: number
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    options = variable_options(c_sizeof(options), flag(steps), flag(partial), c_null_ptr, &
      c_null_ptr, c_null_ptr, c_null_ptr, c_null_ptr, flag(varying), 0, c_null_ptr)
    allocate (dims(0))
    if (present(shape)) dims = shape(size(shape):1:-1)
    if (present(fill)) then
      call encode_fill(fill, fill_bytes, options%fill_type)
      options%fill = c_loc(fill_bytes)
    end if
    if (present(unit)) then
      unit_text = c_text(unit)
      options%unit = c_loc(unit_text)
    end if
    if (present(description)) then
      description_text = c_text(description)
      options%description = c_loc(description_text)
    end if
    if (present(dimensions)) then
      call list_names(dimensions, names_text, names)
      options%dimensions = c_loc(names)
    end if
    if (present(chunk)) then
      tile = chunk(size(chunk):1:-1)
      options%chunk = c_loc(tile)
    end if
    if (present(compress)) then
      compress_text = c_text(compress)
      options%compress = c_loc(compress_text)
    end if
    if (.not. fits(size(dims), chunk, dimensions)) then
      code = c_refuse(self%handle, invalid_argument, c_text("define " // trim(name) // &
        ": chunk and dimensions need as many elements as shape"))
    end if
    if (type < first_type) then
      write (number, "(i0)") type
      code = c_refuse(self%handle, invalid_argument, c_text("define " // trim(name) // ": " // &
        trim(number) // " is no type. A kind, such as real64, is none: give sluice_real64"))
    end if
    call finish(self%handle, c_define(self%handle, c_text(name), type - first_type, size(dims), &
      dims, options, variable), stat, errmsg)
  end procedure

  !> The bytes of a value of an intrinsic type, and which type that is to C. Of any other type: no
  !> bytes, and a type that C refuses.
  subroutine encode_fill(fill, bytes, type)
    class(*), intent(in) :: fill
    integer(int8), allocatable, intent(out) :: bytes(:)
    integer(c_int32_t), intent(out) :: type
    integer(int8), parameter :: mold(1) = 0_int8
    integer(c_int32_t), parameter :: no_type = -1
    select type (fill)
    type is (integer(int8))
      bytes = transfer(fill, mold)
      type = sluice_int8
    type is (integer(int16))
      bytes = transfer(fill, mold)
      type = sluice_int16
    type is (integer(int32))
      bytes = transfer(fill, mold)
      type = sluice_int32
    type is (integer(int64))
      bytes = transfer(fill, mold)
      type = sluice_int64
    type is (real(real32))
      bytes = transfer(fill, mold)
      type = sluice_real32
    type is (real(real64))
      bytes = transfer(fill, mold)
      type = sluice_real64
    type is (complex(real32))
      bytes = transfer(fill, mold)
      type = sluice_complex32
    type is (complex(real64))
      bytes = transfer(fill, mold)
      type = sluice_complex64
    type is (logical)
      bytes = [merge(1_int8, 0_int8, fill)]
      type = sluice_logical
    type is (character(*))
      bytes = transfer(c_text(fill), mold)
      type = sluice_character(size(bytes))
    class default
      bytes = mold
      type = first_type + no_type
    end select
    type = type - first_type
  end subroutine

  module procedure define_32
    integer(int64), allocatable :: tile(:)
    if (present(chunk)) tile = int(chunk, int64)
    call define_64(self, name, type, int(shape, int64), steps, partial, fill, unit, description, &
      dimensions, tile, varying, compress, stat, errmsg)
  end procedure

  module procedure define_64_32
    call define_64(self, name, type, shape, steps, partial, fill, unit, description, dimensions, &
      int(chunk, int64), varying, compress, stat, errmsg)
  end procedure

  module procedure define_32_64
    call define_64(self, name, type, int(shape, int64), steps, partial, fill, unit, description, &
      dimensions, chunk, varying, compress, stat, errmsg)
  end procedure

  module procedure set_attribute
    integer(c_int) :: code
    code = c_set_attribute(self%handle, c_text(owner), c_text(name), value)
    call report(self%handle, self%path, code, stat, errmsg)
  end procedure

  module procedure set_text
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, c_set_text(self%handle, c_text(owner), c_text(name), c_text(text)), &
      stat, errmsg)
  end procedure

  module procedure begin_step
    use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
    real(c_double) :: t
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    t = ieee_value(t, ieee_quiet_nan)
    if (present(time)) t = time
    call finish(self%handle, c_begin_step(self%handle, t), stat, errmsg)
  end procedure

  module procedure end_step
    type(c_ptr) :: handle
    integer(c_int) :: code
    if (present(durable)) durable = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    handle = c_null_ptr
    code = c_end_step(self%handle, handle)
    call c_forget(self%handle)
    call read_ticket(handle, durable, ticket)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure abandon_step
    integer(c_int) :: code
    character(len=:), allocatable :: reason
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    reason = "abandoned"
    if (present(why)) reason = why
    code = c_abandon_step(self%handle, c_text(reason))
    call c_forget(self%handle)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure resize_32
    call resize_64(self, name, int(rows, int64), stat, errmsg)
  end procedure

  module procedure resize_64
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    variable = -1
    code = c_find(self%handle, c_text(name), variable)
    ! A question that fails is no failure of the step.
    if (code /= 0) code = c_refuse(self%handle, code, c_text(f_text(c_last_error(self%handle))))
    call finish(self%handle, c_resize(self%handle, variable, rows), stat, errmsg)
  end procedure

  module procedure put_rows_64
    integer(c_int) :: code
    code = c_put_rows(self%handle, self%cache, name, len(name), data, &
      size(ids, kind=int64), ids, flag(in_place))
    call report(self%handle, self%path, code, stat, errmsg)
  end procedure

  module procedure put_rows_32
    call put_rows_64(self, name, int(ids, int64), data, in_place, stat, errmsg)
  end procedure

  module procedure put_joined
    integer(c_int) :: code
    code = c_put_joined(self%handle, self%cache, name, len(name), data, flag(in_place))
    call report(self%handle, self%path, code, stat, errmsg)
  end procedure

  module procedure flush_file
    type(c_ptr) :: handle
    integer(c_int) :: code
    if (present(durable)) durable = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    handle = c_null_ptr
    code = c_flush(self%handle, handle)
    call c_forget(self%handle)
    call read_ticket(handle, durable, ticket)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure poll_file
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, c_poll(self%handle), stat, errmsg)
  end procedure

  module procedure drain_file
    integer(c_int32_t) :: there
    integer(c_int) :: code
    if (present(all)) all = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    there = 0
    code = c_drain(self%handle, seconds, there)
    if (present(all)) all = there /= 0
    call finish(self%handle, code, stat, errmsg)
  end procedure

  ! -- inside --

  !> Is there a number and a name for each dimension, where any are given?
  pure logical function fits(rank, chunk, dimensions)
    integer, intent(in) :: rank
    integer(int64), intent(in), optional :: chunk(:)
    character(len=*), intent(in), optional :: dimensions(:)
    fits = .true.
    if (present(chunk)) fits = size(chunk) == rank
    if (fits .and. present(dimensions)) fits = size(dimensions) == rank
  end function

  !> Pointers to the names, last first, in one text that must outlive them.
  subroutine list_names(names, text, pointers)
    character(len=*), intent(in) :: names(:)
    character(kind=c_char, len=:), allocatable, target, intent(out) :: text
    type(c_ptr), allocatable, intent(out) :: pointers(:)
    integer :: i, room
    room = len(names) + 1
    allocate (character(len=room * size(names)) :: text)
    allocate (pointers(size(names)))
    do i = 1, size(names)
      text((i - 1) * room + 1:i * room) = c_text(names(i))
    end do
    do i = 1, size(names)
      pointers(size(names) + 1 - i) = c_loc(text((i - 1) * room + 1:))
    end do
  end subroutine

  subroutine read_ticket(handle, durable, ticket)
    type(c_ptr), intent(in) :: handle
    logical, intent(inout), optional :: durable
    type(sluice_ticket), intent(inout), optional :: ticket
    integer(c_int32_t) :: yes
    integer(c_int64_t) :: step
    if (.not. c_associated(handle)) return
    if (present(durable)) then
      if (c_ticket_durable(handle, yes) == 0) durable = yes /= 0
    end if
    if (present(ticket)) then
      if (c_ticket_step(handle, step) == 0) ticket%number = step + 1
      ticket%handle = handle
    else
      call c_ticket_free(handle)
    end if
  end subroutine
end submodule sluice_write

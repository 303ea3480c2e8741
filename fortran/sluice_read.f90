! What the module sluice does while reading, and what it tells of variables.
submodule(sluice) sluice_read
  implicit none

contains

  module procedure perform_gets
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, c_perform_gets(self%handle), stat, errmsg)
  end procedure

  module procedure get_rows_64
    integer(c_int) :: code
    code = c_get_rows(self%handle, self%cache, name, len(name), data, &
      size(ids, kind=int64), ids, c_step(step))
    call report(self%handle, self%path, code, stat, errmsg)
  end procedure

  module procedure get_rows_32
    call get_rows_64(self, name, int(ids, int64), data, step, stat, errmsg)
  end procedure

  module procedure refresh
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, c_refresh(self%handle), stat, errmsg)
  end procedure

  module procedure latest_good
    integer(c_int64_t) :: step
    latest_good = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    step = -1
    call finish(self%handle, c_latest_good(self%handle, step), stat, errmsg)
    latest_good = int(step) + 1
  end procedure

  module procedure step_count
    integer(c_int64_t) :: steps
    step_count = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    steps = 0
    call finish(self%handle, c_steps(self%handle, steps), stat, errmsg)
    step_count = int(steps)
  end procedure

  module procedure time_of_step
    time_of_step = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, c_time(self%handle, c_step(step), time_of_step), stat, &
      errmsg)
  end procedure

  module procedure variable_count
    integer(c_int32_t) :: count
    variable_count = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    count = 0
    call finish(self%handle, c_variable_count(self%handle, count), stat, errmsg)
    variable_count = count
  end procedure

  module procedure variable_name
    type(variable_info) :: info
    integer(c_int) :: code
    name = ""
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    info%size = c_sizeof(info)
    code = c_info(self%handle, int(index - 1, c_int32_t), info)
    if (code == 0) name = f_text(info%name)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure has_variable
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    has_variable = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    code = c_find(self%handle, c_text(name), variable)
    has_variable = code == 0
    if (code == not_found) code = 0
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure type_of
    type(variable_info) :: info
    type_of = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, look_up(self, name, info), stat, errmsg)
    if (info%type /= 0) type_of = first_type + info%type
  end procedure

  module procedure shape_of
    type(variable_info) :: info
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    allocate (dims(0))
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    code = look_up(self, name, info, variable)
    if (code == 0 .and. present(step)) then
      code = c_shape(self%handle, variable, c_step(step), info%rank, info%shape)
    end if
    if (code == 0) dims = info%shape(info%rank:1:-1)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure has_steps
    type(variable_info) :: info
    has_steps = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, look_up(self, name, info), stat, errmsg)
    has_steps = info%steps /= 0
  end procedure

  module procedure is_partial
    type(variable_info) :: info
    is_partial = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, look_up(self, name, info), stat, errmsg)
    is_partial = info%partial /= 0
  end procedure

  module procedure is_varying
    type(variable_info) :: info
    is_varying = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    call finish(self%handle, look_up(self, name, info), stat, errmsg)
    is_varying = info%varying /= 0
  end procedure

  module procedure dimension_name
    type(variable_info) :: info
    integer(c_int) :: code
    text = ""
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    code = look_up(self, name, info)
    if (code /= 0) then
      call finish(self%handle, code, stat, errmsg)
    else if (dimension < 1 .or. dimension > info%rank) then
      call fail(sluice_error_out_of_bounds, self%path // ": dimension_name " // trim(name) // &
        ": it has no such dimension", stat, errmsg)
    else
      if (present(stat)) stat = 0
      if (c_associated(info%dimensions(1))) then
        text = f_text(info%dimensions(info%rank + 1 - dimension))
      end if
    end if
  end procedure

  module procedure get_fill
    call report(self%handle, self%path, c_get_fill(self%handle, c_text(name), value), stat, errmsg)
  end procedure

  module procedure has_attribute
    integer(c_int32_t) :: has
    has_attribute = .false.
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    has = 0
    call finish(self%handle, c_has_attribute(self%handle, c_text(owner), c_text(name), has), &
      stat, errmsg)
    has_attribute = has /= 0
  end procedure

  module procedure attribute_count
    integer(c_int64_t) :: count
    attribute_count = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    count = 0
    call finish(self%handle, c_attribute_count(self%handle, c_text(owner), count), stat, errmsg)
    attribute_count = int(count)
  end procedure

  module procedure attribute_name
    type(c_ptr) :: text
    integer(c_int) :: code
    name = ""
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    code = c_attribute_name(self%handle, c_text(owner), int(index - 1, c_int64_t), text)
    if (code == 0) name = f_text(text)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  module procedure attribute_size
    integer(c_int32_t) :: its_type
    integer(c_int64_t) :: count
    attribute_size = 0
    if (present(type)) type = 0
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    its_type = 0
    count = 0
    call finish(self%handle, c_attribute_info(self%handle, c_text(owner), c_text(name), its_type, &
      count), stat, errmsg)
    if (present(type) .and. its_type /= 0) type = first_type + its_type
    attribute_size = int(count)
  end procedure

  module procedure get_attribute
    integer(c_int) :: code
    code = c_get_attribute(self%handle, c_text(owner), c_text(name), value)
    call report(self%handle, self%path, code, stat, errmsg)
  end procedure

  module procedure get_text
    type(c_ptr) :: found
    integer(c_int64_t) :: at
    integer(c_int) :: code
    text = ""
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    at = 0
    if (present(index)) at = index - 1
    code = c_get_text(self%handle, c_text(owner), c_text(name), at, found)
    if (code == 0) text = f_text(found)
    call finish(self%handle, code, stat, errmsg)
  end procedure

  ! -- inside --

  integer(c_int) function look_up(self, name, info, variable)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(variable_info), intent(out) :: info
    integer(c_int32_t), intent(out), optional :: variable
    integer(c_int32_t) :: found
    info%size = c_sizeof(info)
    info%type = 0
    info%steps = 0
    info%partial = 0
    info%varying = 0
    found = -1
    look_up = c_find(self%handle, c_text(name), found)
    if (look_up == 0) look_up = c_info(self%handle, found, info)
    if (present(variable)) variable = found
  end function
end submodule sluice_read

! The C interface of Sluice as Fortran sees it. For the module sluice only: programs use that.
!
! Procedures named sluice_fortran_... are in descriptor.c. They take names as characters and a
! length, and answer with a negative code where the refusal is their own: its message is
! c_own_message().
module sluice_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: variable_options
    integer(c_size_t) :: size
    integer(c_int32_t) :: steps, partial
    type(c_ptr) :: fill, unit, description, dimensions, chunk
    integer(c_int32_t) :: varying, fill_type
    type(c_ptr) :: compress
  end type variable_options

  type, bind(c) :: variable_info
    integer(c_size_t) :: size
    type(c_ptr) :: name
    integer(c_int32_t) :: type, rank, steps, partial
    type(c_ptr) :: fill
    integer(c_int64_t) :: shape(8)
    integer(c_int32_t) :: varying
    type(c_ptr) :: dimensions(8)
  end type variable_info

  !> The variables that calls named last, so that a name costs a comparison.
  type, bind(c) :: name_cache
    character(kind=c_char) :: names(32, 4) = c_null_char
    integer(c_int32_t) :: lengths(4) = -1
    integer(c_int32_t) :: variables(4) = -1
    integer(c_int32_t) :: next = 0
  end type name_cache

  interface
    integer(c_int) function c_open_f(comm, path, mode, options, file) bind(c, name="sluice_open_f")
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: path(*), mode(*), options(*)
      type(c_ptr), intent(out) :: file
    end function
    integer(c_int) function c_open_serial(path, mode, options, file) &
        bind(c, name="sluice_open_serial")
      import
      character(kind=c_char), intent(in) :: path(*), mode(*), options(*)
      type(c_ptr), intent(out) :: file
    end function
    integer(c_int) function c_close(file) bind(c, name="sluice_close")
      import
      type(c_ptr), value :: file
    end function
    subroutine c_free(file) bind(c, name="sluice_free")
      import
      type(c_ptr), value :: file
    end subroutine
    type(c_ptr) function c_last_error(file) bind(c, name="sluice_last_error")
      import
      type(c_ptr), value :: file
    end function
    type(c_ptr) function c_own_message() bind(c, name="sluice_fortran_message")
      import
    end function
    type(c_ptr) function c_version() bind(c, name="sluice_version")
      import
    end function
    type(c_ptr) function c_mpi_library() bind(c, name="sluice_mpi_library")
      import
    end function
    type(c_ptr) function c_code_name(code) bind(c, name="sluice_code_name")
      import
      integer(c_int), value :: code
    end function
    subroutine c_set_message_handler(handler, user) bind(c, name="sluice_set_message_handler")
      import
      type(c_funptr), value :: handler
      type(c_ptr), value :: user
    end subroutine
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value :: text
    end function
    integer(c_int) function c_define(file, name, type, rank, shape, options, variable) &
        bind(c, name="sluice_define")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: type
      integer(c_int), value :: rank
      integer(c_int64_t), intent(in) :: shape(*)
      type(variable_options), intent(in) :: options
      integer(c_int32_t), intent(out) :: variable
    end function
    integer(c_int) function c_find(file, name, variable) bind(c, name="sluice_find")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(out) :: variable
    end function
    integer(c_int) function c_refuse(file, code, why) bind(c, name="sluice_refuse")
      import
      type(c_ptr), value :: file
      integer(c_int), value :: code
      character(kind=c_char), intent(in) :: why(*)
    end function
    integer(c_int) function c_info(file, variable, info) bind(c, name="sluice_info")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      type(variable_info), intent(inout) :: info
    end function
    integer(c_int) function c_shape(file, variable, step, rank, shape) bind(c, name="sluice_shape")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      integer(c_int64_t), value :: step
      integer(c_int), value :: rank
      integer(c_int64_t), intent(out) :: shape(*)
    end function
    integer(c_int) function c_variable_count(file, count) bind(c, name="sluice_variable_count")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), intent(out) :: count
    end function
    integer(c_int) function c_is_reading(file, is_reading) bind(c, name="sluice_is_reading")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), intent(out) :: is_reading
    end function
    integer(c_int) function c_begin_step(file, time) bind(c, name="sluice_begin_step")
      import
      type(c_ptr), value :: file
      real(c_double), value :: time
    end function
    integer(c_int) function c_end_step(file, ticket) bind(c, name="sluice_end_step")
      import
      type(c_ptr), value :: file
      type(c_ptr), intent(inout) :: ticket
    end function
    integer(c_int) function c_flush(file, ticket) bind(c, name="sluice_flush")
      import
      type(c_ptr), value :: file
      type(c_ptr), intent(inout) :: ticket
    end function
    integer(c_int) function c_poll(file) bind(c, name="sluice_poll")
      import
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_drain(file, seconds, all) bind(c, name="sluice_drain")
      import
      type(c_ptr), value :: file
      real(c_double), value :: seconds
      integer(c_int32_t), intent(inout) :: all
    end function
    integer(c_int) function c_abandon_step(file, why) bind(c, name="sluice_abandon_step")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: why(*)
    end function
    integer(c_int) function c_resize(file, variable, rows) bind(c, name="sluice_resize")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      integer(c_int64_t), value :: rows
    end function
    integer(c_int) function c_ticket_step(ticket, step) bind(c, name="sluice_ticket_step")
      import
      type(c_ptr), value :: ticket
      integer(c_int64_t), intent(out) :: step
    end function
    integer(c_int) function c_ticket_durable(ticket, durable) bind(c, name="sluice_ticket_durable")
      import
      type(c_ptr), value :: ticket
      integer(c_int32_t), intent(out) :: durable
    end function
    integer(c_int) function c_ticket_skipped(ticket, skipped) bind(c, name="sluice_ticket_skipped")
      import
      type(c_ptr), value :: ticket
      integer(c_int32_t), intent(out) :: skipped
    end function
    integer(c_int) function c_ticket_wait(ticket) bind(c, name="sluice_ticket_wait")
      import
      type(c_ptr), value :: ticket
    end function
    subroutine c_ticket_free(ticket) bind(c, name="sluice_ticket_free")
      import
      type(c_ptr), value :: ticket
    end subroutine
    integer(c_int) function c_steps(file, steps) bind(c, name="sluice_steps")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), intent(out) :: steps
    end function
    integer(c_int) function c_time(file, step, time) bind(c, name="sluice_time")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), value :: step
      real(c_double), intent(out) :: time
    end function
    integer(c_int) function c_perform_gets(file) bind(c, name="sluice_perform_gets")
      import
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_count_from(file, first) bind(c, name="sluice_count_from")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: first
    end function
    integer(c_int) function c_refresh(file) bind(c, name="sluice_refresh")
      import
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_latest_good(file, step) bind(c, name="sluice_latest_good")
      import
      type(c_ptr), value :: file
      integer(c_int64_t), intent(out) :: step
    end function
    integer(c_int) function c_has_attribute(file, owner, name, has) &
        bind(c, name="sluice_has_attribute")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int32_t), intent(out) :: has
    end function
    integer(c_int) function c_attribute_count(file, owner, count) &
        bind(c, name="sluice_attribute_count")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*)
      integer(c_int64_t), intent(out) :: count
    end function
    integer(c_int) function c_attribute_name(file, owner, index, name) &
        bind(c, name="sluice_attribute_name")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*)
      integer(c_int64_t), value :: index
      type(c_ptr), intent(out) :: name
    end function
    integer(c_int) function c_attribute_info(file, owner, name, type, count) &
        bind(c, name="sluice_attribute_info")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int32_t), intent(out) :: type
      integer(c_int64_t), intent(out) :: count
    end function
    integer(c_int) function c_set_text(file, owner, name, text) bind(c, name="sluice_set_text")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*), name(*), text(*)
    end function
    integer(c_int) function c_get_text(file, owner, name, index, text) &
        bind(c, name="sluice_get_text")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      integer(c_int64_t), value :: index
      type(c_ptr), intent(out) :: text
    end function
  end interface

  ! descriptor.c: `starts` is the size of start, -1 where there is none; step counts from 0.
  interface
    integer(c_int) function c_put(file, cache, name, length, data, starts, start, &
        allow_overflow, in_place) bind(c, name="sluice_fortran_put")
      import
      type(c_ptr), value :: file
      type(name_cache), intent(inout) :: cache
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: length, starts
      type(*), dimension(..), intent(in), asynchronous :: data
      integer(c_int64_t), intent(in), optional :: start(*)
      integer(c_int32_t), value :: allow_overflow, in_place
    end function
    integer(c_int) function c_get(file, cache, name, length, data, starts, start, step, &
        allow_overflow, deferred) bind(c, name="sluice_fortran_get")
      import
      type(c_ptr), value :: file
      type(name_cache), intent(inout) :: cache
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: length, starts
      type(*), dimension(..), intent(inout) :: data
      integer(c_int64_t), intent(in), optional :: start(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: allow_overflow, deferred
    end function
    integer(c_int) function c_put_rows(file, cache, name, length, data, rows, ids, in_place) &
        bind(c, name="sluice_fortran_put_rows")
      import
      type(c_ptr), value :: file
      type(name_cache), intent(inout) :: cache
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: length
      type(*), dimension(..), intent(in), asynchronous :: data
      integer(c_int64_t), value :: rows
      integer(c_int32_t), value :: in_place
      integer(c_int64_t), intent(in) :: ids(*)
    end function
    integer(c_int) function c_put_joined(file, cache, name, length, data, in_place) &
        bind(c, name="sluice_fortran_put_joined")
      import
      type(c_ptr), value :: file
      type(name_cache), intent(inout) :: cache
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: length
      type(*), dimension(..), intent(in), asynchronous :: data
      integer(c_int32_t), value :: in_place
    end function
    integer(c_int) function c_get_rows(file, cache, name, length, data, rows, ids, step) &
        bind(c, name="sluice_fortran_get_rows")
      import
      type(c_ptr), value :: file
      type(name_cache), intent(inout) :: cache
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: length
      type(*), dimension(..), intent(inout) :: data
      integer(c_int64_t), value :: rows
      integer(c_int64_t), intent(in) :: ids(*)
      integer(c_int64_t), value :: step
    end function
    integer(c_int) function c_set_attribute(file, owner, name, value) &
        bind(c, name="sluice_fortran_set_attribute")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      type(*), dimension(..), intent(in) :: value
    end function
    integer(c_int) function c_get_attribute(file, owner, name, value) &
        bind(c, name="sluice_fortran_get_attribute")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: owner(*), name(*)
      type(*), dimension(..), intent(inout) :: value
    end function
    integer(c_int) function c_get_fill(file, name, value) bind(c, name="sluice_fortran_get_fill")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(inout) :: value
    end function
    subroutine c_forget(file) bind(c, name="sluice_fortran_forget")
      import
      type(c_ptr), value :: file
    end subroutine
  end interface
end module sluice_c

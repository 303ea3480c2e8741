! The C interface of Sluice as Fortran sees it. For the module sluice only: programs use that.
!
! Procedures named sluice_fortran_... are in descriptor.c; they answer with a negative code where
! they refuse the data themselves, so that the message is ours and not an older one of the library.
module sluice_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: variable_options
    integer(c_size_t) :: size
    integer(c_int32_t) :: steps, partial
    real(c_double) :: fill
    type(c_ptr) :: unit, description, dimensions, chunk
  end type variable_options

  type, bind(c) :: variable_info
    integer(c_size_t) :: size
    type(c_ptr) :: name
    integer(c_int32_t) :: type, rank, steps, partial
    real(c_double) :: fill
    integer(c_int64_t) :: shape(8)
  end type variable_info

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
    function c_last_error(file) result(text) bind(c, name="sluice_last_error")
      import
      type(c_ptr), value :: file
      type(c_ptr) :: text
    end function
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
    integer(c_int) function c_info(file, variable, info) bind(c, name="sluice_info")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      type(variable_info), intent(inout) :: info
    end function
    integer(c_int) function c_begin_step(file, time) bind(c, name="sluice_begin_step")
      import
      type(c_ptr), value :: file
      real(c_double), value :: time
    end function
    integer(c_int) function c_end_step(file, ticket) bind(c, name="sluice_end_step")
      import
      type(c_ptr), value :: file
      type(c_ptr), intent(out) :: ticket
    end function
    integer(c_int) function c_flush(file, ticket) bind(c, name="sluice_flush")
      import
      type(c_ptr), value :: file
      type(c_ptr), intent(out) :: ticket
    end function
    integer(c_int) function c_ticket_durable(ticket, durable) bind(c, name="sluice_ticket_durable")
      import
      type(c_ptr), value :: ticket
      integer(c_int32_t), intent(out) :: durable
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
    integer(c_int) function c_refresh(file) bind(c, name="sluice_refresh")
      import
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_put(file, variable, data, start, allow_overflow) &
        bind(c, name="sluice_fortran_put")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      type(*), dimension(..), intent(in) :: data
      integer(c_int64_t), intent(in), optional :: start(*)
      integer(c_int32_t), value :: allow_overflow
    end function
    integer(c_int) function c_get(file, variable, data, start, step, allow_overflow) &
        bind(c, name="sluice_fortran_get")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      type(*), dimension(..), intent(inout) :: data
      integer(c_int64_t), intent(in), optional :: start(*)
      integer(c_int64_t), value :: step
      integer(c_int32_t), value :: allow_overflow
    end function
    integer(c_int) function c_put_rows(file, variable, data, ids) &
        bind(c, name="sluice_fortran_put_rows")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      type(*), dimension(..), intent(in) :: data
      integer(c_int64_t), intent(in) :: ids(*)
    end function
    integer(c_int) function c_get_rows(file, variable, data, ids, step) &
        bind(c, name="sluice_fortran_get_rows")
      import
      type(c_ptr), value :: file
      integer(c_int32_t), value :: variable
      type(*), dimension(..), intent(inout) :: data
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
  end interface
end module sluice_c

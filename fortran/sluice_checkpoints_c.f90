! The C interface of checkpoints as Fortran sees it. For the module sluice_checkpoints only.
!
! Procedures named sluice_fortran_... are in checkpoint.c.
module sluice_checkpoints_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(c) :: open_options
    integer(c_size_t) :: size
    integer(c_int64_t) :: keep
    integer(c_int32_t) :: stop_on_failed_save, ignore_signals
    real(c_double) :: interval_s
    integer(c_int64_t) :: interval_calls
    real(c_double) :: failure_interval_s, end_time_s, margin_s
    type(c_ptr) :: file_options, scratch
    integer(c_int32_t) :: incremental
  end type open_options

  type, bind(c) :: restored_state
    integer(c_size_t) :: size
    integer(c_int64_t) :: number
    real(c_double) :: time
    integer(c_int32_t) :: ranks, newer
    type(c_ptr) :: why, kept
  end type restored_state

  type, bind(c) :: saved_state
    integer(c_size_t) :: size
    integer(c_int64_t) :: number
    real(c_double) :: seconds
    type(c_ptr) :: why, lost
  end type saved_state

  interface
    integer(c_int) function lib_open(comm, path, options, handle) &
        bind(c, name="sluice_checkpoint_open_f")
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: path(*)
      type(open_options), intent(in) :: options
      type(c_ptr), intent(out) :: handle
    end function
    integer(c_int) function lib_open_serial(path, options, handle) &
        bind(c, name="sluice_checkpoint_open_serial")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(open_options), intent(in) :: options
      type(c_ptr), intent(out) :: handle
    end function
    integer(c_int) function lib_count_from(handle, first) &
        bind(c, name="sluice_checkpoint_count_from")
      import
      type(c_ptr), value :: handle
      integer(c_int32_t), value :: first
    end function
    integer(c_int) function lib_array(handle, name, data, shape, dims, start, starts) &
        bind(c, name="sluice_fortran_checkpoint_array")
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(inout), asynchronous, target :: data
      integer(c_int64_t), intent(in) :: shape(*), start(*)
      integer(c_int), value :: dims, starts
    end function
    integer(c_int) function lib_rows(handle, name, data, shape, dims, ids, count) &
        bind(c, name="sluice_fortran_checkpoint_rows")
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(inout), asynchronous, target :: data
      integer(c_int64_t), intent(in) :: shape(*), ids(*)
      integer(c_int), value :: dims
      integer(c_int64_t), value :: count
    end function
    integer(c_int) function lib_value(handle, name, data) &
        bind(c, name="sluice_fortran_checkpoint_value")
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(inout), asynchronous, target :: data
    end function
    integer(c_int) function lib_text_of(handle, name, text, capacity) &
        bind(c, name="sluice_fortran_checkpoint_text")
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: text
      integer(c_int64_t), value :: capacity
    end function
    integer(c_int) function lib_bytes(handle, name, data, keep) &
        bind(c, name="sluice_fortran_checkpoint_bytes")
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(*), dimension(..), intent(inout), asynchronous, target :: data
      integer(c_int32_t), value :: keep
    end function
    integer(c_int) function lib_restore(handle, restored) &
        bind(c, name="sluice_fortran_checkpoint_restore")
      import
      type(c_ptr), value :: handle
      type(restored_state), intent(inout) :: restored
    end function
    integer(c_int) function lib_save(handle, time, saved) &
        bind(c, name="sluice_fortran_checkpoint_save")
      import
      type(c_ptr), value :: handle
      real(c_double), value :: time
      type(saved_state), intent(inout) :: saved
    end function
    integer(c_int) function lib_due(handle, yes) bind(c, name="sluice_checkpoint_due")
      import
      type(c_ptr), value :: handle
      integer(c_int32_t), intent(out) :: yes
    end function
    integer(c_int) function lib_ending(handle, yes) bind(c, name="sluice_checkpoint_ending")
      import
      type(c_ptr), value :: handle
      integer(c_int32_t), intent(out) :: yes
    end function
    integer(c_int) function lib_drain(handle, seconds, all) bind(c, name="sluice_checkpoint_drain")
      import
      type(c_ptr), value :: handle
      real(c_double), value :: seconds
      integer(c_int32_t), intent(out) :: all
    end function
    integer(c_int) function lib_close(handle) bind(c, name="sluice_fortran_checkpoint_close")
      import
      type(c_ptr), value :: handle
    end function
  end interface

end module sluice_checkpoints_c

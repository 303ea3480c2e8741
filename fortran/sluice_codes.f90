! The codes of sluice.h. Part of the module sluice.
module sluice_codes
  implicit none
  public

  !> What `stat` receives: sluice_ok, or why the call failed. A procedure that lists the error
  !> `not_found` gives sluice_error_not_found. The numbers never change; sluice_code_name has the
  !> words.
  integer, parameter :: sluice_ok = 0, sluice_error_invalid_argument = 10, &
    sluice_error_out_of_bounds = 11, sluice_error_overlap = 12, sluice_error_hole = 13, &
    sluice_error_duplicate_row = 14, sluice_error_missing_row = 15, &
    sluice_error_type_mismatch = 16, sluice_error_overflow = 17, sluice_error_bad_name = 18, &
    sluice_error_wrong_state = 19, sluice_error_not_found = 20, sluice_error_exists = 21, &
    sluice_error_permission = 22, sluice_error_io = 23, sluice_error_no_space = 24, &
    sluice_error_truncated = 25, sluice_error_format = 26, sluice_error_version = 27, &
    sluice_error_damaged = 28, sluice_error_changed_outside = 29, sluice_error_unsupported = 30, &
    sluice_error_locked = 31, sluice_error_timeout = 40, sluice_error_divergent = 41, &
    sluice_error_over_budget = 42, sluice_error_mpi = 43, sluice_error_internal = 50
end module sluice_codes

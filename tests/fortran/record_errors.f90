! What a program may do wrong through the module fpio: each is a code and a clear message, none a
! crash or a hang. Run with one more argument, it reads another type than was written, without stat,
! and must be stopped with the message.
program record_errors
  use, intrinsic :: iso_fortran_env, only: real32, real64, error_unit, output_unit
  use mpi_f08
  use fpio
  use sluice, only: invalid => sluice_error_invalid_argument, &
    outside => sluice_error_out_of_bounds, mismatch => sluice_error_type_mismatch, &
    state => sluice_error_wrong_state, missing => sluice_error_not_found, &
    there => sluice_error_exists, unsupported => sluice_error_unsupported
  implicit none
  integer, parameter :: new = MPI_MODE_WRONLY + MPI_MODE_CREATE
  integer :: rank, code
  character(len=512) :: path
  character(len=600) :: message
  type(fpio_file) :: fp, parts(3)
  real(real64) :: x
  real(real32) :: narrow
  integer :: number

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, path)
  call check_opening()
  call check_reading()
  call check_values()
  call check_parts()
  if (rank == 0) write (output_unit, "(a)") "fortran record errors: ok"
  if (command_argument_count() > 1) then
    call file_dopen(fp, path, MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    call file_bread(fp, x)
    write (output_unit, "(a)") "not stopped"
  end if
  call MPI_Finalize()

contains

  subroutine expect(wanted, words)
    integer, intent(in) :: wanted
    character(len=*), intent(in) :: words
    if (code == wanted .and. index(message, words) > 0) then
      code = -1
      message = ""
      return
    end if
    write (error_unit, "(a,i0,a,i0,a,i0,5a)") "rank ", rank, ": code ", code, ", not ", wanted, &
      ": '", trim(message), "' should say '", words, "'"
    error stop 1
  end subroutine

  subroutine check_opening()
    call file_dopen(fp, "no/such/file", MPI_MODE_RDONLY, MPI_COMM_WORLD, stat=code, errmsg=message)
    call expect(missing, "no/such/file")
    call file_dopen(fp, path, MPI_MODE_RDONLY + MPI_MODE_WRONLY, MPI_COMM_WORLD, stat=code, &
      errmsg=message)
    call expect(invalid, "MPI_MODE_WRONLY + MPI_MODE_CREATE")
    call file_dopen(fp, path, MPI_MODE_WRONLY, MPI_COMM_WORLD, stat=code, errmsg=message)
    call expect(invalid, "MPI_MODE_RDONLY")
    call file_dopen(fp, path, new, MPI_COMM_WORLD, "strategy = 'file-per-node'", stat=code, &
      errmsg=message)
    call expect(unsupported, "file-per-node")
    call file_dwrite(fp, stat=code, errmsg=message)
    call expect(state, "not open")
    call file_dclose(fp, stat=code, errmsg=message)
    call expect(state, "not open")
    call file_drain(fp, 1.0_real64, stat=code, errmsg=message)
    call expect(state, "not open")
    call file_bwrite(fp, 1, code)
    message = file_message()
    call expect(state, "file_bwrite: this fpio_file is not open")
    call require(file_groups(fp, code) == 0, "no groups where no file is open")
    message = file_message()
    call expect(state, "file_groups: this fpio_file is not open")
    call require(file_at_end(fp, code), "the end where no file is open")
    message = file_message()
    call expect(state, "file_at_end: this fpio_file is not open")
    call file_dopen(fp, path, new, MPI_COMM_WORLD)
    call file_dopen(fp, path, new, MPI_COMM_WORLD, stat=code, errmsg=message)
    call expect(state, "open already")
    call file_bwrite(fp, 17 + rank)
    call file_bwrite(fp, 2.5_real64)
    call file_dwrite(fp)
    call file_dread(fp, stat=code, errmsg=message)
    call expect(state, "opened for writing")
    call file_dclose(fp)
    call file_dopen(fp, path, new + MPI_MODE_EXCL, MPI_COMM_WORLD, stat=code, errmsg=message)
    call expect(there, "exists")
  end subroutine

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(a,i0,2a)") "rank ", rank, ": not so: ", what
    error stop 1
  end subroutine

  !> Another type than the one written: both are named, and nothing is taken.
  subroutine check_reading()
    call file_dopen(fp, path, MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_drain(fp, 1.0_real64, stat=code, errmsg=message)
    call expect(state, "opened for reading")
    call file_bread(fp, number, code)
    message = file_message()
    call expect(outside, "int32")
    call file_dread(fp)
    call file_bread(fp, x, code)
    message = file_message()
    call expect(mismatch, "int32, but float64")
    call file_bread(fp, number)
    call require(number == 17 + rank, "the integer is still there")
    call file_bread(fp, narrow, code)
    message = file_message()
    call expect(mismatch, "float64, but float32")
    call file_bread(fp, x)
    call require(x == 2.5_real64, "the real is still there")
    call file_dread(fp, 0, stat=code, errmsg=message)
    call expect(invalid, "counted from 1")
    if (rank == 0) then
      call file_dread(fp, -3, stat=code, errmsg=message)
      call expect(invalid, "counted from 1")
    else
      call file_dread(fp, 1, stat=code, errmsg=message)
      call expect(outside, "record group -3 of 1, counted from 1")
    end if
    call file_dread(fp, 7, stat=code, errmsg=message)
    call expect(outside, "record group 7 of 1, counted from 1")
    call file_dclose(fp)
  end subroutine

  subroutine write_list(listed)
    integer, intent(in) :: listed(*)
    call file_bwrite(fp, listed, code)
    message = file_message()
    call expect(invalid, "file_bwrite: the array has no size here")
  end subroutine

  !> A value that cannot be stored makes the group fail, on every rank, and the file stays.
  subroutine check_values()
    integer, allocatable :: nothing(:)
    integer :: listed(3)
    real(real64), pointer :: none
    listed = 1
    allocate (nothing(3))
    deallocate (nothing)
    nullify (none)
    call file_dopen(fp, trim(path) // ".values", new, MPI_COMM_WORLD)
    call file_bwrite(fp, 1)
    if (rank == 0) then
      call write_list(listed)
    end if
    call file_dwrite(fp, stat=code, errmsg=message)
    call expect(invalid, "rank 0: " // trim(path) // ".values: file_bwrite: the array has no size")
    if (rank == 0) then
      call file_bwrite(fp, nothing, code)
      message = file_message()
      call expect(invalid, "file_bwrite: the array is not allocated")
      call write_list(listed)
      call file_bwrite(fp, none, code)
      message = file_message()
      call expect(invalid, "file_bwrite: the array is not allocated")
    end if
    call file_dwrite(fp, stat=code, errmsg=message)
    call expect(invalid, "file_bwrite: the array is not allocated") ! the first reason
    allocate (nothing(0))
    call file_bwrite(fp, nothing)
    call file_bwrite(fp, 2)
    call file_dwrite(fp)
    call file_dclose(fp)
    call file_dopen(fp, trim(path) // ".values", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    call file_bread(fp, number)
    call require(number == 2 .and. file_at_end(fp), "only the good group is there")
    call file_dclose(fp)
  end subroutine

  subroutine check_parts()
    if (rank == 0) then
      call file_dopen(parts, trim(path) // ".parts", new)
      call file_dwrite(parts(2), stat=code, errmsg=message)
      call expect(invalid, "all parts")
      call file_bwrite(parts(3), 1)
      call file_dwrite(parts)
      call file_dclose(parts)
      call file_dopen(parts(1:2), trim(path) // ".parts", MPI_MODE_RDONLY)
      call file_dread(parts(1:2))
      call file_bread(parts(2), number)
      call require(number == 1 .and. file_at_end(parts(1)), "three parts by two handles")
      call file_dclose(parts(1:2))
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine
end program record_errors

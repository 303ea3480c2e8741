! A file for each diagonal rank, as today's MFDn writes them: FOLDER/mfdn_smwfNNN, Fortran
! unformatted, one float32 record a state; and the step that joins them into one file.
module record_store
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use files
  use mpi_f08
  use stores, only: wave_store
  implicit none
  private
  public :: process_store, join_records, record_path

  integer, parameter :: portion = 1048576 !< elements that the joining rank holds
  !> gfortran cuts records that are longer than this in two.
  integer(int64), parameter :: most_bytes = 2147483639

  type, extends(wave_store) :: process_store
    integer :: unit = -1
    logical :: has_written = .false.
    logical :: is_joined = .false.  !< the parts are joined next: only the whole must last
  contains
    procedure :: create => create_files
    procedure :: open => open_files
    procedure :: write => write_vector
    procedure :: read => read_vector
    procedure :: close => close_files
  end type process_store

contains

  pure function record_path(folder, part) result(path)
    character(len=*), intent(in) :: folder
    integer, intent(in) :: part !< from 1
    character(len=:), allocatable :: path
    character(len=16) :: digits
    write (digits, "(i0.3)") part
    path = trim(folder) // "/mfdn_smwf" // trim(digits)
  end function

  subroutine create_files(self)
    class(process_store), intent(inout) :: self
    if (4 * self%elements > most_bytes) error stop "mfdn: a record would be longer than 2 GiB"
    if (self%rank == 0) call make_folder(self%path)
    call MPI_Barrier(self%comm)
    open (newunit=self%unit, file=record_path(self%path, self%rank + 1), access="sequential", &
      form="unformatted", status="replace", action="write")
    self%has_written = .true.
  end subroutine

  subroutine open_files(self)
    class(process_store), intent(inout) :: self
    open (newunit=self%unit, file=record_path(self%path, self%rank + 1), access="sequential", &
      form="unformatted", status="old", action="read")
    self%has_written = .false.
  end subroutine

  !> States in the order of their numbers.
  subroutine write_vector(self, number, vector)
    class(process_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(in), target, contiguous :: vector(:)
    if (number < 1) return
    write (self%unit) vector
  end subroutine

  subroutine read_vector(self, number, vector)
    class(process_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(out), target, contiguous :: vector(:)
    if (number < 1) return
    read (self%unit) vector
  end subroutine

  subroutine close_files(self)
    class(process_store), intent(inout) :: self
    close (self%unit)
    if (self%has_written .and. self%settings%sync .and. .not. self%is_joined) then
      call sync_path(record_path(self%path, self%rank + 1))
    end if
    call MPI_Barrier(self%comm)
  end subroutine

  !> Makes one flat file (flat_stores.f90) of the files of `parts` ranks. By one process.
  subroutine join_records(folder, parts, states, path, sync)
    character(len=*), intent(in) :: folder, path
    integer, intent(in) :: parts, states
    logical, intent(in) :: sync
    integer :: units(parts), out, part, state
    integer(int64) :: at(parts), done, length, elements
    integer :: bytes
    real(real32), allocatable :: room(:)
    allocate (room(portion))
    do part = 1, parts
      open (newunit=units(part), file=record_path(folder, part), access="stream", &
        form="unformatted", status="old", action="read")
    end do
    open (newunit=out, file=path, access="stream", form="unformatted", status="replace", &
      action="write")
    at = 1
    do state = 1, states
      do part = 1, parts
        read (units(part), pos=at(part)) bytes
        elements = bytes / 4
        do done = 0, elements - 1, portion
          length = min(int(portion, int64), elements - done)
          read (units(part)) room(:length)
          write (out) room(:length)
        end do
        at(part) = at(part) + bytes + 8
      end do
    end do
    close (out)
    do part = 1, parts
      close (units(part))
    end do
    if (sync) call sync_path(path)
  end subroutine
end module record_store

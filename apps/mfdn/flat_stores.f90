! The vectors one after the other in a file without format: by MPI-IO, by plain system calls, and by
! a root that gathers and writes, reads and scatters.
!
! Invariant: element e (from 0) of state s is at byte 4 ((s - 1) dimension + e), whichever store
! wrote the file, so each reads what the others wrote.
module flat_stores
  use, intrinsic :: iso_c_binding, only: c_int, c_loc
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use files
  use mpi_f08
  use stores, only: wave_store
  implicit none
  private
  public :: raw_store, root_store

  integer, parameter :: element_bytes = 4
  integer, parameter :: portion = 1048576 !< elements that the root holds of another rank
  integer, parameter :: tag = 11

  type, extends(wave_store) :: raw_store
    integer(c_int) :: descriptor = -1
    logical :: has_written = .false.
  contains
    procedure :: create => create_raw
    procedure :: open => open_raw
    procedure :: write => write_raw
    procedure :: read => read_raw
    procedure :: close => close_raw
  end type raw_store

  !> Buffered by the language and by the system.
  type, extends(wave_store) :: root_store
    integer :: unit = -1
    logical :: has_written = .false.
  contains
    procedure :: create => create_root
    procedure :: open => open_root
    procedure :: write => write_root
    procedure :: read => read_root
    procedure :: close => close_root
  end type root_store

contains

  ! -- raw: every rank its own bytes --

  subroutine create_raw(self)
    class(raw_store), intent(inout) :: self
    if (self%rank == 0) call open_plain(self%path, .true., .true., self%descriptor)
    call MPI_Barrier(self%comm)
    if (self%rank /= 0) call open_plain(self%path, .true., .false., self%descriptor)
    self%has_written = .true.
  end subroutine

  subroutine open_raw(self)
    class(raw_store), intent(inout) :: self
    call open_plain(self%path, .false., .false., self%descriptor)
  end subroutine

  subroutine write_raw(self, number, vector)
    class(raw_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(in), target, contiguous :: vector(:)
    integer(int64) :: done, length
    done = 0
    do while (done < self%elements)
      length = merge(self%elements, self%piece, self%piece == 0)
      call write_at(self%descriptor, c_loc(vector(done + 1)), length * element_bytes, &
        offset_of(self, number, done), self%path)
      done = done + length
    end do
  end subroutine

  subroutine read_raw(self, number, vector)
    class(raw_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(out), target, contiguous :: vector(:)
    integer(int64) :: done, length
    done = 0
    do while (done < self%elements)
      length = merge(self%elements, self%piece, self%piece == 0)
      call read_at(self%descriptor, c_loc(vector(done + 1)), length * element_bytes, &
        offset_of(self, number, done), self%path)
      done = done + length
    end do
  end subroutine

  !> The byte of this rank's element `done` (from 0).
  pure integer(int64) function offset_of(self, number, done)
    class(wave_store), intent(in) :: self
    integer, intent(in) :: number
    integer(int64), intent(in) :: done
    if (self%piece == 0) then
      offset_of = self%first + done
    else
      offset_of = done * self%parts + self%rank * self%piece
    end if
    offset_of = element_bytes * ((number - 1) * self%dimension + offset_of)
  end function

  subroutine close_raw(self)
    class(raw_store), intent(inout) :: self
    if (self%has_written .and. self%settings%sync) call sync_plain(self%descriptor, self%path)
    call close_plain(self%descriptor, self%path)
    call MPI_Barrier(self%comm)
  end subroutine

  ! -- root: rank 0 for all --

  subroutine create_root(self)
    class(root_store), intent(inout) :: self
    if (self%rank == 0) open (newunit=self%unit, file=self%path, access="stream", &
      form="unformatted", status="replace", action="write")
    self%has_written = .true.
  end subroutine

  subroutine open_root(self)
    class(root_store), intent(inout) :: self
    if (self%rank == 0) open (newunit=self%unit, file=self%path, access="stream", &
      form="unformatted", status="old", action="read")
  end subroutine

  !> With pieces, the root takes a piece of each rank in turn; else a rank's part, in portions.
  subroutine write_root(self, number, vector)
    class(root_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(in), target, contiguous :: vector(:)
    real(real32), allocatable :: room(:)
    integer(int64) :: sizes(0:self%parts - 1), done, length
    integer :: part
    if (self%piece /= 0) then
      call write_root_pieces(self, number, vector)
      return
    end if
    call MPI_Allgather(self%elements, 1, MPI_INTEGER8, sizes, 1, MPI_INTEGER8, self%comm)
    if (self%rank == 0) then
      allocate (room(portion))
      write (self%unit, pos=offset_of(self, number, 0_int64) + 1) vector
    end if
    do part = 1, self%parts - 1
      do done = 0, sizes(part) - 1, portion
        length = min(int(portion, int64), sizes(part) - done)
        if (self%rank == 0) then
          call MPI_Recv(room, int(length), MPI_REAL, part, tag, self%comm, MPI_STATUS_IGNORE)
          write (self%unit) room(:length)
        else if (self%rank == part) then
          call MPI_Send(vector(done + 1:), int(length), MPI_REAL, 0, tag, self%comm)
        end if
      end do
    end do
  end subroutine

  subroutine write_root_pieces(self, number, vector)
    class(root_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(in), contiguous :: vector(:)
    real(real32), allocatable :: room(:, :, :), ordered(:, :, :)
    integer(int64) :: done, length
    integer :: at_once
    ! A bounded number of pieces of every rank at a time.
    at_once = int(max(1_int64, portion / self%piece)) * int(self%piece)
    do done = 0, self%elements - 1, at_once
      length = min(int(at_once, int64), self%elements - done)
      if (self%rank == 0) then
        allocate (room(self%piece, length / self%piece, self%parts))
      else
        allocate (room(0, 0, 0))
      end if
      call MPI_Gather(vector(done + 1:), int(length), MPI_REAL, room, int(length), MPI_REAL, 0, &
        self%comm)
      if (self%rank == 0) then
        ordered = reshape(room, [int(self%piece), self%parts, int(length / self%piece)], &
          order=[1, 3, 2])
        write (self%unit, pos=offset_of(self, number, done) + 1) ordered
      end if
      deallocate (room)
    end do
  end subroutine

  subroutine read_root(self, number, vector)
    class(root_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(out), target, contiguous :: vector(:)
    real(real32), allocatable :: room(:)
    integer(int64) :: sizes(0:self%parts - 1), done, length
    integer :: part
    if (self%piece /= 0) error stop "mfdn: the root reads contiguous parts only"
    call MPI_Allgather(self%elements, 1, MPI_INTEGER8, sizes, 1, MPI_INTEGER8, self%comm)
    if (self%rank == 0) then
      allocate (room(portion))
      read (self%unit, pos=offset_of(self, number, 0_int64) + 1) vector
    end if
    do part = 1, self%parts - 1
      do done = 0, sizes(part) - 1, portion
        length = min(int(portion, int64), sizes(part) - done)
        if (self%rank == 0) then
          read (self%unit) room(:length)
          call MPI_Send(room, int(length), MPI_REAL, part, tag, self%comm)
        else if (self%rank == part) then
          call MPI_Recv(vector(done + 1:), int(length), MPI_REAL, 0, tag, self%comm, &
            MPI_STATUS_IGNORE)
        end if
      end do
    end do
  end subroutine

  subroutine close_root(self)
    class(root_store), intent(inout) :: self
    if (self%rank == 0) then
      close (self%unit)
      if (self%has_written .and. self%settings%sync) call sync_path(self%path)
    end if
    call MPI_Barrier(self%comm)
  end subroutine
end module flat_stores

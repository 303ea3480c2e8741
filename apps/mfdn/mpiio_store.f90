! The vectors one after the other in a file without format, by MPI-IO: as flat_stores.f90 has them.
module mpiio_store
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use mpi_f08
  use stores, only: wave_store
  implicit none
  private
  public :: flat_mpiio_store

  integer(int64), parameter :: portion = 268435456 !< elements of one call

  type, extends(wave_store) :: flat_mpiio_store
    type(MPI_File) :: file
    type(MPI_Datatype) :: pieces
    logical :: has_written = .false.
  contains
    procedure :: create => create_file
    procedure :: open => open_file
    procedure :: write => write_vector
    procedure :: read => read_vector
    procedure :: close => close_file
  end type flat_mpiio_store

contains

  subroutine create_file(self)
    class(flat_mpiio_store), intent(inout) :: self
    integer :: code
    call open_with(self, MPI_MODE_CREATE + MPI_MODE_WRONLY)
    call MPI_File_set_size(self%file, 0_MPI_OFFSET_KIND, code)
    call check(self, code)
    self%has_written = .true.
  end subroutine

  subroutine open_file(self)
    class(flat_mpiio_store), intent(inout) :: self
    call open_with(self, MPI_MODE_RDONLY)
    self%has_written = .false.
  end subroutine

  subroutine open_with(self, mode)
    class(flat_mpiio_store), intent(inout) :: self
    integer, intent(in) :: mode
    type(MPI_Info) :: info
    integer :: code
    call make_info(trim(self%settings%hints), info)
    call MPI_File_open(self%comm, self%path, mode, info, self%file, code)
    call check(self, code)
    call MPI_Info_free(info)
    if (self%piece == 0) return
    ! Every parts-th piece, from this rank's first one on.
    call MPI_Type_vector(int(self%elements / self%piece), int(self%piece), &
      int(self%piece) * self%parts, MPI_REAL, self%pieces)
    call MPI_Type_commit(self%pieces)
  end subroutine

  subroutine make_info(hints, info)
    character(len=*), intent(in) :: hints !< "key=value,key=value"
    type(MPI_Info), intent(out) :: info
    integer :: from, to, equals
    call MPI_Info_create(info)
    from = 1
    do while (from <= len(hints))
      to = index(hints(from:), ",") + from - 2
      if (to < from) to = len(hints)
      equals = index(hints(from:to), "=") + from - 1
      if (equals > from) call MPI_Info_set(info, hints(from:equals - 1), hints(equals + 1:to))
      from = to + 2
    end do
  end subroutine

  subroutine write_vector(self, number, vector)
    class(flat_mpiio_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(in), target, contiguous :: vector(:)
    integer(int64) :: done
    integer :: count, call_number, code
    call seek(self, number)
    do call_number = 1, calls_of(self)
      done = min((call_number - 1) * portion, self%elements)
      count = int(min(portion, self%elements - done))
      if (self%settings%mode == "collective") then
        call MPI_File_write_all(self%file, vector(done + 1:), count, MPI_REAL, &
          MPI_STATUS_IGNORE, code)
      else
        call MPI_File_write(self%file, vector(done + 1:), count, MPI_REAL, MPI_STATUS_IGNORE, code)
      end if
      call check(self, code)
    end do
  end subroutine

  subroutine read_vector(self, number, vector)
    class(flat_mpiio_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(out), target, contiguous :: vector(:)
    integer(int64) :: done
    integer :: count, call_number, code
    call seek(self, number)
    do call_number = 1, calls_of(self)
      done = min((call_number - 1) * portion, self%elements)
      count = int(min(portion, self%elements - done))
      if (self%settings%mode == "collective") then
        call MPI_File_read_all(self%file, vector(done + 1:), count, MPI_REAL, MPI_STATUS_IGNORE, &
          code)
      else
        call MPI_File_read(self%file, vector(done + 1:), count, MPI_REAL, MPI_STATUS_IGNORE, code)
      end if
      call check(self, code)
    end do
  end subroutine

  !> The ranks make as many collective calls as the one with most elements needs.
  integer function calls_of(self)
    class(flat_mpiio_store), intent(in) :: self
    integer(int64) :: most
    call MPI_Allreduce(self%elements, most, 1, MPI_INTEGER8, MPI_MAX, self%comm)
    calls_of = int((most + portion - 1) / portion)
  end function

  !> The view begins where this rank's part of the state does.
  subroutine seek(self, number)
    class(flat_mpiio_store), intent(inout) :: self
    integer, intent(in) :: number
    integer(MPI_OFFSET_KIND) :: begin
    integer :: code
    begin = 4 * (number - 1) * self%dimension
    if (self%piece == 0) then
      begin = begin + 4 * self%first
      call MPI_File_set_view(self%file, begin, MPI_REAL, MPI_REAL, "native", MPI_INFO_NULL, code)
    else
      begin = begin + 4 * self%piece * self%rank
      call MPI_File_set_view(self%file, begin, MPI_REAL, self%pieces, "native", MPI_INFO_NULL, &
        code)
    end if
    call check(self, code)
  end subroutine

  subroutine close_file(self)
    class(flat_mpiio_store), intent(inout) :: self
    integer :: code
    if (self%has_written .and. self%settings%sync) then
      call MPI_File_sync(self%file, code)
      call check(self, code)
    end if
    call MPI_File_close(self%file, code)
    call check(self, code)
    if (self%piece /= 0) call MPI_Type_free(self%pieces)
  end subroutine

  subroutine check(self, code)
    class(flat_mpiio_store), intent(in) :: self
    integer, intent(in) :: code
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length
    if (code == MPI_SUCCESS) return
    call MPI_Error_string(code, text, length)
    print "(5a)", "mfdn: ", self%path, ": ", text(:length)
    error stop 1
  end subroutine
end module mpiio_store

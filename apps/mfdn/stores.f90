! What every way to keep the wave functions can do: make a file, write and read one state's vector,
! close it. The ways: sluice_store.f90 (HDF5), flat_stores.f90 (MPI-IO, plain files, a root that
! gathers), record_store.f90 (a file for each process, and the join).
!
! Invariants: only the diagonal ranks take part. A rank has the elements `first` + 1 to
! `first` + size of each vector, or, where `piece` is not 0, every parts-th piece of so many.
module stores
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use mpi_f08
  implicit none
  private
  public :: wave_store, store_settings, describe

  !> Chosen at run time.
  type :: store_settings
    character(len=16) :: mode = "independent" !< or collective
    character(len=32) :: strategy = ""        !< of Sluice; empty: by the mode
    character(len=256) :: hints = ""          !< of MPI-IO: "cb_nodes=1,..."
    character(len=512) :: options = ""        !< further ones of Sluice, TOML by semicolons
    logical :: sync = .true.                  !< close returns when the data is on the disk
  end type store_settings

  type, abstract :: wave_store
    type(store_settings) :: settings
    character(len=:), allocatable :: path
    type(MPI_Comm) :: comm
    integer :: rank = 0, parts = 1
    integer :: states = 0
    integer(int64) :: dimension = 0
    integer(int64) :: first = 0     !< elements of the ranks before
    integer(int64) :: elements = 0  !< of this rank
    integer(int64) :: piece = 0
  contains
    !> Collective, as all of these.
    procedure(make_or_close), deferred :: create
    procedure(make_or_close), deferred :: open
    !> `vector` must stay as it is until close.
    procedure(write_one), deferred :: write
    !> `vector` must stay where it is until close, and may hold nothing before.
    procedure(read_one), deferred :: read
    procedure(make_or_close), deferred :: close
  end type wave_store

  abstract interface
    subroutine make_or_close(self)
      import :: wave_store
      class(wave_store), intent(inout) :: self
    end subroutine
    subroutine write_one(self, number, vector)
      import :: wave_store, real32
      class(wave_store), intent(inout) :: self
      integer, intent(in) :: number
      real(real32), intent(in), target, contiguous :: vector(:)
    end subroutine
    subroutine read_one(self, number, vector)
      import :: wave_store, real32
      class(wave_store), intent(inout) :: self
      integer, intent(in) :: number
      real(real32), intent(out), target, contiguous :: vector(:)
    end subroutine
  end interface

contains

  !> What this rank has of each of the vectors; offsets are found here. Collective over `comm`.
  subroutine describe(self, settings, path, comm, states, elements, piece)
    class(wave_store), intent(inout) :: self
    type(store_settings), intent(in) :: settings
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: states
    integer(int64), intent(in) :: elements
    integer(int64), intent(in), optional :: piece
    self%settings = settings
    self%path = trim(path)
    self%comm = comm
    self%states = states
    self%elements = elements
    if (present(piece)) self%piece = piece
    call MPI_Comm_rank(comm, self%rank)
    call MPI_Comm_size(comm, self%parts)
    self%first = 0
    call MPI_Exscan(elements, self%first, 1, MPI_INTEGER8, MPI_SUM, comm)
    if (self%rank == 0) self%first = 0
    call MPI_Allreduce(elements, self%dimension, 1, MPI_INTEGER8, MPI_SUM, comm)
  end subroutine
end module stores

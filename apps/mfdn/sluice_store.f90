! The wave-function file: one HDF5 file, written through Sluice.
!
!   /                     attribute Author
!   /LENGTHS              elements of each diagonal rank
!   /GRP01/EigenVector01  float32, all elements of the first state's vector
!   /GRP01/Properties01   float64: energy, J, T; NaN until they are filled in, also by another job
!   /GRP02/...            and so on
!   /BASIS, /STRUCTURE    see description.f90
!
! Invariant: everything is reserved by create(); close() commits the vectors that were written, and
! reads those that were asked for, all at once.
module sluice_store
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use mpi_f08, only: MPI_Comm
  use sluice
  use stores, only: wave_store
  implicit none
  private
  public :: hdf5_store, vector_name, properties_name, sluice_options, property_count

  integer, parameter :: property_count = 3

  type, extends(wave_store) :: hdf5_store
    type(sluice_file) :: file
    character(len=16) :: storage = "" !< of Sluice; empty: its choice
    logical :: reads = .false.        !< open for reading
  contains
    procedure :: create => create_file
    procedure :: open => open_file
    procedure :: write => write_vector
    procedure :: read => read_vector
    procedure :: close => close_file
  end type hdf5_store

contains

  pure function vector_name(number) result(name)
    integer, intent(in) :: number
    character(len=:), allocatable :: name
    name = "GRP" // two(number) // "/EigenVector" // two(number)
  end function

  pure function properties_name(number) result(name)
    integer, intent(in) :: number
    character(len=:), allocatable :: name
    name = "GRP" // two(number) // "/Properties" // two(number)
  end function

  pure function two(number) result(text)
    integer, intent(in) :: number
    character(len=:), allocatable :: text
    character(len=8) :: digits
    write (digits, "(i0.2)") number
    text = trim(digits)
  end function

  !> The settings as Sluice's options: lines of TOML.
  function sluice_options(self) result(text)
    class(hdf5_store), intent(in) :: self
    character(len=:), allocatable :: text, strategy
    integer :: i
    strategy = trim(self%settings%strategy)
    if (strategy == "") strategy = merge("collective", "shared    ", &
      self%settings%mode == "collective")
    text = 'strategy = "' // trim(strategy) // '"' // new_line("a")
    if (self%storage /= "") text = text // 'storage = "' // trim(self%storage) // '"' &
      // new_line("a")
    if (self%settings%hints /= "") text = text // 'hints = "' // trim(self%settings%hints) // '"' &
      // new_line("a")
    if (.not. self%settings%sync) text = text // 'durability = "none"' // new_line("a")
    text = text // trim(self%settings%options)
    do i = 1, len(text)
      if (text(i:i) == ";") text(i:i) = new_line("a")
    end do
  end function

  subroutine create_file(self)
    class(hdf5_store), intent(inout) :: self
    integer :: i
    call self%file%open(self%path, "w", self%comm, options=sluice_options(self))
    call self%file%set_text("", "Author", "UNEDF")
    call self%file%define("LENGTHS", sluice_int64, shape=[self%parts])
    do i = 1, self%states
      call self%file%define(vector_name(i), sluice_real32, shape=vector_shape(self))
      call self%file%define(properties_name(i), sluice_real64, shape=[property_count], &
        partial=.true., fill=ieee_value(1.0_real64, ieee_quiet_nan))
      call self%file%set_text(properties_name(i), "columns", "energy, J, T")
    end do
    call self%file%put("LENGTHS", self%elements, start=[self%rank + 1])
  end subroutine

  !> With pieces, the same elements in three dimensions: within a piece, rank, piece.
  function vector_shape(self) result(shape)
    class(hdf5_store), intent(in) :: self
    integer(int64), allocatable :: shape(:)
    if (self%piece == 0) then
      shape = [self%dimension]
    else
      shape = [self%piece, int(self%parts, int64), self%dimension / self%parts / self%piece]
    end if
  end function

  subroutine open_file(self)
    class(hdf5_store), intent(inout) :: self
    call self%file%open(self%path, "r", self%comm, options=sluice_options(self))
    self%reads = .true.
  end subroutine

  subroutine write_vector(self, number, vector)
    class(hdf5_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(in), target, contiguous :: vector(:)
    real(real32), pointer, contiguous :: pieces(:, :, :)
    if (self%piece == 0) then
      call self%file%put(vector_name(number), vector, start=[self%first + 1], in_place=.true.)
    else
      pieces(1:self%piece, 1:1, 1:self%elements / self%piece) => vector
      call self%file%put(vector_name(number), pieces, &
        start=[1_int64, self%rank + 1_int64, 1_int64], in_place=.true.)
    end if
  end subroutine

  subroutine read_vector(self, number, vector)
    class(hdf5_store), intent(inout) :: self
    integer, intent(in) :: number
    real(real32), intent(out), target, contiguous :: vector(:)
    real(real32), pointer, contiguous :: pieces(:, :, :)
    if (self%piece == 0) then
      call self%file%get(vector_name(number), vector, start=[self%first + 1], deferred=.true.)
    else
      pieces(1:self%piece, 1:1, 1:self%elements / self%piece) => vector
      call self%file%get(vector_name(number), pieces, &
        start=[1_int64, self%rank + 1_int64, 1_int64], deferred=.true.)
    end if
  end subroutine

  subroutine close_file(self)
    class(hdf5_store), intent(inout) :: self
    if (self%reads) call self%file%perform_gets()
    self%reads = .false.
    call self%file%close()
  end subroutine
end module sluice_store

! The layout of n (n + 1) / 2 ranks over half of a symmetric matrix of n x n blocks, n odd.
!
! Rank s * n + i (i from 0, s from 0 to (n - 1) / 2) holds the block of row i and column
! mod(i + s, n): as n is odd, each pair of rows meets once, and every row and every column has
! (n + 1) / 2 ranks. The diagonal ranks, s = 0, hold the vectors: rank i the part i.
!
! Invariants: parts are contiguous in the basis and differ by one element at most. A vector goes
! from its diagonal rank along row and column, and sums come back the same way.
module triangle
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  implicit none
  private
  public :: triangle_layout, make_triangle, part_first, part_size

  type :: triangle_layout
    integer :: n = 1
    integer :: row = 0, column = 0 !< of this rank's block, from 0
    logical :: is_diagonal = .true.
    type(MPI_Comm) :: world, in_row, in_column
    type(MPI_Comm) :: diagonal !< MPI_COMM_NULL on the others
    integer(int64) :: dimension = 0
  contains
    procedure :: first => first_of_part
    procedure :: elements => elements_of_part
    procedure :: spread => spread_parts
    procedure :: collect => collect_parts
    procedure :: free
  end type triangle_layout

contains

  !> Error stop where the number of ranks is not n (n + 1) / 2 with n odd. Collective.
  function make_triangle(comm, dimension) result(self)
    type(MPI_Comm), intent(in) :: comm
    integer(int64), intent(in) :: dimension
    type(triangle_layout) :: self
    integer :: rank, ranks, colour
    call MPI_Comm_dup(comm, self%world)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    self%n = nint((sqrt(8.0 * ranks + 1) - 1) / 2)
    if (self%n * (self%n + 1) / 2 /= ranks .or. mod(self%n, 2) == 0) then
      if (rank == 0) print "(a,i0,a)", "mfdn: ", ranks, &
        " ranks are not n (n + 1) / 2 with n odd: use 1, 6, 15, 28, 45, ..."
      call MPI_Barrier(comm)
      error stop 2
    end if
    self%row = mod(rank, self%n)
    self%column = mod(rank / self%n + self%row, self%n)
    self%is_diagonal = rank < self%n
    self%dimension = dimension
    ! The diagonal rank comes first in both.
    call MPI_Comm_split(comm, self%row, rank, self%in_row)
    call MPI_Comm_split(comm, self%column, rank, self%in_column)
    colour = merge(0, MPI_UNDEFINED, self%is_diagonal)
    call MPI_Comm_split(comm, colour, rank, self%diagonal)
  end function

  !> Elements before part `part` (from 0) of `parts`.
  pure integer(int64) function part_first(dimension, parts, part)
    integer(int64), intent(in) :: dimension
    integer, intent(in) :: parts, part
    part_first = dimension / parts * part + min(int(part, int64), mod(dimension, int(parts, int64)))
  end function

  pure integer(int64) function part_size(dimension, parts, part)
    integer(int64), intent(in) :: dimension
    integer, intent(in) :: parts, part
    part_size = part_first(dimension, parts, part + 1) - part_first(dimension, parts, part)
  end function

  pure integer(int64) function first_of_part(self, part)
    class(triangle_layout), intent(in) :: self
    integer, intent(in) :: part
    first_of_part = part_first(self%dimension, self%n, part)
  end function

  pure integer(int64) function elements_of_part(self, part)
    class(triangle_layout), intent(in) :: self
    integer, intent(in) :: part
    elements_of_part = part_size(self%dimension, self%n, part)
  end function

  !> Hands the parts of a vector (on the diagonal ranks) to the ranks of their row and column.
  !> Collective.
  subroutine spread_parts(self, own, of_row, of_column)
    class(triangle_layout), intent(in) :: self
    real(real64), intent(in) :: own(:)          !< diagonal ranks: their part
    real(real64), intent(out) :: of_row(:), of_column(:)
    if (self%is_diagonal) then
      of_row = own
      of_column = own
    end if
    call MPI_Bcast(of_row, size(of_row), MPI_DOUBLE_PRECISION, 0, self%in_row)
    call MPI_Bcast(of_column, size(of_column), MPI_DOUBLE_PRECISION, 0, self%in_column)
  end subroutine

  !> Sums what the ranks have found for their rows and columns into the parts on the diagonal ranks.
  !> Collective.
  subroutine collect_parts(self, of_row, of_column, own)
    class(triangle_layout), intent(in) :: self
    real(real64), intent(in) :: of_row(:), of_column(:)
    real(real64), intent(inout) :: own(:)
    real(real64), allocatable :: sum_of_row(:), sum_of_column(:)
    allocate (sum_of_row(size(of_row)), sum_of_column(size(of_column)))
    call MPI_Reduce(of_row, sum_of_row, size(of_row), MPI_DOUBLE_PRECISION, MPI_SUM, 0, self%in_row)
    call MPI_Reduce(of_column, sum_of_column, size(of_column), MPI_DOUBLE_PRECISION, MPI_SUM, 0, &
      self%in_column)
    if (self%is_diagonal) own = sum_of_row + sum_of_column
  end subroutine

  subroutine free(self)
    class(triangle_layout), intent(inout) :: self
    call MPI_Comm_free(self%in_row)
    call MPI_Comm_free(self%in_column)
    if (self%is_diagonal) call MPI_Comm_free(self%diagonal)
    call MPI_Comm_free(self%world)
  end subroutine
end module triangle

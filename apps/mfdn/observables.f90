! What is measured on a state's vector: energy, J and T, its residual, the overlaps of all; and how
! that gets into the file.
module observables
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use hamiltonian, only: sparse_block, which_h, which_j2, which_t2
  use lanczos, only: apply_operator
  use mpi_f08
  use sluice
  use sluice_store, only: properties_name
  use triangle, only: triangle_layout
  implicit none
  private
  public :: properties_of, residual_of, worst_overlap, put_properties, fill_in_properties

contains

  !> Energy, J and T of one vector (on the diagonal ranks), the same on every rank. Collective.
  function properties_of(layout, block, vector) result(found)
    type(triangle_layout), intent(in) :: layout
    type(sparse_block), intent(in) :: block
    real(real64), intent(in) :: vector(:)
    real(real64) :: found(3), product(size(vector)), sums(4)
    integer :: which
    do which = which_h, which_t2
      call apply_operator(layout, block, which, vector, product)
      sums(which) = dot_product(vector, product)
    end do
    sums(4) = dot_product(vector, vector)
    if (.not. layout%is_diagonal) sums = 0
    call MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE_PRECISION, MPI_SUM, layout%world)
    found(which_h) = sums(which_h) / sums(4)
    found(which_j2) = quantum_number(sums(which_j2) / sums(4))
    found(which_t2) = quantum_number(sums(which_t2) / sums(4))
  end function

  !> j of j (j + 1).
  pure real(real64) function quantum_number(squared)
    real(real64), intent(in) :: squared
    quantum_number = (sqrt(1 + 4 * max(0.0_real64, squared)) - 1) / 2
  end function

  !> Length of H v - E v. Collective.
  real(real64) function residual_of(layout, block, energy, vector) result(length)
    type(triangle_layout), intent(in) :: layout
    type(sparse_block), intent(in) :: block
    real(real64), intent(in) :: energy, vector(:)
    real(real64) :: product(size(vector))
    call apply_operator(layout, block, which_h, vector, product)
    length = sum((product - energy * vector)**2)
    if (.not. layout%is_diagonal) length = 0
    call MPI_Allreduce(MPI_IN_PLACE, length, 1, MPI_DOUBLE_PRECISION, MPI_SUM, layout%world)
    length = sqrt(length)
  end function

  !> How far the overlaps of all pairs are from 0, and of each with itself from 1. Collective.
  real(real64) function worst_overlap(layout, vectors) result(worst)
    type(triangle_layout), intent(in) :: layout
    real(real32), intent(in) :: vectors(:, :)
    real(real64) :: overlaps(size(vectors, 2), size(vectors, 2))
    real(real64) :: wide(size(vectors, 1), size(vectors, 2))
    integer :: i
    wide = vectors
    overlaps = matmul(transpose(wide), wide)
    call MPI_Allreduce(MPI_IN_PLACE, overlaps, size(overlaps), MPI_DOUBLE_PRECISION, MPI_SUM, &
      layout%world)
    do i = 1, size(overlaps, 1)
      overlaps(i, i) = overlaps(i, i) - 1
    end do
    worst = maxval(abs(overlaps))
  end function

  !> Into the places that were reserved; by one rank, before a flush or close of all.
  subroutine put_properties(file, found)
    type(sluice_file), intent(inout) :: file
    real(real64), intent(in) :: found(:, :)
    integer :: i
    do i = 1, size(found, 2)
      call file%put(properties_name(i), found(:, i))
    end do
  end subroutine

  !> Of a file that an earlier job has written. Collective over the diagonal ranks.
  subroutine fill_in_properties(path, layout, found)
    character(len=*), intent(in) :: path
    type(triangle_layout), intent(in) :: layout
    real(real64), intent(in) :: found(:, :)
    type(sluice_file) :: file
    call file%open(path, "a", layout%diagonal)
    if (layout%row == 0) call put_properties(file, found)
    call file%close()
  end subroutine
end module observables

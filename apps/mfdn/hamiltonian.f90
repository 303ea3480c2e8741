! A rank's block of the sparse symmetric matrices: the Hamiltonian, J**2 and T**2, on the pattern of
! pairs of states that two-body operators connect, which is found when the block is made.
!
! Invariants: the elements of a block are in the order of their rows; a diagonal block holds its
! lower half with the diagonal, any other block all of itself; so every pair of states of the whole
! matrix is held once.
module hamiltonian
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use basis, only: many_body_basis
  use operators, only: operator_table
  use triangle, only: triangle_layout
  implicit none
  private
  public :: sparse_block, make_block, which_h, which_j2, which_t2

  integer, parameter :: which_h = 1, which_j2 = 2, which_t2 = 3
  integer, parameter :: most_particles = 64

  type :: sparse_block
    integer(int64) :: rows = 0, columns = 0, elements = 0
    logical :: is_diagonal = .false.
    integer(int64), allocatable :: first(:)   !< by row: its first element; one more at the end
    integer(int32), allocatable :: column(:)  !< within the block, from 1
    real(real64), allocatable :: value(:, :)  !< by operator (which_h, ...), element
  contains
    procedure :: multiply
  end type sparse_block

contains

  !> `three`: by orbit triple, see three_body.f90; empty for none.
  function make_block(states, layout, tables, three) result(block)
    type(many_body_basis), intent(in) :: states
    type(triangle_layout), intent(in) :: layout
    type(operator_table), intent(in) :: tables(3)
    real(real64), intent(in) :: three(:, :, :)
    type(sparse_block) :: block
    integer(int64) :: row, column, last
    integer :: round
    real(real64) :: found(3)
    block%rows = layout%elements(layout%row)
    block%columns = layout%elements(layout%column)
    block%is_diagonal = layout%is_diagonal
    allocate (block%first(block%rows + 1))
    do round = 1, 2 ! the first one counts
      block%elements = 0
      do row = 1, block%rows
        block%first(row) = block%elements + 1
        last = merge(row, block%columns, block%is_diagonal)
        do column = 1, last
          if (.not. connected(states, layout%first(layout%row) + row, &
            layout%first(layout%column) + column)) cycle
          found = elements_between(states, tables, three, layout%first(layout%row) + row, &
            layout%first(layout%column) + column)
          if (all(abs(found) < 1e-12_real64)) cycle
          block%elements = block%elements + 1
          if (round == 1) cycle
          block%column(block%elements) = int(column, int32)
          block%value(:, block%elements) = found
        end do
      end do
      block%first(block%rows + 1) = block%elements + 1
      if (round == 1) allocate (block%column(block%elements), block%value(3, block%elements))
    end do
  end function

  !> Do at most two particles differ?
  pure logical function connected(states, i, k)
    type(many_body_basis), intent(in) :: states
    integer(int64), intent(in) :: i, k
    connected = popcnt(ieor(states%protons(i), states%protons(k))) &
      + popcnt(ieor(states%neutrons(i), states%neutrons(k))) <= 4
  end function

  function elements_between(states, tables, three, i, k) result(found)
    type(many_body_basis), intent(in) :: states
    type(operator_table), intent(in) :: tables(3)
    real(real64), intent(in) :: three(:, :, :)
    integer(int64), intent(in) :: i, k
    real(real64) :: found(3)
    integer :: of_i(most_particles), of_k(most_particles), only_i(2), only_k(2)
    integer :: n, differ, swaps, which
    n = states%particles
    call list_occupied(states, i, of_i)
    call list_occupied(states, k, of_k)
    call compare(of_i(:n), of_k(:n), only_i, only_k, differ, swaps)
    do which = 1, 3
      select case (differ)
      case (0)
        found(which) = diagonal_element(tables(which), of_i(:n))
      case (1)
        found(which) = single_element(tables(which), of_i(:n), only_i(1), only_k(1))
      case default
        found(which) = tables(which)%element(only_i(1), only_i(2), only_k(1), only_k(2))
      end select
    end do
    if (mod(swaps, 2) /= 0) found = -found
    if (differ == 0 .and. size(three) > 0) then
      found(which_h) = found(which_h) + three_body_sum(states, three, of_i(:n))
    end if
  end function

  !> Numbers of the occupied states, in order: protons, then neutrons.
  pure subroutine list_occupied(states, i, occupied)
    type(many_body_basis), intent(in) :: states
    integer(int64), intent(in) :: i
    integer, intent(out) :: occupied(:)
    integer(int64) :: mask
    integer :: kind, n, bit
    n = 0
    do kind = 0, 1
      mask = merge(states%protons(i), states%neutrons(i), kind == 0)
      do while (mask /= 0)
        bit = trailz(mask)
        n = n + 1
        occupied(n) = bit + 1 + kind * states%orbits%states
        mask = ibclr(mask, bit)
      end do
    end do
  end subroutine

  !> What is only in one of two ordered lists that differ in two places at most, and how many
  !> neighbours must change places to bring those to the front of both.
  subroutine compare(a, b, only_a, only_b, differ, swaps)
    integer, intent(in) :: a(:), b(:)
    integer, intent(out) :: only_a(2), only_b(2), differ, swaps
    integer :: i, k, in_a, in_b
    in_a = 0
    in_b = 0
    swaps = 0
    i = 1
    k = 1
    do while (i <= size(a) .or. k <= size(b))
      if (k > size(b)) then
        call note_a()
      else if (i > size(a)) then
        call note_b()
      else if (a(i) < b(k)) then
        call note_a()
      else if (a(i) > b(k)) then
        call note_b()
      else
        i = i + 1
        k = k + 1
      end if
    end do
    differ = in_a
  contains
    subroutine note_a()
      in_a = in_a + 1
      only_a(in_a) = a(i)
      swaps = swaps + i
      i = i + 1
    end subroutine
    subroutine note_b()
      in_b = in_b + 1
      only_b(in_b) = b(k)
      swaps = swaps + k
      k = k + 1
    end subroutine
  end subroutine

  pure real(real64) function diagonal_element(table, occupied) result(value)
    type(operator_table), intent(in) :: table
    integer, intent(in) :: occupied(:)
    integer :: i, k
    value = sum(table%one(occupied))
    do k = 2, size(occupied)
      do i = 1, k - 1
        value = value + table%element(occupied(i), occupied(k), occupied(i), occupied(k))
      end do
    end do
  end function

  !> One particle goes from state c to a, beside all others of `occupied`, which holds a.
  pure real(real64) function single_element(table, occupied, a, c) result(value)
    type(operator_table), intent(in) :: table
    integer, intent(in) :: occupied(:), a, c
    integer :: i, b
    real(real64) :: term
    value = 0
    do i = 1, size(occupied)
      b = occupied(i)
      if (b == a .or. b == c) cycle
      term = table%element(min(a, b), max(a, b), min(c, b), max(c, b))
      value = value + merge(term, -term, (a < b) .eqv. (c < b))
    end do
  end function

  !> The sum over all triples of particles of what their orbits have together.
  pure real(real64) function three_body_sum(states, three, occupied) result(value)
    type(many_body_basis), intent(in) :: states
    real(real64), intent(in) :: three(:, :, :)
    integer, intent(in) :: occupied(:)
    integer :: orbit(size(occupied)), i, k, m, own
    do i = 1, size(occupied)
      own = occupied(i)
      if (own > states%orbits%states) own = own - states%orbits%states
      orbit(i) = states%orbits%orbit(own)
    end do
    value = 0
    do m = 3, size(occupied)
      do k = 2, m - 1
        do i = 1, k - 1
          value = value + three(orbit(i), orbit(k), orbit(m))
        end do
      end do
    end do
  end function

  !> What the block adds to rows and columns of a product with the symmetric matrix.
  subroutine multiply(self, which, of_row, of_column, into_row, into_column)
    class(sparse_block), intent(in) :: self
    integer, intent(in) :: which
    real(real64), intent(in) :: of_row(:), of_column(:)
    real(real64), intent(out) :: into_row(:), into_column(:)
    integer(int64) :: row, e
    integer :: column
    real(real64) :: total
    into_row = 0
    into_column = 0
    do row = 1, self%rows
      total = 0
      do e = self%first(row), self%first(row + 1) - 1
        column = self%column(e)
        total = total + self%value(which, e) * of_column(column)
        if (.not. self%is_diagonal .or. column /= row) then
          into_column(column) = into_column(column) + self%value(which, e) * of_row(row)
        end if
      end do
      into_row(row) = into_row(row) + total
    end do
  end subroutine
end module hamiltonian

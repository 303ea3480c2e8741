! Operators of one and two particles that know neither direction nor isospin: a sum over orbits, and
! matrix elements between pairs coupled to J and T. Hamiltonian, J**2 and T**2 are of this kind, so
! eigenvectors have good J and T, which tests can tell.
!
! Invariant: pairs a < b of states (orbits.f90) are in groups of equal M, T projection and parity;
! between groups every element is zero.
module operators
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use orbits, only: orbit_set, clebsch_gordan
  implicit none
  private
  public :: interaction, operator_table, make_operator, kind_hamiltonian, kind_j_squared, &
    kind_t_squared

  integer, parameter :: kind_hamiltonian = 1, kind_j_squared = 2, kind_t_squared = 3

  !> What the Hamiltonian is made of.
  type :: interaction
    real(real64) :: oscillator_mev = 20
    real(real64) :: strength_mev = 2
    integer :: seed = 1
  end type interaction

  type :: operator_table
    integer :: states = 0                          !< protons and neutrons
    real(real64), allocatable :: one(:)            !< by state: diagonal
    integer, allocatable :: group(:, :), place(:, :) !< of the pair (a, b), a < b
    integer(int64), allocatable :: first(:)        !< by group: before its first element
    integer, allocatable :: width(:)               !< by group: pairs in it
    real(real64), allocatable :: two(:)            !< the groups' square matrices, one by one
  contains
    procedure :: element => two_body_element
  end type operator_table

contains

  function make_operator(orbits, which, what) result(table)
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: which
    type(interaction), intent(in) :: what
    type(operator_table) :: table
    integer :: s, orbit
    table%states = 2 * orbits%states
    allocate (table%one(table%states))
    do s = 1, table%states
      orbit = orbits%orbit(own(s, orbits%states))
      select case (which)
      case (kind_hamiltonian)
        table%one(s) = what%oscillator_mev * (2 * orbits%n(orbit) + orbits%l(orbit) + 1.5_real64) &
          - 0.1_real64 * what%oscillator_mev * spin_orbit(orbits, orbit)
      case (kind_j_squared)
        table%one(s) = orbits%j2(orbit) * (orbits%j2(orbit) + 2) / 4.0_real64
      case default
        table%one(s) = 0.75_real64
      end select
    end do
    call group_pairs(table, orbits)
    call fill_groups(table, orbits, which, what)
  end function

  !> The state's number within its kind of particle.
  pure integer function own(state, states)
    integer, intent(in) :: state, states
    own = merge(state, state - states, state <= states)
  end function

  !> 2 l.s of an orbit.
  pure real(real64) function spin_orbit(orbits, orbit)
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: orbit
    spin_orbit = orbits%j2(orbit) * (orbits%j2(orbit) + 2) / 4.0_real64 &
      - orbits%l(orbit) * (orbits%l(orbit) + 1) - 0.75_real64
  end function

  !> 1: proton, -1: neutron.
  pure integer function isospin2(state, states)
    integer, intent(in) :: state, states
    isospin2 = merge(1, -1, state <= states)
  end function

  subroutine group_pairs(table, orbits)
    type(operator_table), intent(inout) :: table
    type(orbit_set), intent(in) :: orbits
    integer :: a, b, m2, most_m2, key, groups
    integer(int64) :: elements
    most_m2 = 2 * maxval(orbits%j2)
    groups = (most_m2 + 1) * 6
    allocate (table%group(table%states, table%states), table%place(table%states, table%states))
    allocate (table%width(groups), source=0)
    allocate (table%first(groups))
    do b = 2, table%states
      do a = 1, b - 1
        m2 = orbits%m2(own(a, orbits%states)) + orbits%m2(own(b, orbits%states))
        key = 1 + (m2 + most_m2) / 2 &
          + (most_m2 + 1) * ((isospin2(a, orbits%states) + isospin2(b, orbits%states)) / 2 + 1) &
          + 3 * (most_m2 + 1) * mod(orbits%quanta(own(a, orbits%states)) &
          + orbits%quanta(own(b, orbits%states)), 2)
        table%width(key) = table%width(key) + 1
        table%group(a, b) = key
        table%place(a, b) = table%width(key)
      end do
    end do
    elements = 0
    do key = 1, groups
      table%first(key) = elements
      elements = elements + int(table%width(key), int64)**2
    end do
    allocate (table%two(elements), source=0.0_real64)
  end subroutine

  !> Sums over J and T what the pairs (a, b) and (c, d) have of each.
  subroutine fill_groups(table, orbits, which, what)
    type(operator_table), intent(inout) :: table
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: which
    type(interaction), intent(in) :: what
    real(real64), allocatable :: coupling(:, :, :) !< J, T, place in its group
    integer, allocatable :: pair(:, :)
    integer :: key, a, b, i, k, j, t, most_j
    real(real64) :: total
    most_j = maxval(orbits%j2)
    do key = 1, size(table%width)
      if (table%width(key) == 0) cycle
      allocate (coupling(0:most_j, 0:1, table%width(key)), pair(2, table%width(key)))
      do b = 2, table%states
        do a = 1, b - 1
          if (table%group(a, b) /= key) cycle
          i = table%place(a, b)
          call couple(orbits, a, b, coupling(:, :, i), pair(:, i))
        end do
      end do
      do k = 1, table%width(key)
        do i = 1, table%width(key)
          total = 0
          do t = 0, 1
            do j = 0, most_j
              if (coupling(j, t, i) == 0 .or. coupling(j, t, k) == 0) cycle
              total = total + coupling(j, t, i) * coupling(j, t, k) &
                * coupled_element(orbits, which, what, pair(:, i), pair(:, k), j, t)
            end do
          end do
          table%two(table%first(key) + (k - 1) * table%width(key) + i) = total
        end do
      end do
      deallocate (coupling, pair)
    end do
  end subroutine

  !> How much of (J, T) two particles in the states a and b have; `pair`: their orbits in order.
  subroutine couple(orbits, a, b, coupling, pair)
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: a, b
    real(real64), intent(out) :: coupling(0:, 0:)
    integer, intent(out) :: pair(2)
    integer :: first, second, s1, s2, o1, o2, j, t
    real(real64) :: sign
    first = a
    second = b
    sign = 1
    if (orbits%orbit(own(a, orbits%states)) > orbits%orbit(own(b, orbits%states))) then
      first = b
      second = a
      sign = -1
    end if
    s1 = own(first, orbits%states)
    s2 = own(second, orbits%states)
    o1 = orbits%orbit(s1)
    o2 = orbits%orbit(s2)
    pair = [o1, o2]
    coupling = 0
    do t = 0, 1
      do j = 0, ubound(coupling, 1)
        if (o1 == o2 .and. mod(j + t, 2) == 0) cycle ! not antisymmetric
        coupling(j, t) = sign * merge(sqrt(2.0_real64), 1.0_real64, o1 == o2) &
          * clebsch_gordan(orbits%j2(o1), orbits%m2(s1), orbits%j2(o2), orbits%m2(s2), 2 * j, &
          orbits%m2(s1) + orbits%m2(s2)) &
          * clebsch_gordan(1, isospin2(first, orbits%states), 1, isospin2(second, orbits%states), &
          2 * t, isospin2(first, orbits%states) + isospin2(second, orbits%states))
      end do
    end do
  end subroutine

  !> Between normalised pairs of orbits, coupled to J and T.
  real(real64) function coupled_element(orbits, which, what, p, q, j, t) result(value)
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: which, p(2), q(2), j, t
    type(interaction), intent(in) :: what
    integer :: lower, upper
    value = 0
    select case (which)
    case (kind_hamiltonian)
      lower = min(p(1) * 1000 + p(2), q(1) * 1000 + q(2))
      upper = max(p(1) * 1000 + p(2), q(1) * 1000 + q(2))
      value = what%strength_mev * (2 * chance(what%seed, lower, upper, 2 * j + t) - 1)
      if (lower == upper) value = value - what%strength_mev
    case (kind_j_squared)
      if (all(p == q)) value = j * (j + 1) - one_j_squared(orbits, p(1)) &
        - one_j_squared(orbits, p(2))
    case default
      if (all(p == q)) value = t * (t + 1) - 1.5_real64
    end select
  end function

  pure real(real64) function one_j_squared(orbits, orbit)
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: orbit
    one_j_squared = orbits%j2(orbit) * (orbits%j2(orbit) + 2) / 4.0_real64
  end function

  !> A number of [0, 1) that depends on nothing but the arguments: Park and Miller's generator,
  !> whose products stay within 64 bits.
  pure real(real64) function chance(seed, a, b, c)
    integer, intent(in) :: seed, a, b, c
    integer(int64), parameter :: modulus = 2147483647_int64, factor = 48271
    integer(int64) :: state
    integer :: i, parts(4)
    parts = [seed, a, b, c]
    state = 12345
    do i = 1, 4
      state = mod(state * factor + parts(i) + 1, modulus)
      state = mod(state * factor, modulus)
      state = mod(state * factor + 1, modulus)
    end do
    chance = real(state, real64) / modulus
  end function

  !> <ab| V |cd>, antisymmetric, a < b and c < d.
  pure real(real64) function two_body_element(self, a, b, c, d) result(value)
    class(operator_table), intent(in) :: self
    integer, intent(in) :: a, b, c, d
    integer :: key
    value = 0
    key = self%group(a, b)
    if (key /= self%group(c, d)) return
    value = self%two(self%first(key) + (self%place(c, d) - 1) * int(self%width(key), int64) &
      + self%place(a, b))
  end function
end module operators

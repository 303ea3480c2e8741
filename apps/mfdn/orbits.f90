! Single-particle states of the harmonic oscillator, and how two of them couple to J and T.
!
! An orbit is (n, l, j) with N = 2n + l quanta; a state of it has a projection m, and a particle in
! it is a proton or a neutron. Angular momenta are kept doubled, so that all are integers.
!
! Invariants: states are numbered by orbit, then by m; protons take the numbers 1 to `states`,
! neutrons those after. The convention of couplings is that of the Clebsch-Gordan coefficients
! <j1 m1 j2 m2 | J M> of Condon and Shortley.
module orbits
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: orbit_set, make_orbits, clebsch_gordan, most_states

  !> Of one kind of particle: a configuration is a mask of one 64-bit integer.
  integer, parameter :: most_states = 62

  type :: orbit_set
    integer :: orbits = 0
    integer :: states = 0                     !< of one kind of particle
    integer, allocatable :: n(:), l(:), j2(:) !< by orbit; j2 = 2j
    integer, allocatable :: orbit(:), m2(:)   !< by state; m2 = 2m
  contains
    procedure :: quanta => quanta_of_state
  end type orbit_set

contains

  !> All orbits of at most `most_quanta` quanta, by quanta, then l, then j, the larger j first.
  function make_orbits(most_quanta) result(set)
    integer, intent(in) :: most_quanta
    type(orbit_set) :: set
    integer :: quanta, l, j2, m2, round, orbits, states
    do round = 1, 2 ! the first one counts
      orbits = 0
      states = 0
      do quanta = 0, most_quanta
        do l = mod(quanta, 2), quanta, 2
          do j2 = 2 * l + 1, max(1, 2 * l - 1), -2
            orbits = orbits + 1
            if (round == 2) then
              set%n(orbits) = (quanta - l) / 2
              set%l(orbits) = l
              set%j2(orbits) = j2
            end if
            do m2 = -j2, j2, 2
              states = states + 1
              if (round == 2) then
                set%orbit(states) = orbits
                set%m2(states) = m2
              end if
            end do
          end do
        end do
      end do
      if (round == 1) then
        allocate (set%n(orbits), set%l(orbits), set%j2(orbits), set%orbit(states), set%m2(states))
      end if
    end do
    set%orbits = orbits
    set%states = states
  end function

  pure integer function quanta_of_state(self, state)
    class(orbit_set), intent(in) :: self
    integer, intent(in) :: state
    quanta_of_state = 2 * self%n(self%orbit(state)) + self%l(self%orbit(state))
  end function

  !> <j1 m1 j2 m2 | j m>, all arguments doubled, by Racah's sum.
  pure real(real64) function clebsch_gordan(j1, m1, j2, m2, j, m) result(value)
    integer, intent(in) :: j1, m1, j2, m2, j, m
    integer :: k, first, last
    real(real64) :: term
    value = 0
    if (m1 + m2 /= m .or. j < abs(j1 - j2) .or. j > j1 + j2 .or. mod(j1 + j2 + j, 2) /= 0) return
    if (abs(m1) > j1 .or. abs(m2) > j2 .or. abs(m) > j) return
    first = max(0, (j2 - j - m1) / 2, (j1 - j + m2) / 2)
    last = min((j1 + j2 - j) / 2, (j1 - m1) / 2, (j2 + m2) / 2)
    do k = first, last
      term = 1 / (f(2 * k) * f(j1 + j2 - j - 2 * k) * f(j1 - m1 - 2 * k) * f(j2 + m2 - 2 * k) &
        * f(j - j2 + m1 + 2 * k) * f(j - j1 - m2 + 2 * k))
      value = value + merge(term, -term, mod(k, 2) == 0)
    end do
    value = value * sqrt((j + 1) * f(j1 + j2 - j) * f(j1 - j2 + j) * f(j2 - j1 + j) &
      / f(j1 + j2 + j + 2)) &
      * sqrt(f(j + m) * f(j - m) * f(j1 - m1) * f(j1 + m1) * f(j2 - m2) * f(j2 + m2))
  contains
    !> The factorial of half of an even number.
    pure real(real64) function f(doubled)
      integer, intent(in) :: doubled
      f = gamma(real(doubled / 2 + 1, real64))
    end function
  end function
end module orbits

! The many-body basis: Slater determinants of protons and neutrons with a given projection M, the
! parity of the lowest configuration, and at most Nmax quanta above it.
!
! Invariants: a state is two masks, bit s - 1 for single-particle state s. Every rank makes the same
! list in the same order, whatever the number of ranks; so a file that was written by some ranks can
! be read by any other number.
module basis
  use, intrinsic :: iso_fortran_env, only: int64
  use orbits, only: orbit_set, make_orbits, most_states
  implicit none
  private
  public :: nucleus, many_body_basis, make_basis

  type :: nucleus
    integer :: protons = 0
    integer :: neutrons = 0
    integer :: nmax = 0
    integer :: shells = -1 !< most quanta of a single particle; -1: as many as nmax allows
  end type nucleus

  type :: many_body_basis
    type(orbit_set) :: orbits
    integer :: particles = 0
    integer :: m2 = 0                                  !< doubled projection of every state
    integer(int64) :: dimension = 0
    integer(int64), allocatable :: protons(:), neutrons(:) !< masks of the states
  end type many_body_basis

  !> Ways to put particles of one kind into states.
  type :: configurations
    integer :: count = 0
    integer(int64), allocatable :: mask(:)
    integer, allocatable :: quanta(:), m2(:)
  end type configurations

contains

  !> Error stop where a kind of particle has more single-particle states than a mask has bits.
  function make_basis(what) result(basis)
    type(nucleus), intent(in) :: what
    type(many_body_basis) :: basis
    type(configurations) :: p, n
    integer :: shells, lowest
    basis%particles = what%protons + what%neutrons
    basis%m2 = mod(basis%particles, 2)
    shells = what%shells
    if (shells < 0) shells = highest_shell(max(what%protons, what%neutrons)) + what%nmax
    basis%orbits = make_orbits(shells)
    if (basis%orbits%states > most_states) then
      error stop "mfdn: too many single-particle states for a mask: use --shells 3 or fewer"
    end if
    p = configure(basis%orbits, what%protons, lowest_quanta(what%protons) + what%nmax)
    n = configure(basis%orbits, what%neutrons, lowest_quanta(what%neutrons) + what%nmax)
    lowest = lowest_quanta(what%protons) + lowest_quanta(what%neutrons)
    basis%dimension = combine(basis, p, n, lowest, lowest + what%nmax, .false.)
    allocate (basis%protons(basis%dimension), basis%neutrons(basis%dimension))
    basis%dimension = combine(basis, p, n, lowest, lowest + what%nmax, .true.)
  end function

  !> Quanta of the highest shell that so many particles of one kind fill or begin.
  pure integer function highest_shell(particles)
    integer, intent(in) :: particles
    integer :: left
    highest_shell = 0
    left = particles
    do while (left > (highest_shell + 1) * (highest_shell + 2))
      left = left - (highest_shell + 1) * (highest_shell + 2)
      highest_shell = highest_shell + 1
    end do
  end function

  pure integer function lowest_quanta(particles)
    integer, intent(in) :: particles
    integer :: left, shell, here
    lowest_quanta = 0
    left = particles
    shell = 0
    do while (left > 0)
      here = min(left, (shell + 1) * (shell + 2))
      lowest_quanta = lowest_quanta + here * shell
      left = left - here
      shell = shell + 1
    end do
  end function

  function configure(orbits, particles, most_quanta) result(found)
    type(orbit_set), intent(in) :: orbits
    integer, intent(in) :: particles, most_quanta
    type(configurations) :: found
    integer :: round
    do round = 1, 2 ! the first one counts
      found%count = 0
      call add(1, particles, 0_int64, 0, 0)
      if (round == 1) then
        allocate (found%mask(found%count), found%quanta(found%count), found%m2(found%count))
      end if
    end do
  contains
    recursive subroutine add(from, left, mask, quanta, m2)
      integer, intent(in) :: from, left, quanta, m2
      integer(int64), intent(in) :: mask
      integer :: s
      if (left == 0) then
        found%count = found%count + 1
        if (round == 1) return
        found%mask(found%count) = mask
        found%quanta(found%count) = quanta
        found%m2(found%count) = m2
        return
      end if
      do s = from, orbits%states - left + 1
        ! States are in the order of their quanta: those that follow have no fewer.
        if (quanta + left * orbits%quanta(s) > most_quanta) exit
        call add(s + 1, left - 1, ibset(mask, s - 1), quanta + orbits%quanta(s), &
          m2 + orbits%m2(s))
      end do
    end subroutine
  end function

  !> Counts the allowed pairs, and keeps them where asked to.
  integer(int64) function combine(basis, p, n, lowest, highest, keep) result(count)
    type(many_body_basis), intent(inout) :: basis
    type(configurations), intent(in) :: p, n
    integer, intent(in) :: lowest, highest
    logical, intent(in) :: keep
    integer :: i, k, quanta
    count = 0
    do i = 1, p%count
      do k = 1, n%count
        quanta = p%quanta(i) + n%quanta(k)
        if (quanta > highest .or. mod(quanta - lowest, 2) /= 0) cycle
        if (p%m2(i) + n%m2(k) /= basis%m2) cycle
        count = count + 1
        if (.not. keep) cycle
        basis%protons(count) = p%mask(i)
        basis%neutrons(count) = n%mask(k)
      end do
    end do
  end function
end module basis

! The particles of one rank: whole molecules, so that bonds and angles need nothing of other ranks.
!
! Invariants: molecule m of the part has the particles first(m) to first(m + 1) - 1, whose ids
! follow one another; partners are ids of particles of the same molecule, 0 where there is none; ids
! are counted from 1 over all ranks. Positions are not folded into the box.
module particles
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: particle_part, make_part, most_partners, part_begin, folded, six_decimals

  !> Particles that one particle may be bonded to.
  integer, parameter :: most_partners = 4

  type :: particle_part
    integer :: molecules = 0
    integer :: particles = 0
    real(real64) :: box_nm(3) = 0
    integer, allocatable :: molecule(:) !< its number over all ranks, from 1
    integer, allocatable :: first(:)
    integer, allocatable :: id(:)
    integer, allocatable :: type(:)
    integer, allocatable :: partners(:, :)
    real(real64), allocatable :: x_nm(:, :)
    real(real64), allocatable :: v_nm_ps(:, :)
  end type particle_part

contains

  !> Room for so many; positions and velocities are 0, partners none.
  pure function make_part(molecules, particles, box_nm) result(part)
    integer, intent(in) :: molecules, particles
    real(real64), intent(in) :: box_nm(3)
    type(particle_part) :: part
    part%molecules = molecules
    part%particles = particles
    part%box_nm = box_nm
    allocate (part%molecule(molecules), part%first(molecules + 1), source=1)
    allocate (part%id(particles), part%type(particles), source=1)
    allocate (part%partners(most_partners, particles), source=0)
    allocate (part%x_nm(3, particles), part%v_nm_ps(3, particles), source=0.0_real64)
  end function

  !> The first of `all` things that share `share` of `shares` has; both counted from 1.
  pure integer function part_begin(all, share, shares)
    use, intrinsic :: iso_fortran_env, only: int64
    integer, intent(in) :: all, share, shares
    part_begin = int(int(all, int64) * (share - 1) / shares) + 1
  end function

  !> A position in the box.
  pure function folded(x_nm, box_nm)
    real(real64), intent(in) :: x_nm(3), box_nm(3)
    real(real64) :: folded(3)
    folded = x_nm - box_nm * floor(x_nm / box_nm)
  end function

  !> The number that f12.6 and reading it give back, so that text and binary input are the same.
  elemental real(real64) function six_decimals(value)
    real(real64), intent(in) :: value
    six_decimals = anint(value * 1.0e6_real64) / 1.0e6_real64
  end function
end module particles

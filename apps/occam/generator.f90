! Surfactant and water of any size: twelve types of particles in three types of molecules. A block
! has 400 particles: four surfactants of ten (types 1 to 6), two polymers of twenty (types 7 to 11)
! and 320 of water (type 12). Everything of a particle follows from the seed and its id, so that the
! system is the same on any number of parts.
module generator
  use, intrinsic :: iso_fortran_env, only: real64
  use noise
  use parameters
  use particles
  implicit none
  private
  public :: surfactant_model, make_surfactant, block_molecules, block_particles

  integer, parameter :: block_particles = 400
  integer, parameter :: block_molecules = 326
  integer, parameter :: chains = 6
  integer, parameter :: chain_length(chains) = [10, 10, 10, 10, 20, 20]
  integer, parameter :: surfactant(10) = [1, 2, 2, 2, 2, 3, 4, 5, 5, 6]
  integer, parameter :: polymer(20) = &
    [7, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 9, 9, 9, 9, 8, 8, 8, 11]
  integer, parameter :: water = 12
  !> The types that keep from the others.
  integer, parameter :: oily(5) = [1, 2, 3, 9, 10]
  real(real64), parameter :: density_nm3 = 8.33_real64
  real(real64), parameter :: bond_nm = 0.45_real64

contains

  function surfactant_model(blocks) result(model)
    integer, intent(in) :: blocks
    type(model_parameters) :: model
    integer :: a, b, rule
    model%types = water
    model%name(:water) = [character(len=8) :: "T1", "T2", "T3", "H1", "H2", "H3", "P1", "P2", &
      "P3", "P4", "P5", "W"]
    model%density_nm3 = density_nm3
    model%mesh = max(4, nint(box_of(blocks) / 0.6_real64))
    rule = 0
    do a = 1, size(oily)
      do b = 1, water
        if (any(oily == b)) cycle
        rule = rule + 1
        model%chi_types(:, rule) = [oily(a), b]
        model%chi_kj_mol(rule) = merge(30.0_real64, 15.0_real64, b == water)
      end do
    end do
    model%bond_nm(1) = bond_nm
    model%bond_kj_mol_nm2(1) = 1250
    model%angle_kj_mol(1) = 25
  end function

  pure function box_of(blocks) result(box_nm)
    integer, intent(in) :: blocks
    real(real64) :: box_nm(3)
    box_nm = six_decimals((block_particles * real(blocks, real64) / density_nm3)**(1 / 3.0_real64))
  end function

  !> Part `number` of `parts`: whole blocks.
  function make_surfactant(blocks, number, parts, seed, temperature_k) result(part)
    integer, intent(in) :: blocks, number, parts, seed
    real(real64), intent(in) :: temperature_k
    type(particle_part) :: part
    integer :: first, last, b
    first = part_begin(blocks, number, parts)
    last = part_begin(blocks, number + 1, parts) - 1
    part = make_part((last - first + 1) * block_molecules, (last - first + 1) * block_particles, &
      box_of(blocks))
    do b = first, last
      call add_block(part, b, b - first, seed, temperature_k)
    end do
  end function

  subroutine add_block(part, number, before, seed, temperature_k)
    type(particle_part), intent(inout) :: part
    integer, intent(in) :: number !< of the block, from 1
    integer, intent(in) :: before !< blocks of the part before this one
    integer, intent(in) :: seed
    real(real64), intent(in) :: temperature_k
    integer :: i, m, p, length
    m = before * block_molecules
    p = before * block_particles
    do i = 1, block_molecules
      length = 1
      if (i <= chains) length = chain_length(i)
      m = m + 1
      part%molecule(m) = (number - 1) * block_molecules + i
      part%first(m) = p + 1
      part%first(m + 1) = p + length + 1
      call add_chain(part, p + 1, length, &
        (number - 1) * block_particles + p - before * block_particles, seed, temperature_k)
      p = p + length
    end do
  end subroutine

  subroutine add_chain(part, first, length, ids_before, seed, temperature_k)
    type(particle_part), intent(inout) :: part
    integer, intent(in) :: first, length, ids_before, seed
    real(real64), intent(in) :: temperature_k
    real(real64), parameter :: mass_g_mol = 72
    real(real64) :: direction(3)
    integer :: j, p, id, d
    do j = 1, length
      p = first + j - 1
      id = ids_before + j
      part%id(p) = id
      part%type(p) = water
      if (length == size(surfactant)) part%type(p) = surfactant(j)
      if (length == size(polymer)) part%type(p) = polymer(j)
      if (j > 1) part%partners(1, p) = id - 1
      if (j < length) part%partners(merge(2, 1, j > 1), p) = id + 1
      if (j == 1) then
        part%x_nm(:, p) = part%box_nm * [(uniform(seed, 0, id, d), d=1, 3)]
      else
        direction = normal(seed, 1, id, 1)
        direction(1) = direction(1) + 2 ! chains that are not coiled at the start
        part%x_nm(:, p) = part%x_nm(:, p - 1) + bond_nm * direction / norm2(direction)
      end if
      part%v_nm_ps(:, p) = sqrt(boltzmann_kj_mol_k * temperature_k / mass_g_mol) * &
        normal(seed, 2, id, 1)
    end do
    associate (last => first + length - 1)
      part%x_nm(:, first:last) = six_decimals(part%x_nm(:, first:last))
      part%v_nm_ps(:, first:last) = six_decimals(part%v_nm_ps(:, first:last))
    end associate
  end subroutine
end module generator

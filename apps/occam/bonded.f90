! Bonds and angles within the molecules of a part: harmonic in the length and in the angle.
module bonded
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use parameters, only: model_parameters, find_bond, find_angle
  use particles, only: particle_part, most_partners
  implicit none
  private
  public :: bonded_terms, make_bonded

  real(real64), parameter :: pi = acos(-1.0_real64)

  type :: bonded_terms
    integer :: bonds = 0
    integer :: angles = 0
    integer, allocatable :: bond(:, :)  !< two particles, and the rule
    integer, allocatable :: angle(:, :) !< three particles, the second in the middle, and the rule
    real(real64) :: bond_kj_mol = 0     !< energies at the last call
    real(real64) :: angle_kj_mol = 0
  contains
    procedure :: add_forces
  end type bonded_terms

contains

  !> From the partners of the particles; error stop where a bond has no rule.
  function make_bonded(model, part) result(terms)
    type(model_parameters), intent(in) :: model
    type(particle_part), intent(in) :: part
    type(bonded_terms) :: terms
    integer :: m, p, i, j, a, c, rule
    allocate (terms%bond(3, part%particles * most_partners / 2 + 1))
    allocate (terms%angle(4, part%particles * most_partners * (most_partners - 1) / 2 + 1))
    do m = 1, part%molecules
      do p = part%first(m), part%first(m + 1) - 1
        do i = 1, most_partners
          a = index_of(part, m, part%partners(i, p))
          if (a == 0) cycle
          if (p < a) then
            rule = find_bond(model, part%type(p), part%type(a))
            if (rule == 0) call refuse(part%id(p), part%id(a))
            terms%bonds = terms%bonds + 1
            terms%bond(:, terms%bonds) = [p, a, rule]
          end if
          do j = i + 1, most_partners
            c = index_of(part, m, part%partners(j, p))
            if (c == 0) cycle
            rule = find_angle(model, part%type(a), part%type(p), part%type(c))
            if (rule == 0) cycle
            terms%angles = terms%angles + 1
            terms%angle(:, terms%angles) = [a, p, c, rule]
          end do
        end do
      end do
    end do
  end function

  !> Where in the part the particle `id` of molecule m is; ids of a molecule follow one another.
  integer function index_of(part, m, id)
    type(particle_part), intent(in) :: part
    integer, intent(in) :: m, id
    index_of = 0
    if (id == 0) return
    index_of = part%first(m) + id - part%id(part%first(m))
    if (index_of < part%first(m) .or. index_of >= part%first(m + 1)) then
      write (error_unit, "(2(a,i0))") "occam: molecule ", part%molecule(m), &
        ": a particle is bonded to one of another molecule: ", id
      error stop 2
    end if
  end function

  subroutine refuse(a, b)
    integer, intent(in) :: a, b
    write (error_unit, "(2(a,i0),a)") "occam: no rule for the bond of the particles ", a, " and ", &
      b, ": see bond_types"
    error stop 2
  end subroutine

  !> Adds to every particle's force, and sets the energies.
  subroutine add_forces(self, model, part, force)
    class(bonded_terms), intent(inout) :: self
    type(model_parameters), intent(in) :: model
    type(particle_part), intent(in) :: part
    real(real64), intent(inout) :: force(:, :) !< kJ/mol/nm, (3, particle)
    call add_bonds(self, model, part, force)
    call add_angles(self, model, part, force)
  end subroutine

  pure function apart(part, a, b)
    type(particle_part), intent(in) :: part
    integer, intent(in) :: a, b
    real(real64) :: apart(3)
    apart = part%x_nm(:, b) - part%x_nm(:, a)
    apart = apart - part%box_nm * anint(apart / part%box_nm)
  end function

  subroutine add_bonds(self, model, part, force)
    class(bonded_terms), intent(inout) :: self
    type(model_parameters), intent(in) :: model
    type(particle_part), intent(in) :: part
    real(real64), intent(inout) :: force(:, :)
    real(real64) :: r(3), length, stretch, along(3)
    integer :: i
    self%bond_kj_mol = 0
    do i = 1, self%bonds
      associate (a => self%bond(1, i), b => self%bond(2, i), rule => self%bond(3, i))
        r = apart(part, a, b)
        length = norm2(r)
        stretch = length - model%bond_nm(rule)
        self%bond_kj_mol = self%bond_kj_mol + model%bond_kj_mol_nm2(rule) * stretch**2 / 2
        along = model%bond_kj_mol_nm2(rule) * stretch / max(length, 1.0e-12_real64) * r
        force(:, a) = force(:, a) + along
        force(:, b) = force(:, b) - along
      end associate
    end do
  end subroutine

  subroutine add_angles(self, model, part, force)
    class(bonded_terms), intent(inout) :: self
    type(model_parameters), intent(in) :: model
    type(particle_part), intent(in) :: part
    real(real64), intent(inout) :: force(:, :)
    real(real64) :: u(3), w(3), lu, lw, cosine, sine, bend, strength, on_a(3), on_c(3)
    integer :: i
    self%angle_kj_mol = 0
    do i = 1, self%angles
      associate (a => self%angle(1, i), b => self%angle(2, i), c => self%angle(3, i), &
          rule => self%angle(4, i))
        u = apart(part, b, a)
        w = apart(part, b, c)
        lu = max(norm2(u), 1.0e-12_real64)
        lw = max(norm2(w), 1.0e-12_real64)
        u = u / lu
        w = w / lw
        cosine = max(-1.0_real64, min(1.0_real64, dot_product(u, w)))
        ! Where the three are in a line the directions below vanish with the sine.
        sine = max(sqrt(1 - cosine**2), 1.0e-8_real64)
        bend = acos(cosine) - model%angle_degrees(rule) * pi / 180
        self%angle_kj_mol = self%angle_kj_mol + model%angle_kj_mol(rule) * bend**2 / 2
        strength = model%angle_kj_mol(rule) * bend / sine
        on_a = strength * (w - cosine * u) / lu
        on_c = strength * (u - cosine * w) / lw
        force(:, a) = force(:, a) + on_a
        force(:, c) = force(:, c) + on_c
        force(:, b) = force(:, b) - on_a - on_c
      end associate
    end do
  end subroutine
end module bonded

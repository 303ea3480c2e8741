! Velocity Verlet, with the density renewed every so many steps; collisions with a heat bath
! (Andersen) at the same steps, where wanted.
module integrator
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use bonded, only: bonded_terms, make_bonded
  use mesh, only: field_mesh, make_mesh
  use mpi_f08
  use noise, only: normal, uniform
  use parameters
  use particles, only: folded, particle_part
  implicit none
  private
  public :: simulation, make_simulation, run_totals, particle_view

  !> Of all ranks' particles; the energies in kJ/mol.
  type :: run_totals
    real(real64) :: kinetic = 0
    real(real64) :: bonds = 0
    real(real64) :: angles = 0
    real(real64) :: field = 0
    real(real64) :: temperature_k = 0
    real(real64) :: momentum(3) = 0 !< g/mol nm/ps
  contains
    procedure :: potential
    procedure :: energy
  end type run_totals

  !> What files show of a rank's particles.
  type :: particle_view
    real(real32), allocatable :: x_nm(:, :)   !< (3, particle), folded into the box
    real(real64), allocatable :: w_kj_mol(:)  !< of the field, at each; depends on its type
  end type particle_view

  type :: simulation
    type(run_parameters) :: run
    type(model_parameters) :: model
    type(MPI_Comm) :: comm
    type(particle_part) :: part
    type(field_mesh) :: mesh
    real(real64) :: all_particles = 0  !< of all ranks
    type(bonded_terms) :: terms
    real(real64), allocatable :: force(:, :) !< kJ/mol/nm, (3, particle)
    integer :: step = 0
  contains
    procedure :: advance
    procedure :: renews_density
    procedure :: renew
    procedure :: kinetic_kj_mol
    procedure :: momentum
    procedure :: field_share_kj_mol
    procedure :: totals
    procedure :: observed_particles
  end type simulation

contains

  !> Collective over comm. The momentum of all particles is made zero.
  function make_simulation(run, model, part, comm) result(self)
    type(run_parameters), intent(in) :: run
    type(model_parameters), intent(in) :: model
    type(particle_part), intent(in) :: part
    type(MPI_Comm), intent(in) :: comm
    type(simulation) :: self
    self%run = run
    self%model = model
    self%comm = comm
    self%part = part
    self%mesh = make_mesh(model, part, comm)
    self%terms = make_bonded(model, part)
    allocate (self%force(3, part%particles))
    call MPI_Allreduce(real(part%particles, real64), self%all_particles, 1, MPI_DOUBLE_PRECISION, &
      MPI_SUM, comm)
    call stop_drift(self)
    call self%renew()
  end function

  !> Density and forces of the positions as they are. Collective.
  subroutine renew(self)
    class(simulation), intent(inout) :: self
    call self%mesh%update(self%part, self%comm)
    call find_forces(self)
  end subroutine

  !> Was the density renewed in this step? Positions and velocities are then all that the next one
  !> needs.
  pure logical function renews_density(self)
    class(simulation), intent(in) :: self
    renews_density = mod(self%step, self%run%density_every) == 0
  end function

  !> Takes the mean velocity away. Collective.
  subroutine stop_drift(self)
    class(simulation), intent(inout) :: self
    real(real64) :: sums(4), all(4)
    integer :: p
    sums(:3) = self%momentum()
    sums(4) = sum(self%model%mass_g_mol(self%part%type))
    call MPI_Allreduce(sums, all, 4, MPI_DOUBLE_PRECISION, MPI_SUM, self%comm)
    do p = 1, self%part%particles
      self%part%v_nm_ps(:, p) = self%part%v_nm_ps(:, p) - all(:3) / all(4)
    end do
  end subroutine

  subroutine find_forces(self)
    class(simulation), intent(inout) :: self
    self%force = 0
    call self%terms%add_forces(self%model, self%part, self%force)
    call self%mesh%add_forces(self%part, self%force)
  end subroutine

  subroutine kick(self)
    class(simulation), intent(inout) :: self
    integer :: p
    do p = 1, self%part%particles
      self%part%v_nm_ps(:, p) = self%part%v_nm_ps(:, p) + self%run%time_step_ps / 2 / &
        self%model%mass_g_mol(self%part%type(p)) * self%force(:, p)
    end do
  end subroutine

  !> One step. Collective where the density is renewed.
  subroutine advance(self)
    class(simulation), intent(inout) :: self
    logical :: renews
    self%step = self%step + 1
    renews = self%renews_density()
    call kick(self)
    self%part%x_nm = self%part%x_nm + self%run%time_step_ps * self%part%v_nm_ps
    if (renews) call self%mesh%update(self%part, self%comm)
    call find_forces(self)
    call kick(self)
    if (renews .and. self%run%thermostat_ps > 0) call collide(self)
  end subroutine

  !> Some particles get velocities of the bath's temperature.
  subroutine collide(self)
    class(simulation), intent(inout) :: self
    real(real64) :: chance, width
    integer :: p
    chance = 1 - exp(-self%run%density_every * self%run%time_step_ps / self%run%thermostat_ps)
    do p = 1, self%part%particles
      associate (id => self%part%id(p), seed => self%run%seed)
        if (uniform(seed, self%step, id, 10) >= chance) cycle
        width = sqrt(boltzmann_kj_mol_k * self%run%temperature_k / &
          self%model%mass_g_mol(self%part%type(p)))
        self%part%v_nm_ps(:, p) = width * normal(seed, self%step, id, 11)
      end associate
    end do
  end subroutine

  !> Of this rank's particles.
  pure real(real64) function kinetic_kj_mol(self)
    class(simulation), intent(in) :: self
    integer :: p
    kinetic_kj_mol = 0
    do p = 1, self%part%particles
      kinetic_kj_mol = kinetic_kj_mol + self%model%mass_g_mol(self%part%type(p)) / 2 * &
        sum(self%part%v_nm_ps(:, p)**2)
    end do
  end function

  !> The field's energy is everybody's: each rank has as much of it as of the particles.
  pure real(real64) function field_share_kj_mol(self)
    class(simulation), intent(in) :: self
    field_share_kj_mol = self%mesh%energy_kj_mol * self%part%particles / &
      self%all_particles
  end function

  !> Of all ranks' particles, on rank 0; on the others zeros. Collective.
  function totals(self)
    class(simulation), intent(in) :: self
    type(run_totals) :: totals
    real(real64) :: sums(6), all(6)
    integer :: rank
    sums = [self%kinetic_kj_mol(), self%terms%bond_kj_mol, self%terms%angle_kj_mol, self%momentum()]
    call MPI_Reduce(sums, all, size(sums), MPI_DOUBLE_PRECISION, MPI_SUM, 0, self%comm)
    call MPI_Comm_rank(self%comm, rank)
    if (rank /= 0) return
    totals%kinetic = all(1)
    totals%bonds = all(2)
    totals%angles = all(3)
    totals%field = self%mesh%energy_kj_mol
    totals%temperature_k = 2 * all(1) / (3 * boltzmann_kj_mol_k * self%all_particles)
    totals%momentum = all(4:)
  end function

  pure real(real64) function potential(self)
    class(run_totals), intent(in) :: self
    potential = self%bonds + self%angles + self%field
  end function

  pure real(real64) function energy(self)
    class(run_totals), intent(in) :: self
    energy = self%kinetic + self%potential()
  end function

  !> Of this rank's particles.
  function observed_particles(self) result(seen)
    class(simulation), intent(in) :: self
    type(particle_view) :: seen
    integer :: p
    associate (part => self%part)
      allocate (seen%x_nm(3, part%particles), seen%w_kj_mol(part%particles))
      do p = 1, part%particles
        seen%x_nm(:, p) = real(folded(part%x_nm(:, p), part%box_nm), real32)
        seen%w_kj_mol(p) = self%mesh%potential_at(part%x_nm(:, p), part%type(p))
      end do
    end associate
  end function

  !> Of this rank's particles, g/mol nm/ps.
  pure function momentum(self)
    class(simulation), intent(in) :: self
    real(real64) :: momentum(3)
    integer :: p
    momentum = 0
    do p = 1, self%part%particles
      momentum = momentum + self%model%mass_g_mol(self%part%type(p)) * self%part%v_nm_ps(:, p)
    end do
  end function
end module integrator

! The trajectory of a run as H5MD while it runs: one HDF5 file, in the order of the particles' ids,
! for what reads HyMD's trajectories. What HyMD writes is under HyMD's names:
!
!   particles/all/position       folded into the box, with step and time; species (from 0) and mass
!   particles/all/potential      the field's, at every particle
!   particles/all/box            edges, with step and time, as MDAnalysis wants them
!   observables                  of all particles, a row a step
!   parameters/vmd_structure     names of species, molecules, bonds
module h5md
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use integrator, only: particle_view, run_totals, simulation
  use mpi_f08
  use particles, only: most_partners
  use sluice
  implicit none
  private
  public :: h5md_file

  character(len=*), parameter :: all = "particles/all/"
  character(len=*), parameter :: structure = "parameters/vmd_structure/"
  integer, parameter :: observables = 8
  character(len=*), parameter :: names(observables) = [character(len=28) :: &
    "observables/kinetic_energy", "observables/potential_energy", "observables/total_energy", &
    "observables/bond_energy", "observables/angle_energy", "observables/field_energy", &
    "observables/temperature", "observables/total_momentum"]
  character(len=*), parameter :: units(observables) = [character(len=16) :: &
    "kJ mol-1", "kJ mol-1", "kJ mol-1", "kJ mol-1", "kJ mol-1", "kJ mol-1", "K", &
    "nm g ps-1 mol-1"]
  !> Values of an observable a step.
  integer, parameter :: widths(observables) = [1, 1, 1, 1, 1, 1, 1, 3]
  !> Bytes of a name, as HyMD has them.
  integer, parameter :: name_bytes = 16

  type :: h5md_file
    private
    type(sluice_file) :: file
    logical :: is_root = .false.
  contains
    procedure :: is_open
    procedure :: open => open_file
    procedure :: reopen
    procedure :: print_step
    procedure :: is_settled
    procedure :: close => close_file
  end type h5md_file

contains

  pure logical function is_open(self)
    class(h5md_file), intent(in) :: self
    is_open = self%file%is_open()
  end function

  !> Collective over the simulation's ranks. options: of Sluice, as lines of TOML.
  subroutine open_file(self, path, options, of)
    class(h5md_file), intent(inout) :: self
    character(len=*), intent(in) :: path, options
    type(simulation), intent(in) :: of
    call open_as(self, path, "w", options, of)
    call self%file%set_attribute("h5md", "version", [1, 1])
    call self%file%set_text("h5md/author", "name", "unknown")
    call self%file%set_text("h5md/creator", "name", "occam")
    call self%file%set_text("h5md/creator", "version", sluice_version())
    call define_particles(self%file, nint(of%all_particles, int64))
    call define_observables(self%file)
    call write_structure(self, of)
  end subroutine

  !> Continues the file of an earlier run. Collective over the simulation's ranks.
  subroutine reopen(self, path, options, of)
    class(h5md_file), intent(inout) :: self
    character(len=*), intent(in) :: path, options
    type(simulation), intent(in) :: of
    call open_as(self, path, "a", options, of)
  end subroutine

  subroutine open_as(self, path, mode, options, of)
    class(h5md_file), intent(inout) :: self
    character(len=*), intent(in) :: path, mode, options
    type(simulation), intent(in) :: of
    integer :: rank
    call MPI_Comm_rank(of%comm, rank)
    self%is_root = rank == 0
    call self%file%open(path, mode, of%comm, options)
  end subroutine

  subroutine define_particles(file, particles)
    type(sluice_file), intent(inout) :: file
    integer(int64), intent(in) :: particles
    call define_series(file, all // "position", sluice_real32, [3_int64, particles], "nm")
    call define_series(file, all // "potential", sluice_real64, [particles], "kJ mol-1")
    call define_series(file, all // "box/edges", sluice_real64, [3_int64], "nm")
    call file%set_attribute(all // "box", "dimension", 3)
    call file%set_attribute(all // "box", "boundary", [character(len=8) :: "periodic", "periodic", &
      "periodic"])
    call file%define(all // "species", sluice_int32, [particles])
    call file%define(all // "mass", sluice_real32, [particles])
  end subroutine

  !> An element of H5MD: the group `name` of value, step and time.
  subroutine define_series(file, name, type, extents, unit)
    type(sluice_file), intent(inout) :: file
    character(len=*), intent(in) :: name, unit
    integer(int32), intent(in) :: type
    integer(int64), intent(in) :: extents(:)
    call file%define(name // "/value", type, extents, steps=.true.)
    call file%define(name // "/step", sluice_int32, steps=.true.)
    call file%define(name // "/time", sluice_real64, steps=.true.)
    call file%set_text(name, "units", unit)
    call file%set_text(name // "/value", "unit", unit)
    call file%set_text(name // "/time", "unit", "ps")
  end subroutine

  subroutine define_observables(file)
    type(sluice_file), intent(inout) :: file
    integer :: i
    do i = 1, observables
      call define_series(file, trim(names(i)), sluice_real64, [int(widths(i), int64)], &
        trim(units(i)))
    end do
  end subroutine

  !> What does not change: species, masses, names, molecules, bonds. Collective.
  subroutine write_structure(self, of)
    class(h5md_file), intent(inout) :: self
    type(simulation), intent(in) :: of
    integer, allocatable :: bonds(:, :)
    integer(int64) :: before, bond_count
    integer :: types, i
    types = of%model%types
    bonds = bonds_of(of)
    call place_bonds(size(bonds, 2, int64), of%comm, before, bond_count)
    associate (file => self%file, part => of%part)
      call file%define(structure // "name", sluice_character(name_bytes), [int(types, int64)])
      call file%define(structure // "indexOfSpecies", sluice_int32, [int(types, int64)])
      call file%define(structure // "resid", sluice_int32, [nint(of%all_particles, int64)])
      if (bond_count > 0) then
        call file%define(structure // "bond_from", sluice_int32, [bond_count])
        call file%define(structure // "bond_to", sluice_int32, [bond_count])
        call file%put(structure // "bond_from", bonds(1, :), start=[before + 1])
        call file%put(structure // "bond_to", bonds(2, :), start=[before + 1])
      end if
      call file%put_rows(all // "species", part%id, part%type - 1)
      call file%put_rows(all // "mass", part%id, real(of%model%mass_g_mol(part%type), real32))
      call file%put_rows(structure // "resid", part%id, molecules_of(of))
      if (self%is_root) then
        call file%put(structure // "name", of%model%name(:types))
        call file%put(structure // "indexOfSpecies", [(i, i=0, types - 1)])
      end if
      call file%flush()
    end associate
  end subroutine

  !> The numbers of the molecules of this rank's particles, from 0.
  pure function molecules_of(of) result(numbers)
    type(simulation), intent(in) :: of
    integer :: numbers(of%part%particles), m
    do m = 1, of%part%molecules
      numbers(of%part%first(m):of%part%first(m + 1) - 1) = of%part%molecule(m) - 1
    end do
  end function

  !> This rank's bonds, each once: (two ids; bond).
  pure function bonds_of(of) result(bonds)
    type(simulation), intent(in) :: of
    integer, allocatable :: bonds(:, :)
    integer :: p, i, found
    allocate (bonds(2, of%terms%bonds))
    found = 0
    do p = 1, of%part%particles
      do i = 1, most_partners
        if (of%part%partners(i, p) <= of%part%id(p)) cycle
        found = found + 1
        bonds(:, found) = [of%part%id(p), of%part%partners(i, p)]
      end do
    end do
  end function

  !> before: bonds of the ranks before this one. Collective.
  subroutine place_bonds(own, comm, before, bond_count)
    integer(int64), intent(in) :: own
    type(MPI_Comm), intent(in) :: comm
    integer(int64), intent(out) :: before, bond_count
    call MPI_Scan(own, before, 1, MPI_INTEGER8, MPI_SUM, comm)
    before = before - own
    call MPI_Allreduce(own, bond_count, 1, MPI_INTEGER8, MPI_SUM, comm)
  end subroutine

  !> Appends the step. Collective.
  subroutine print_step(self, of, seen)
    class(h5md_file), intent(inout) :: self
    type(simulation), intent(in) :: of
    type(particle_view), intent(in) :: seen
    type(run_totals) :: totals
    real(real64) :: time_ps
    totals = of%totals()
    time_ps = of%step * of%run%time_step_ps
    call self%file%begin_step(time_ps)
    call self%file%put_rows(all // "position/value", of%part%id, seen%x_nm)
    call self%file%put_rows(all // "potential/value", of%part%id, seen%w_kj_mol)
    if (self%is_root) then
      call put_when(self%file, all // "position", of%step, time_ps)
      call put_when(self%file, all // "potential", of%step, time_ps)
      call put_when(self%file, all // "box/edges", of%step, time_ps)
      call self%file%put(all // "box/edges/value", of%part%box_nm)
      call put_observables(self%file, totals, of%step, time_ps)
    end if
    call self%file%end_step()
  end subroutine

  subroutine put_when(file, name, step, time_ps)
    type(sluice_file), intent(inout) :: file
    character(len=*), intent(in) :: name
    integer, intent(in) :: step
    real(real64), intent(in) :: time_ps
    call file%put(name // "/step", step)
    call file%put(name // "/time", time_ps)
  end subroutine

  subroutine put_observables(file, totals, step, time_ps)
    type(sluice_file), intent(inout) :: file
    type(run_totals), intent(in) :: totals
    integer, intent(in) :: step
    real(real64), intent(in) :: time_ps
    real(real64) :: values(sum(widths))
    integer :: i, at
    values = [totals%kinetic, totals%potential(), totals%energy(), totals%bonds, totals%angles, &
      totals%field, totals%temperature_k, totals%momentum]
    at = 1
    do i = 1, observables
      call put_when(file, trim(names(i)), step, time_ps)
      call file%put(trim(names(i)) // "/value", values(at:at + widths(i) - 1))
      at = at + widths(i)
    end do
  end subroutine

  !> Is on disk what was printed? Waits for it, at most `seconds`; every rank asks.
  logical function is_settled(self, seconds)
    class(h5md_file), intent(inout) :: self
    real(real64), intent(in) :: seconds
    call self%file%drain(seconds, is_settled)
  end function

  !> Collective.
  subroutine close_file(self)
    class(h5md_file), intent(inout) :: self
    call self%file%close()
  end subroutine
end module h5md

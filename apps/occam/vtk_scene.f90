! What ParaView shows of a run while it runs, as VTKHDF:
!
!   traj.vtkhdf   particles in the order of their ids, as points that move: species, potential
!   field.vtkhdf  the mesh as an image: density and potential of each type
module vtk_scene
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use integrator, only: particle_view, simulation
  use mpi_f08
  use sluice
  implicit none
  private
  public :: vtk_files

  character(len=*), parameter :: points = "VTKHDF/Points"
  character(len=*), parameter :: values = "VTKHDF/PointData/"

  type :: vtk_files
    private
    type(sluice_file) :: particles, field
    integer :: first_plane = 0, planes = 0 !< of the mesh, that this rank writes
  contains
    procedure :: is_open
    procedure :: open => open_files
    procedure :: reopen
    procedure :: print_step
    procedure :: is_settled
    procedure :: close => close_files
  end type vtk_files

contains

  pure logical function is_open(self)
    class(vtk_files), intent(in) :: self
    is_open = self%particles%is_open()
  end function

  !> Collective over the simulation's ranks. options: of Sluice, as lines of TOML.
  subroutine open_files(self, folder, options, of)
    class(vtk_files), intent(inout) :: self
    character(len=*), intent(in) :: folder, options
    type(simulation), intent(in) :: of
    call open_as(self, folder, "w", options, of)
    call define_particles(self%particles, of)
    call define_field(self%field, of)
  end subroutine

  !> Continues the files of an earlier run. Collective over the simulation's ranks.
  subroutine reopen(self, folder, options, of)
    class(vtk_files), intent(inout) :: self
    character(len=*), intent(in) :: folder, options
    type(simulation), intent(in) :: of
    call open_as(self, folder, "a", options, of)
  end subroutine

  subroutine open_as(self, folder, mode, options, of)
    class(vtk_files), intent(inout) :: self
    character(len=*), intent(in) :: folder, mode, options
    type(simulation), intent(in) :: of
    integer :: rank, ranks
    call MPI_Comm_rank(of%comm, rank)
    call MPI_Comm_size(of%comm, ranks)
    self%first_plane = of%mesh%n(3) * rank / ranks
    self%planes = of%mesh%n(3) * (rank + 1) / ranks - self%first_plane
    call self%particles%open(folder // "/traj.vtkhdf", mode, of%comm, options)
    call self%field%open(folder // "/field.vtkhdf", mode, of%comm, options)
  end subroutine

  !> Collective: the species are written here.
  subroutine define_particles(file, of)
    type(sluice_file), intent(inout) :: file
    type(simulation), intent(in) :: of
    integer(int64) :: all
    all = nint(of%all_particles, int64)
    call file%set_text("VTKHDF", "Type", "UnstructuredGrid")
    call file%define(points, sluice_real32, [3_int64, all], steps=.true., unit="nm")
    call file%define(values // "potential", sluice_real64, [all], steps=.true., unit="kJ mol-1")
    call file%define(values // "species", sluice_int32, [all])
    call file%put_rows(values // "species", of%part%id, of%part%type - 1)
    call file%flush()
  end subroutine

  subroutine define_field(file, of)
    type(sluice_file), intent(inout) :: file
    type(simulation), intent(in) :: of
    integer :: type
    call file%set_text("VTKHDF", "Type", "ImageData")
    call file%set_attribute("VTKHDF", "Spacing", of%mesh%cell_nm)
    do type = 1, of%model%types
      call file%define(of_type("density_", of, type), sluice_real64, of%mesh%n, steps=.true., &
        unit="nm-3")
      call file%define(of_type("potential_", of, type), sluice_real64, of%mesh%n, steps=.true., &
        unit="kJ mol-1")
    end do
  end subroutine

  pure function of_type(what, of, type) result(name)
    character(len=*), intent(in) :: what
    type(simulation), intent(in) :: of
    integer, intent(in) :: type
    character(len=:), allocatable :: name
    name = values // what // trim(of%model%name(type))
  end function

  !> Appends the step to both. Collective.
  subroutine print_step(self, of, seen)
    class(vtk_files), intent(inout) :: self
    type(simulation), intent(in) :: of
    type(particle_view), intent(in) :: seen
    real(real64) :: time_ps
    time_ps = of%step * of%run%time_step_ps
    call self%particles%begin_step(time_ps)
    call self%particles%put_rows(points, of%part%id, seen%x_nm)
    call self%particles%put_rows(values // "potential", of%part%id, seen%w_kj_mol)
    call self%particles%end_step()
    call self%field%begin_step(time_ps)
    if (self%planes > 0) call put_planes(self, of)
    call self%field%end_step()
  end subroutine

  !> Every rank has the whole mesh, and writes some planes of it.
  subroutine put_planes(self, of)
    class(vtk_files), intent(inout) :: self
    type(simulation), intent(in) :: of
    integer :: type, last
    last = self%first_plane + self%planes - 1
    do type = 1, of%model%types
      call self%field%put(of_type("density_", of, type), &
        of%mesh%phi_nm3(:, :, self%first_plane:last, type), start=[1, 1, self%first_plane + 1])
      call self%field%put(of_type("potential_", of, type), &
        of%mesh%potential_kj_mol(:, :, self%first_plane:last, type), &
        start=[1, 1, self%first_plane + 1])
    end do
  end subroutine

  !> Is on disk what was printed? Waits for it, at most `seconds` for each file; every rank asks.
  logical function is_settled(self, seconds)
    class(vtk_files), intent(inout) :: self
    real(real64), intent(in) :: seconds
    logical :: all(2)
    call self%particles%drain(seconds, all(1))
    call self%field%drain(seconds, all(2))
    is_settled = all(1) .and. all(2)
  end function

  !> Collective.
  subroutine close_files(self)
    class(vtk_files), intent(inout) :: self
    call self%particles%close()
    call self%field%close()
  end subroutine
end module vtk_scene

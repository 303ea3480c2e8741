! What a run writes, both ways: files of text, four a rank, on the units 21, 201, 401 and 601 and
! those that follow; or four files of records together. Which one is chosen at run time; the
! preprocessor's macro ASCII_FILE makes text the default.
!
!   traj      ids, types and positions, every print_every steps
!   wvalues   the field's potential at every particle, at the same steps
!   energies  sums over a rank's particles, at the same steps
!   conf      what a run can go on from
!
! Both say the same: `sluice convert` makes one of the other, by the templates that stand here
! beside the lines of the text.
module output
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real32, real64
  use fpio
  use init_file, only: conf_line, conf_template, write_part, write_part_text, write_template
  use integrator, only: simulation
  use mpi_f08
  use particles, only: folded
  implicit none
  private
  public :: run_output, open_output

  integer, parameter :: files = 4
  integer, parameter :: traj = 1, conf = 2, wvalues = 3, energies = 4
  character(len=*), parameter :: names(files) = [character(len=8) :: &
    "traj", "conf", "wvalues", "energies"]
  integer, parameter :: first_units(files) = [21, 201, 401, 601]
  !> From here on a rank's units would be another file's.
  integer, parameter :: most_unit_ranks = 180
  character(len=*), parameter :: newline = new_line("a")
  character(len=*), parameter :: traj_head = "(i12,f16.6,3f12.6,i10)"
  character(len=*), parameter :: traj_line = "(i10,i4,3f10.5)"
  character(len=*), parameter :: wvalues_head = "(i12,f16.6,i10)"
  character(len=*), parameter :: wvalues_line = "(i10,f14.6)"
  character(len=*), parameter :: energies_line = "(i12,f16.6,i10,7es25.16e3)"
  character(len=*), parameter :: traj_template = "files %d.traj" // newline // traj_head // &
    " step:int32 time_ps:float64 box_nm:float64(3) particles:int32" // newline // "*" // &
    traj_line // " id:int32 type:int32 position_nm:float32(3)" // newline
  character(len=*), parameter :: wvalues_template = "files %d.wvalues" // newline // &
    wvalues_head // " step:int32 time_ps:float64 particles:int32" // newline // "*" // &
    wvalues_line // " id:int32 potential_kj_mol:float64" // newline
  character(len=*), parameter :: energies_template = "files %d.energies" // newline // &
    energies_line // " step:int32 time_ps:float64 particles:int32 kinetic_kj_mol:float64 " // &
    "bond_kj_mol:float64 angle_kj_mol:float64 field_kj_mol:float64 momentum:float64(3)" // newline
#ifdef ASCII_FILE
  character(len=*), parameter :: way_as_compiled = "ascii"
#else
  character(len=*), parameter :: way_as_compiled = "records"
#endif

  type :: run_output
    logical :: is_text = .false.
    logical :: is_none = .false.
    integer :: unit(files) = 0
    type(fpio_file) :: fp(files)
    real(real64) :: seconds = 0 !< that this rank has spent here
  contains
    procedure :: print_step
    procedure :: print_conf
    procedure :: close => close_output
  end type run_output

contains

  !> Collective over comm.
  function open_output(way, folder, options, comm) result(self)
    character(len=*), intent(in) :: way !< records, ascii, none; "": as compiled
    character(len=*), intent(in) :: folder, options
    type(MPI_Comm), intent(in) :: comm
    type(run_output) :: self
    character(len=:), allocatable :: chosen
    integer(int64) :: began
    call system_clock(began)
    chosen = trim(way)
    if (chosen == "") chosen = way_as_compiled
    self%is_text = chosen == "ascii"
    self%is_none = chosen == "none"
    if (self%is_text) then
      call open_text(self, folder, comm)
    else if (chosen == "records") then
      call open_records(self, folder, options, comm)
    else if (.not. self%is_none) then
      write (error_unit, "(3a)") "occam: output = '", chosen, "': records, ascii or none"
      error stop 2
    end if
    call count_since(self, began)
  end function

  pure function template_of(file) result(text)
    integer, intent(in) :: file
    character(len=:), allocatable :: text
    select case (file)
    case (traj); text = traj_template
    case (conf); text = conf_template
    case (wvalues); text = wvalues_template
    case default; text = energies_template
    end select
  end function

  subroutine open_text(self, folder, comm)
    type(run_output), intent(inout) :: self
    character(len=*), intent(in) :: folder
    type(MPI_Comm), intent(in) :: comm
    character(len=200) :: path
    integer :: file, rank, status
    call MPI_Comm_rank(comm, rank)
    do file = 1, files
      write (path, "(2a,i0,2a)") trim(folder), "/", rank + 1, ".", trim(names(file))
      if (rank < most_unit_ranks) then
        self%unit(file) = first_units(file) + rank
        open (self%unit(file), file=path, status="replace", action="write", iostat=status)
      else
        open (newunit=self%unit(file), file=path, status="replace", action="write", iostat=status)
      end if
      if (status /= 0) then
        write (error_unit, "(3a)") "occam: ", trim(path), ": cannot be made"
        error stop 2
      end if
      if (rank == 0) call write_template(trim(folder) // "/" // trim(names(file)) // ".template", &
        template_of(file))
    end do
  end subroutine

  subroutine open_records(self, folder, options, comm)
    type(run_output), intent(inout) :: self
    character(len=*), intent(in) :: folder, options
    type(MPI_Comm), intent(in) :: comm
    integer :: file
    do file = 1, files
      call file_dopen(self%fp(file), trim(folder) // "/" // trim(names(file)), &
        MPI_MODE_WRONLY + MPI_MODE_CREATE, comm, options)
      call file_set_text(self%fp(file), "sluice_template", template_of(file))
    end do
  end subroutine

  !> Trajectory, potentials and energies of this step. Collective.
  subroutine print_step(self, of)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    integer(int64) :: began
    if (self%is_none) return
    call system_clock(began)
    call print_traj(self, of)
    call print_wvalues(self, of)
    call print_energies(self, of)
    if (.not. self%is_text) then
      call file_dwrite(self%fp(traj))
      call file_dwrite(self%fp(wvalues))
      call file_dwrite(self%fp(energies))
    end if
    call count_since(self, began)
  end subroutine

  subroutine print_traj(self, of)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    real(real32) :: x_nm(3)
    real(real64) :: time_ps
    integer :: p, i
    time_ps = of%step * of%run%time_step_ps
    associate (part => of%part, fp => self%fp(traj))
      if (self%is_text) then
        write (self%unit(traj), traj_head) of%step, time_ps, part%box_nm, part%particles
      else
        call file_bwrite(fp, of%step)
        call file_bwrite(fp, time_ps)
        do i = 1, 3
          call file_bwrite(fp, part%box_nm(i))
        end do
        call file_bwrite(fp, part%particles)
      end if
      do p = 1, part%particles
        x_nm = real(folded(part%x_nm(:, p), part%box_nm), real32)
        if (self%is_text) then
          write (self%unit(traj), traj_line) part%id(p), part%type(p), x_nm
        else
          call file_bwrite(fp, part%id(p))
          call file_bwrite(fp, part%type(p))
          call file_bwrite(fp, x_nm(1))
          call file_bwrite(fp, x_nm(2))
          call file_bwrite(fp, x_nm(3))
        end if
      end do
    end associate
  end subroutine

  subroutine print_wvalues(self, of)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    real(real64) :: time_ps, w_kj_mol
    integer :: p
    time_ps = of%step * of%run%time_step_ps
    associate (part => of%part, fp => self%fp(wvalues))
      if (self%is_text) then
        write (self%unit(wvalues), wvalues_head) of%step, time_ps, part%particles
      else
        call file_bwrite(fp, of%step)
        call file_bwrite(fp, time_ps)
        call file_bwrite(fp, part%particles)
      end if
      do p = 1, part%particles
        w_kj_mol = of%mesh%potential_at(part%x_nm(:, p), part%type(p))
        if (self%is_text) then
          write (self%unit(wvalues), wvalues_line) part%id(p), w_kj_mol
        else
          call file_bwrite(fp, part%id(p))
          call file_bwrite(fp, w_kj_mol)
        end if
      end do
    end associate
  end subroutine

  !> The field's energy is shared out by particles, so that the parts sum to the whole.
  subroutine print_energies(self, of)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    real(real64) :: values(8)
    integer :: i
    values(1) = of%step * of%run%time_step_ps
    values(2) = of%kinetic_kj_mol()
    values(3) = of%terms%bond_kj_mol
    values(4) = of%terms%angle_kj_mol
    values(5) = of%field_share_kj_mol()
    values(6:) = of%momentum()
    if (self%is_text) then
      write (self%unit(energies), energies_line) of%step, values(1), of%part%particles, values(2:)
      return
    end if
    call file_bwrite(self%fp(energies), of%step)
    call file_bwrite(self%fp(energies), values(1))
    call file_bwrite(self%fp(energies), of%part%particles)
    do i = 2, size(values)
      call file_bwrite(self%fp(energies), values(i))
    end do
  end subroutine

  !> For a run that goes on from here. Collective.
  subroutine print_conf(self, of)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    integer(int64) :: began
    if (self%is_none) return
    call system_clock(began)
    if (self%is_text) then
      call write_part_text(self%unit(conf), of%part, conf_line)
    else
      call write_part(self%fp(conf), of%part)
      call file_dwrite(self%fp(conf))
    end if
    call count_since(self, began)
  end subroutine

  !> Collective.
  subroutine close_output(self)
    class(run_output), intent(inout) :: self
    integer(int64) :: began
    integer :: file
    if (self%is_none) return
    call system_clock(began)
    do file = 1, files
      if (self%is_text) then
        close (self%unit(file))
      else
        call file_dclose(self%fp(file))
      end if
    end do
    call count_since(self, began)
  end subroutine

  subroutine count_since(self, began)
    type(run_output), intent(inout) :: self
    integer(int64), intent(in) :: began
    integer(int64) :: now, rate
    call system_clock(now, rate)
    self%seconds = self%seconds + real(now - began, real64) / rate
  end subroutine
end module output

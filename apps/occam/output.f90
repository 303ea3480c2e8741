! What a run writes, in the way that is chosen at run time: files of text, four a rank, on the units
! 21, 201, 401 and 601 and those that follow; four files of records together; or the trajectory as
! H5MD. The preprocessor's macro ASCII_FILE makes text the default.
!
!   traj      ids, types and positions, every print_every steps
!   wvalues   the field's potential at every particle, at the same steps
!   energies  sums over a rank's particles, at the same steps
!   conf      what a run can go on from
!
! Texts and records say the same: `sluice convert` makes one of the other, by the templates that
! stand here beside the lines of the text. H5MD: traj.h5 in the place of the first three, and conf
! as records. VTKHDF: traj.vtkhdf and field.vtkhdf likewise.
!
! A process writes the part of its rank, or (open_parts) those of many ranks.
module output
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use fpio
  use h5md, only: h5md_file
  use init_file, only: conf_line, conf_template, write_part, write_part_text, write_template
  use integrator, only: particle_view, simulation
  use mpi_f08
  use vtk_scene, only: vtk_files
  implicit none
  private
  public :: run_output, open_output, open_parts, is_text_output

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
    private
    logical :: is_text = .false.
    logical :: is_records = .false.
    logical :: is_h5md = .false.
    logical :: is_vtkhdf = .false.
    integer :: first = 1                     !< number of this process's first part
    integer, allocatable :: unit(:, :)       !< of text: (part, file)
    type(fpio_file), allocatable :: fp(:, :) !< of records: (part, file)
    type(h5md_file) :: trajectory
    type(vtk_files) :: scene
    character(len=:), allocatable :: folder, options
    logical :: is_on_its_way(files) = .false. !< of records: a group that was not durable at once
    real(real64), public :: seconds = 0      !< that this process has spent here
    integer, public :: prints = 0, confs = 0 !< made so far, by the runs before too
  contains
    procedure :: print_step
    procedure :: print_conf
    procedure :: add_step
    procedure :: write_step
    procedure :: add_conf
    procedure :: write_conf
    procedure :: settle
    procedure :: close => close_output
  end type run_output

contains

  !> A part a rank. prints, confs: how many of each a run before has made, after which this one goes
  !> on; not with text, whose files begin anew. Collective over comm.
  function open_output(way, folder, options, prints, confs, comm) result(self)
    character(len=*), intent(in) :: way !< records, ascii, h5md, vtkhdf, none; "": as compiled
    character(len=*), intent(in) :: folder, options
    integer, intent(in) :: prints, confs
    type(MPI_Comm), intent(in) :: comm
    type(run_output) :: self
    integer(int64) :: began
    integer :: rank, file
    call system_clock(began)
    call MPI_Comm_rank(comm, rank)
    call choose(self, way, folder, options, rank + 1, rank + 1)
    self%prints = prints
    self%confs = confs
    if (self%is_text) call open_texts(self)
    do file = 1, files
      if (.not. is_file_of_records(self, file)) cycle
      call open_records(self%fp(1, file), path_of(self, file), self%options, &
        merge(confs, prints, file == conf), comm)
      call file_set_text(self%fp(1, file), "sluice_template", template_of(file))
    end do
    call count_since(self, began)
  end function

  !> Collective over comm.
  subroutine open_records(fp, path, options, kept, comm)
    type(fpio_file), intent(inout) :: fp
    character(len=*), intent(in) :: path, options
    integer, intent(in) :: kept !< record groups that stay
    type(MPI_Comm), intent(in) :: comm
    if (kept == 0) then
      call file_dopen(fp, path, MPI_MODE_WRONLY + MPI_MODE_CREATE, comm, options)
    else
      call file_dopen(fp, path, MPI_MODE_WRONLY + MPI_MODE_APPEND, comm, &
        options // restart_line(kept))
    end if
  end subroutine

  !> Steps after the first `kept` are dropped where a file is opened to append.
  pure function restart_line(kept) result(line)
    integer, intent(in) :: kept
    character(len=:), allocatable :: line
    character(len=12) :: number
    write (number, "(i0)") kept - 1
    line = newline // "restart_after = " // trim(number) // newline
  end function

  !> This process alone, in place of ranks: with records the parts 1 to `last`, which are all of the
  !> file; with ascii (four open files a part) those from `first` on.
  function open_parts(way, folder, options, first, last) result(self)
    character(len=*), intent(in) :: way !< records or ascii
    character(len=*), intent(in) :: folder, options
    integer, intent(in) :: first, last
    type(run_output) :: self
    integer(int64) :: began
    integer :: file
    call system_clock(began)
    call choose(self, way, folder, options, first, last)
    if (self%is_h5md .or. self%is_vtkhdf .or. self%is_records .and. first /= 1) then
      call refuse("parts of many ranks: records from the first part on, or ascii")
    end if
    if (self%is_text) call open_texts(self)
    do file = 1, files
      if (.not. self%is_records) cycle
      call file_dopen(self%fp(:, file), path_of(self, file), MPI_MODE_WRONLY + MPI_MODE_CREATE, &
        self%options)
      call file_set_text(self%fp(:, file), "sluice_template", template_of(file))
    end do
    call count_since(self, began)
  end function

  !> Is that way to write the one by text?
  pure logical function is_text_output(way)
    character(len=*), intent(in) :: way
    is_text_output = way == "ascii" .or. (way == "" .and. way_as_compiled == "ascii")
  end function

  subroutine choose(self, way, folder, options, first, last)
    type(run_output), intent(inout) :: self
    character(len=*), intent(in) :: way, folder, options
    integer, intent(in) :: first, last
    character(len=:), allocatable :: chosen
    chosen = trim(way)
    if (chosen == "") chosen = way_as_compiled
    self%folder = trim(folder)
    self%options = trim(options)
    self%first = first
    select case (chosen)
    case ("ascii"); self%is_text = .true.
    case ("records"); self%is_records = .true.
    case ("h5md"); self%is_h5md = .true.
    case ("vtkhdf"); self%is_vtkhdf = .true.
    case ("none")
    case default; call refuse("output = '" // chosen // "': records, ascii, h5md, vtkhdf or none")
    end select
    allocate (self%unit(last - first + 1, files), source=0)
    allocate (self%fp(last - first + 1, files))
  end subroutine

  pure logical function is_file_of_records(self, file)
    type(run_output), intent(in) :: self
    integer, intent(in) :: file
    is_file_of_records = self%is_records .or. &
      (self%is_h5md .or. self%is_vtkhdf) .and. file == conf
  end function

  pure function path_of(self, file) result(path)
    type(run_output), intent(in) :: self
    integer, intent(in) :: file
    character(len=:), allocatable :: path
    path = self%folder // "/" // trim(names(file))
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

  subroutine open_texts(self)
    type(run_output), intent(inout) :: self
    character(len=12) :: number
    character(len=:), allocatable :: path
    integer :: file, i, rank, status
    do file = 1, files
      do i = 1, size(self%unit, 1)
        rank = self%first + i - 2
        write (number, "(i0)") rank + 1
        path = self%folder // "/" // trim(number) // "." // trim(names(file))
        if (rank < most_unit_ranks) then
          self%unit(i, file) = first_units(file) + rank
          open (self%unit(i, file), file=path, status="replace", action="write", iostat=status)
        else
          open (newunit=self%unit(i, file), file=path, status="replace", action="write", &
            iostat=status)
        end if
        if (status /= 0) call refuse(path // ": cannot be made")
        if (rank == 0) call write_template(path_of(self, file) // ".template", template_of(file))
      end do
    end do
  end subroutine

  !> Trajectory, potentials and energies of this step. Collective.
  subroutine print_step(self, of, seen)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    type(particle_view), intent(in) :: seen
    integer(int64) :: began
    if (self%is_h5md) then
      call system_clock(began)
      if (.not. self%trajectory%is_open()) then
        if (self%prints == 0) then
          call self%trajectory%open(path_of(self, traj) // ".h5", self%options, of)
        else
          call self%trajectory%reopen(path_of(self, traj) // ".h5", &
            self%options // restart_line(self%prints), of)
        end if
      end if
      call self%trajectory%print_step(of, seen)
      call count_since(self, began)
    else if (self%is_vtkhdf) then
      call system_clock(began)
      if (.not. self%scene%is_open()) then
        if (self%prints == 0) then
          call self%scene%open(self%folder, self%options, of)
        else
          call self%scene%reopen(self%folder, self%options // restart_line(self%prints), of)
        end if
      end if
      call self%scene%print_step(of, seen)
      call count_since(self, began)
    else
      call self%add_step(of, seen, 1)
      call self%write_step()
    end if
    self%prints = self%prints + 1
  end subroutine

  !> The same of this process's part i, without writing its records. Local.
  subroutine add_step(self, of, seen, i)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    type(particle_view), intent(in) :: seen
    integer, intent(in) :: i
    integer(int64) :: began
    if (.not. (self%is_text .or. self%is_records)) return
    call system_clock(began)
    call print_traj(self%is_text, of, seen, self%unit(i, traj), self%fp(i, traj))
    call print_wvalues(self%is_text, of, seen, self%unit(i, wvalues), self%fp(i, wvalues))
    call print_energies(self%is_text, of, self%unit(i, energies), self%fp(i, energies))
    call count_since(self, began)
  end subroutine

  !> Collective.
  subroutine write_step(self)
    class(run_output), intent(inout) :: self
    integer(int64) :: began
    if (.not. self%is_records) return
    call system_clock(began)
    call write_group(self, traj)
    call write_group(self, wvalues)
    call write_group(self, energies)
    call count_since(self, began)
  end subroutine

  subroutine print_traj(is_text, of, seen, unit, fp)
    logical, intent(in) :: is_text
    type(simulation), intent(in) :: of
    type(particle_view), intent(in) :: seen
    integer, intent(in) :: unit
    type(fpio_file), intent(inout) :: fp
    real(real64) :: time_ps
    integer :: p, i
    time_ps = of%step * of%run%time_step_ps
    associate (part => of%part)
      if (is_text) then
        write (unit, traj_head) of%step, time_ps, part%box_nm, part%particles
      else
        call file_bwrite(fp, of%step)
        call file_bwrite(fp, time_ps)
        do i = 1, 3
          call file_bwrite(fp, part%box_nm(i))
        end do
        call file_bwrite(fp, part%particles)
      end if
      do p = 1, part%particles
        if (is_text) then
          write (unit, traj_line) part%id(p), part%type(p), seen%x_nm(:, p)
        else
          call file_bwrite(fp, part%id(p))
          call file_bwrite(fp, part%type(p))
          call file_bwrite(fp, seen%x_nm(1, p))
          call file_bwrite(fp, seen%x_nm(2, p))
          call file_bwrite(fp, seen%x_nm(3, p))
        end if
      end do
    end associate
  end subroutine

  subroutine print_wvalues(is_text, of, seen, unit, fp)
    logical, intent(in) :: is_text
    type(simulation), intent(in) :: of
    type(particle_view), intent(in) :: seen
    integer, intent(in) :: unit
    type(fpio_file), intent(inout) :: fp
    real(real64) :: time_ps
    integer :: p
    time_ps = of%step * of%run%time_step_ps
    associate (part => of%part)
      if (is_text) then
        write (unit, wvalues_head) of%step, time_ps, part%particles
      else
        call file_bwrite(fp, of%step)
        call file_bwrite(fp, time_ps)
        call file_bwrite(fp, part%particles)
      end if
      do p = 1, part%particles
        if (is_text) then
          write (unit, wvalues_line) part%id(p), seen%w_kj_mol(p)
        else
          call file_bwrite(fp, part%id(p))
          call file_bwrite(fp, seen%w_kj_mol(p))
        end if
      end do
    end associate
  end subroutine

  !> The field's energy is shared out by particles, so that the parts sum to the whole.
  subroutine print_energies(is_text, of, unit, fp)
    logical, intent(in) :: is_text
    type(simulation), intent(in) :: of
    integer, intent(in) :: unit
    type(fpio_file), intent(inout) :: fp
    real(real64) :: values(8)
    integer :: i
    values(1) = of%step * of%run%time_step_ps
    values(2) = of%kinetic_kj_mol()
    values(3) = of%terms%bond_kj_mol
    values(4) = of%terms%angle_kj_mol
    values(5) = of%field_share_kj_mol()
    values(6:) = of%momentum()
    if (is_text) then
      write (unit, energies_line) of%step, values(1), of%part%particles, values(2:)
      return
    end if
    call file_bwrite(fp, of%step)
    call file_bwrite(fp, values(1))
    call file_bwrite(fp, of%part%particles)
    do i = 2, size(values)
      call file_bwrite(fp, values(i))
    end do
  end subroutine

  !> For a run that goes on from here. Collective.
  subroutine print_conf(self, of)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    call self%add_conf(of, 1)
    call self%write_conf()
    self%confs = self%confs + 1
  end subroutine

  !> The same of this process's part i, without writing its records. Local.
  subroutine add_conf(self, of, i)
    class(run_output), intent(inout) :: self
    type(simulation), intent(in) :: of
    integer, intent(in) :: i
    integer(int64) :: began
    call system_clock(began)
    if (self%is_text) then
      call write_part_text(self%unit(i, conf), of%part, conf_line)
    else if (is_file_of_records(self, conf)) then
      call write_part(self%fp(i, conf), of%part)
    end if
    call count_since(self, began)
  end subroutine

  !> Collective.
  subroutine write_conf(self)
    class(run_output), intent(inout) :: self
    integer(int64) :: began
    if (.not. is_file_of_records(self, conf)) return
    call system_clock(began)
    call write_group(self, conf)
    call count_since(self, began)
  end subroutine

  !> Collective.
  subroutine write_group(self, file)
    class(run_output), intent(inout) :: self
    integer, intent(in) :: file
    logical :: is_durable
    call file_dwrite(self%fp(:, file), is_durable)
    self%is_on_its_way(file) = .not. is_durable
  end subroutine

  !> Waits until what was written is on disk, or in its file where the options ask for no more: with
  !> strategy `forward` it is on its way. A checkpoint that counts it may then be saved. Collective
  !> over comm.
  subroutine settle(self, comm)
    class(run_output), intent(inout) :: self
    type(MPI_Comm), intent(in) :: comm
    integer(int64) :: began
    logical :: is_there, is_group_there
    integer :: file
    call system_clock(began)
    call MPI_Allreduce(MPI_IN_PLACE, self%is_on_its_way, files, MPI_LOGICAL, MPI_LOR, comm)
    ! The ranks wait together: where they are of several nodes, each needs the others meanwhile.
    do
      is_there = .true.
      if (self%trajectory%is_open()) is_there = self%trajectory%is_settled(1.0_real64)
      if (self%scene%is_open()) is_there = self%scene%is_settled(1.0_real64)
      do file = 1, files
        if (.not. self%is_on_its_way(file)) cycle
        call file_drain(self%fp(1, file), 1.0_real64, is_group_there)
        is_there = is_there .and. is_group_there
      end do
      call MPI_Allreduce(MPI_IN_PLACE, is_there, 1, MPI_LOGICAL, MPI_LAND, comm)
      if (is_there) exit
    end do
    self%is_on_its_way = .false.
    call count_since(self, began)
  end subroutine

  !> Collective.
  subroutine close_output(self)
    class(run_output), intent(inout) :: self
    integer(int64) :: began
    integer :: file, i
    call system_clock(began)
    do file = 1, files
      if (is_file_of_records(self, file)) call file_dclose(self%fp(:, file))
      do i = 1, size(self%unit, 1)
        if (self%is_text) close (self%unit(i, file))
      end do
    end do
    if (self%trajectory%is_open()) call self%trajectory%close()
    if (self%scene%is_open()) call self%scene%close()
    call count_since(self, began)
  end subroutine

  subroutine refuse(what)
    character(len=*), intent(in) :: what
    write (error_unit, "(2a)") "occam: ", what
    error stop 2
  end subroutine

  subroutine count_since(self, began)
    type(run_output), intent(inout) :: self
    integer(int64), intent(in) :: began
    integer(int64) :: now, rate
    call system_clock(now, rate)
    self%seconds = self%seconds + real(now - began, real64) / rate
  end subroutine
end module output

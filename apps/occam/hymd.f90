! The input of HyMD: its file of settings (as much of TOML as they use) and its HDF5 file of
! molecules; or the last frame of a trajectory that it has written.
module hymd
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real32, real64
  use mpi_f08, only: MPI_COMM_SELF
  use noise, only: normal
  use parameters
  use particles
  use sluice, only: sluice_file
  implicit none
  private
  public :: read_hymd_settings, read_hymd_system, take_share

contains

  !> Settings that have no meaning here are named on standard error, and passed over.
  subroutine read_hymd_settings(path, run, model, box_nm)
    character(len=*), intent(in) :: path
    type(run_parameters), intent(inout) :: run
    type(model_parameters), intent(inout) :: model
    real(real64), intent(out) :: box_nm(3)
    character(len=500) :: line, key, list
    character(len=:), allocatable :: unused
    integer :: unit, status, i, dihedrals
    integer :: rules(3) !< so far, of chi, bonds, angle_bonds
    box_nm = 0
    rules = 0
    run%density_every = 1
    list = ""
    unused = ""
    dihedrals = 0
    open (newunit=unit, file=path, status="old", action="read", iostat=status)
    if (status /= 0) call refuse(path // ": cannot be opened")
    do
      read (unit, "(a)", iostat=status) line
      if (status /= 0) exit
      i = index(line, "#")
      if (i > 0) line = line(:i - 1)
      line = adjustl(line)
      i = index(line, "=")
      status = 0
      if (i > 0 .and. line(1:1) /= "[") then
        key = line(:i - 1)
        line = adjustl(line(i + 1:))
        list = key
        if (.not. is_list(trim(key))) then
          call take_setting(run, model, box_nm, trim(key), line, unused, status)
        end if
      end if
      if (is_list(trim(list))) call take_rows(model, rules, trim(list), line, &
        dihedrals, status)
      if (status /= 0) call refuse(path // ": cannot be understood: " // trim(line))
    end do
    close (unit)
    if (dihedrals > 0) call note(path, "no force of dihedrals here", count_text(dihedrals))
    if (unused /= "") call note(path, "not used here", unused)
    if (any(box_nm <= 0)) call refuse(path // ": says no box_size")
    ! Its steps are those in which the field is renewed.
    run%steps = run%steps * run%density_every
    run%print_every = run%print_every * run%density_every
  end subroutine

  !> Lists of rows, each of which begins with names of types.
  pure logical function is_list(key)
    character(len=*), intent(in) :: key
    is_list = key == "chi" .or. key == "bonds" .or. key == "angle_bonds" .or. key == "dihedrals"
  end function

  !> The rows that begin in a line. Of dihedrals, whose rows are lists of lists, their number.
  subroutine take_rows(model, rules, list, line, dihedrals, status)
    type(model_parameters), intent(inout) :: model
    integer, intent(inout) :: rules(3)
    character(len=*), intent(in) :: list, line
    integer, intent(inout) :: dihedrals
    integer, intent(inout) :: status
    integer :: from, last
    from = index(line, '["')
    do while (from > 0 .and. status == 0)
      last = from + index(line(from:), "]") - 1
      if (last < from) last = len(line) + 1
      if (list == "dihedrals") then
        dihedrals = dihedrals + 1
      else
        call take_row(model, rules, list, line(from + 1:last - 1), status)
      end if
      from = 0
      if (last < len(line)) from = index(line(last + 1:), '["')
      if (from > 0) from = last + from
    end do
  end subroutine

  subroutine take_setting(run, model, box_nm, key, text, unused, status)
    type(run_parameters), intent(inout) :: run
    type(model_parameters), intent(inout) :: model
    real(real64), intent(inout) :: box_nm(3)
    character(len=*), intent(in) :: key, text
    character(len=:), allocatable, intent(inout) :: unused
    integer, intent(out) :: status
    integer :: i
    status = 0
    i = max(1, index(text, "]") - 1)
    select case (key)
    case ("n_steps"); read (text, *, iostat=status) run%steps
    case ("n_print"); read (text, *, iostat=status) run%print_every
    case ("time_step"); read (text, *, iostat=status) run%time_step_ps
    case ("target_temperature"); read (text, *, iostat=status) run%temperature_k
    case ("tau"); read (text, *, iostat=status) run%thermostat_ps
    case ("kappa"); read (text, *, iostat=status) model%kappa_mol_kj
    case ("sigma"); read (text, *, iostat=status) model%filter_nm
    case ("mesh_size"); read (text(2:i), *, iostat=status) model%mesh
    case ("box_size"); read (text(2:i), *, iostat=status) box_nm
    case ("respa_inner"); read (text, *, iostat=status) run%density_every
    case default
      if (unused /= "") unused = unused // ", "
      unused = unused // key
    end select
  end subroutine

  !> A row of chi, bonds or angle_bonds: names of types and numbers. Types get numbers by their
  !> names' first appearance.
  subroutine take_row(model, rules, list, row, status)
    type(model_parameters), intent(inout) :: model
    integer, intent(inout) :: rules(3)
    character(len=*), intent(in) :: list, row
    integer, intent(out) :: status
    character(len=8) :: name(3)
    real(real64) :: first, second
    integer :: rule
    status = 0
    select case (list)
    case ("chi")
      read (row, *, iostat=status) name(:2), first
      rule = next_rule(rules(1), list)
      model%chi_types(:, rule) = [type_of(model, name(1)), type_of(model, name(2))]
      model%chi_kj_mol(rule) = first
    case ("bonds")
      read (row, *, iostat=status) name(:2), first, second
      rule = next_rule(rules(2), list)
      model%bond_types(:, rule) = [type_of(model, name(1)), type_of(model, name(2))]
      model%bond_nm(rule) = first
      model%bond_kj_mol_nm2(rule) = second
    case ("angle_bonds")
      read (row, *, iostat=status) name, first, second
      rule = next_rule(rules(3), list)
      model%angle_types(:, rule) = [type_of(model, name(1)), type_of(model, name(2)), &
        type_of(model, name(3))]
      model%angle_degrees(rule) = first
      model%angle_kj_mol(rule) = second
    end select
  end subroutine

  integer function next_rule(so_far, list)
    integer, intent(inout) :: so_far
    character(len=*), intent(in) :: list
    character(len=12) :: most
    write (most, "(i0)") most_rules
    if (so_far == most_rules) call refuse(list // ": more than " // trim(most) // " rows")
    so_far = so_far + 1
    next_rule = so_far
  end function

  integer function type_of(model, name)
    type(model_parameters), intent(inout) :: model
    character(len=*), intent(in) :: name
    do type_of = 1, model%types
      if (model%name(type_of) == name) return
    end do
    if (model%types == most_types) call refuse("more than 16 names of types")
    model%types = model%types + 1
    model%name(model%types) = name
    type_of = model%types
  end function

  !> All molecules. positions: "" or a trajectory of HyMD's, whose last frame is taken.
  function read_hymd_system(path, positions, model, box_nm, seed, temperature_k) result(part)
    character(len=*), intent(in) :: path, positions
    type(model_parameters), intent(inout) :: model
    real(real64), intent(in) :: box_nm(3)
    integer, intent(in) :: seed
    real(real64), intent(in) :: temperature_k
    type(particle_part) :: part
    type(sluice_file) :: file
    integer, allocatable :: molecules(:), bonds(:, :)
    character(len=16), allocatable :: names(:)
    integer(int64), allocatable :: extents(:)
    integer :: n, p, i
    call file%open(path, "r", MPI_COMM_SELF)
    allocate (extents, source=file%shape("names"))
    n = int(extents(1))
    extents = [0_int64, int(n, int64)]  ! a melt of beads has no bonds
    if (file%has("bonds")) extents = file%shape("bonds")
    if (extents(1) > most_partners) call refuse(path // ": a particle has too many bonds")
    if (extents(2) /= n) call refuse(path // ": bonds and names of different numbers of particles")
    allocate (bonds(extents(1), n), names(n))
    molecules = [(p, p = 1, n)]  ! as HyMD has it where the file does not say
    if (file%has("molecules")) call file%get("molecules", molecules)
    if (file%has("bonds")) call file%get("bonds", bonds)
    call file%get("names", names)
    part = make_part(1 + count(molecules(2:) /= molecules(:n - 1)), n, box_nm)
    if (positions == "") call read_frame(file, "coordinates", part%x_nm)
    call file%close()
    if (positions /= "") then
      call file%open(positions, "r", MPI_COMM_SELF)
      call read_frame(file, "particles/all/position/value", part%x_nm)
      call file%close()
    end if
    part%molecules = 0
    do p = 1, n
      if (p == 1 .or. molecules(p) /= molecules(max(1, p - 1))) then
        part%molecules = part%molecules + 1
        part%molecule(part%molecules) = part%molecules
        part%first(part%molecules) = p
      end if
      part%id(p) = p
      part%type(p) = type_of(model, names(p))
      do i = 1, size(bonds, 1)
        if (bonds(i, p) >= 0) part%partners(i, p) = bonds(i, p) + 1
      end do
      part%v_nm_ps(:, p) = six_decimals(normal(seed, 2, p, 1) * &
        sqrt(boltzmann_kj_mol_k * temperature_k / model%mass_g_mol(part%type(p))))
    end do
    part%first(part%molecules + 1) = n + 1
  end function

  !> The last frame, of a dataset of all frames or of steps, as Sluice has them.
  subroutine read_frame(file, name, x_nm)
    type(sluice_file), intent(inout) :: file
    character(len=*), intent(in) :: name
    real(real64), intent(out) :: x_nm(:, :)
    real(real32), allocatable :: frame(:, :, :)
    integer(int64), allocatable :: extents(:)
    allocate (extents, source=file%shape(name))
    allocate (frame(3, size(x_nm, 2), 1))
    if (size(extents) == 2) then
      call file%get(name, frame(:, :, 1))
    else
      call file%get(name, frame, start=[1_int64, 1_int64, extents(3)])
    end if
    x_nm = six_decimals(real(frame(:, :, 1), real64))
  end subroutine

  !> Share `number` of `parts` of all molecules.
  function take_share(all, number, parts) result(part)
    type(particle_part), intent(in) :: all
    integer, intent(in) :: number, parts
    type(particle_part) :: part
    integer :: first, last, p, q
    first = part_begin(all%molecules, number, parts)
    last = part_begin(all%molecules, number + 1, parts) - 1
    p = all%first(first)
    q = all%first(last + 1) - 1
    part = make_part(last - first + 1, q - p + 1, all%box_nm)
    part%molecule = all%molecule(first:last)
    part%first = all%first(first:last + 1) - p + 1
    part%id = all%id(p:q)
    part%type = all%type(p:q)
    part%partners = all%partners(:, p:q)
    part%x_nm = all%x_nm(:, p:q)
    part%v_nm_ps = all%v_nm_ps(:, p:q)
  end function

  function count_text(number) result(text)
    integer, intent(in) :: number
    character(len=:), allocatable :: text
    character(len=12) :: digits
    write (digits, "(i0)") number
    text = trim(digits) // " left out"
  end function

  subroutine note(path, what, which)
    character(len=*), intent(in) :: path, what, which
    write (error_unit, "(6a)") "iopc: note: ", path, ": ", what, ": ", which
  end subroutine

  subroutine refuse(what)
    character(len=*), intent(in) :: what
    write (error_unit, "(2a)") "iopc: ", what
    error stop 2
  end subroutine
end module hymd

! What a run is told: a file of two namelists, &run and &model, and words KEY=VALUE of &run on the
! command line. Units: nm, ps, kJ/mol, g/mol, K; then 1 kJ/mol = 1 g/mol (nm/ps)^2.
module parameters
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  implicit none
  private
  public :: run_parameters, model_parameters, read_parameters, write_model, write_run, &
    find_bond, find_angle, most_rules, most_types, boltzmann_kj_mol_k, chi_matrix, toml_lines

  integer, parameter :: most_types = 16
  integer, parameter :: most_rules = 64
  real(real64), parameter :: boltzmann_kj_mol_k = 0.00831446261815324_real64

  type :: run_parameters
    character(len=256) :: input = "init_bin.dat" !< or a folder with 1.fort, 2.fort, ...
    character(len=256) :: folder = "."           !< of what is written
    !> records, ascii, h5md, vtkhdf or none; "": as compiled
    character(len=16) :: output = ""
    character(len=512) :: options = ""           !< of Sluice, as lines of TOML that end with ;
    integer :: steps = 1000
    integer :: density_every = 10                !< steps from one density to the next
    integer :: print_every = 100                 !< steps from one output to the next
    integer :: conf_every = 0                    !< for restarts; 0: at the end alone; -1: never
    character(len=256) :: checkpoint = ""        !< file that a run goes on from; "": none
    integer :: checkpoint_every = 0              !< densities from one to the next; 0: by cost
    integer :: seed = 1
    real(real64) :: time_step_ps = 0.03_real64
    real(real64) :: temperature_k = 300
    real(real64) :: thermostat_ps = 0            !< time between collisions; 0: none
  end type run_parameters

  type :: model_parameters
    integer :: types = 0
    character(len=8) :: name(most_types) = ""
    real(real64) :: mass_g_mol(most_types) = 72
    integer :: mesh(3) = 16
    real(real64) :: filter_nm = 0                !< width of a Gaussian on the density; 0: none
    real(real64) :: kappa_mol_kj = 0.05_real64
    real(real64) :: density_nm3 = 0              !< of the undisturbed fluid; 0: the mean
    integer :: chi_types(2, most_rules) = 0
    real(real64) :: chi_kj_mol(most_rules) = 0
    integer :: bond_types(2, most_rules) = 0     !< 0: any
    real(real64) :: bond_nm(most_rules) = 0
    real(real64) :: bond_kj_mol_nm2(most_rules) = 0
    integer :: angle_types(3, most_rules) = 0
    real(real64) :: angle_degrees(most_rules) = 180
    real(real64) :: angle_kj_mol(most_rules) = 0 !< per radian squared
  end type model_parameters

contains

  !> Error stop with what is wrong. Every rank reads for itself.
  subroutine read_parameters(path, run, model)
    character(len=*), intent(in) :: path
    type(run_parameters), intent(out) :: run
    type(model_parameters), intent(out) :: model
    character(len=1024) :: word
    integer :: unit, status, i
    open (newunit=unit, file=path, status="old", action="read", iostat=status)
    if (status /= 0) call refuse(path // ": cannot be opened")
    call take_run(run, unit=unit, status=status, message=word)
    if (status /= 0) call refuse(path // ": &run: " // trim(word))
    rewind (unit)
    call take_model(model, unit, status, word)
    if (status /= 0) call refuse(path // ": &model: " // trim(word))
    close (unit)
    do i = 2, command_argument_count()
      call get_command_argument(i, word)
      call take_run(run, text=[character(len=1040) :: "&run", word, "/"], status=status)
      if (status /= 0) call refuse(trim(word) // ": is none of &run: KEY=VALUE, as in Fortran")
    end do
    if (model%types < 1 .or. model%types > most_types) call refuse(path // ": types: 1 to 16")
    if (any(model%mesh < 4)) call refuse(path // ": mesh: at least 4 points a dimension")
    if (model%kappa_mol_kj <= 0) call refuse(path // ": kappa_mol_kj: positive")
    if (run%density_every < 1 .or. run%print_every < 1 .or. run%checkpoint_every < 0) then
      call refuse(path // ": density_every, print_every: at least 1; checkpoint_every: 0 or more")
    end if
  end subroutine

  subroutine take_run(run_of, unit, text, status, message)
    type(run_parameters), intent(inout) :: run_of
    integer, intent(in), optional :: unit
    character(len=*), intent(in), optional :: text(:)
    integer, intent(out) :: status
    character(len=*), intent(inout), optional :: message
    character(len=256) :: input, folder, checkpoint
    character(len=512) :: options
    character(len=16) :: output
    character(len=200) :: why
    integer :: steps, density_every, print_every, conf_every, checkpoint_every, seed
    real(real64) :: time_step_ps, temperature_k, thermostat_ps
    namelist /run/ input, folder, output, options, steps, density_every, print_every, conf_every, &
      checkpoint, checkpoint_every, seed, time_step_ps, temperature_k, thermostat_ps
    input = run_of%input; folder = run_of%folder; output = run_of%output; options = run_of%options
    steps = run_of%steps; density_every = run_of%density_every; print_every = run_of%print_every
    checkpoint = run_of%checkpoint; checkpoint_every = run_of%checkpoint_every
    conf_every = run_of%conf_every; seed = run_of%seed; time_step_ps = run_of%time_step_ps
    temperature_k = run_of%temperature_k; thermostat_ps = run_of%thermostat_ps
    why = ""
    if (present(unit)) then
      read (unit, nml=run, iostat=status, iomsg=why)
    else
      read (text, nml=run, iostat=status, iomsg=why)
    end if
    if (present(message)) message = why
    run_of = run_parameters(input, folder, output, options, steps, density_every, print_every, &
      conf_every, checkpoint, checkpoint_every, seed, time_step_ps, temperature_k, thermostat_ps)
  end subroutine

  subroutine take_model(model_of, unit, status, message)
    type(model_parameters), intent(inout) :: model_of
    integer, intent(in) :: unit
    integer, intent(out) :: status
    character(len=*), intent(inout) :: message
    integer :: types, mesh(3)
    character(len=8) :: name(most_types)
    real(real64) :: mass_g_mol(most_types), filter_nm, kappa_mol_kj, density_nm3
    integer :: chi_types(2, most_rules), bond_types(2, most_rules), angle_types(3, most_rules)
    real(real64), dimension(most_rules) :: chi_kj_mol, bond_nm, bond_kj_mol_nm2, angle_degrees, &
      angle_kj_mol
    namelist /model/ types, name, mass_g_mol, mesh, filter_nm, kappa_mol_kj, density_nm3, &
      chi_types, chi_kj_mol, bond_types, bond_nm, bond_kj_mol_nm2, angle_types, angle_degrees, &
      angle_kj_mol
    types = model_of%types; name = model_of%name; mass_g_mol = model_of%mass_g_mol
    mesh = model_of%mesh; filter_nm = model_of%filter_nm; kappa_mol_kj = model_of%kappa_mol_kj
    density_nm3 = model_of%density_nm3
    chi_types = model_of%chi_types; chi_kj_mol = model_of%chi_kj_mol
    bond_types = model_of%bond_types; bond_nm = model_of%bond_nm
    bond_kj_mol_nm2 = model_of%bond_kj_mol_nm2
    angle_types = model_of%angle_types; angle_degrees = model_of%angle_degrees
    angle_kj_mol = model_of%angle_kj_mol
    read (unit, nml=model, iostat=status, iomsg=message)
    model_of = model_parameters(types, name, mass_g_mol, mesh, filter_nm, kappa_mol_kj, &
      density_nm3, chi_types, chi_kj_mol, bond_types, bond_nm, bond_kj_mol_nm2, angle_types, &
      angle_degrees, angle_kj_mol)
  end subroutine

  !> As a preprocessor leaves it; the program's defaults are not repeated.
  subroutine write_run(unit, run)
    integer, intent(in) :: unit
    type(run_parameters), intent(in) :: run
    write (unit, "(a)") "&run"
    write (unit, "(3a)") "  input = '", trim(run%input), "'"
    write (unit, "(a,i0)") "  steps = ", run%steps, "  density_every = ", run%density_every, &
      "  print_every = ", run%print_every
    write (unit, "(a,f0.6)") "  time_step_ps = ", run%time_step_ps, &
      "  temperature_k = ", run%temperature_k, "  thermostat_ps = ", run%thermostat_ps
    write (unit, "(a)") "/"
  end subroutine

  subroutine write_model(unit, model)
    integer, intent(in) :: unit
    type(model_parameters), intent(in) :: model
    integer :: i
    write (unit, "(a)") "&model"
    write (unit, "(a,i0)") "  types = ", model%types
    do i = 1, model%types
      write (unit, "(a,i0,3a,i0,a,f0.6)") "  name(", i, ") = '", trim(model%name(i)), &
        "'  mass_g_mol(", i, ") = ", model%mass_g_mol(i)
    end do
    write (unit, "(a,i0,2(', ',i0))") "  mesh = ", model%mesh
    write (unit, "(a,f0.6)") "  filter_nm = ", model%filter_nm, "  kappa_mol_kj = ", &
      model%kappa_mol_kj, "  density_nm3 = ", model%density_nm3
    do i = 1, most_rules
      if (model%chi_types(1, i) /= 0) then
        write (unit, "(a,i0,2(a,i0),a,i0,a,f0.6)") "  chi_types(:, ", i, ") = ", &
          model%chi_types(1, i), ", ", model%chi_types(2, i), "  chi_kj_mol(", i, ") = ", &
          model%chi_kj_mol(i)
      end if
      if (model%bond_kj_mol_nm2(i) > 0) then
        write (unit, "(a,i0,2(a,i0),a,i0,a,f0.6,a,i0,a,f0.6)") "  bond_types(:, ", i, ") = ", &
          model%bond_types(1, i), ", ", model%bond_types(2, i), "  bond_nm(", i, ") = ", &
          model%bond_nm(i), "  bond_kj_mol_nm2(", i, ") = ", model%bond_kj_mol_nm2(i)
      end if
      if (model%angle_kj_mol(i) > 0) then
        write (unit, "(a,i0,3(a,i0),a,i0,a,f0.6,a,i0,a,f0.6)") "  angle_types(:, ", i, ") = ", &
          model%angle_types(1, i), ", ", model%angle_types(2, i), ", ", model%angle_types(3, i), &
          "  angle_degrees(", i, ") = ", model%angle_degrees(i), "  angle_kj_mol(", i, ") = ", &
          model%angle_kj_mol(i)
      end if
    end do
    write (unit, "(a)") "/"
  end subroutine

  !> A namelist's text has no ends of lines, so a ; is one.
  pure function toml_lines(text) result(lines)
    character(len=*), intent(in) :: text
    character(len=len(text)) :: lines
    integer :: i
    lines = text
    do i = 1, len(text)
      if (lines(i:i) == ";") lines(i:i) = new_line("a")
    end do
  end function

  pure function chi_matrix(model) result(chi)
    type(model_parameters), intent(in) :: model
    real(real64) :: chi(model%types, model%types)
    integer :: i
    chi = 0
    do i = 1, most_rules
      associate (a => model%chi_types(1, i), b => model%chi_types(2, i))
        if (a < 1 .or. b < 1 .or. a > model%types .or. b > model%types) cycle
        chi(a, b) = model%chi_kj_mol(i)
        chi(b, a) = model%chi_kj_mol(i)
      end associate
    end do
  end function

  pure logical function fits(rule, type)
    integer, intent(in) :: rule, type
    fits = rule == 0 .or. rule == type
  end function

  !> The first rule for a bond of two types; 0: none.
  pure integer function find_bond(model, a, b)
    type(model_parameters), intent(in) :: model
    integer, intent(in) :: a, b
    integer :: i
    find_bond = 0
    do i = 1, most_rules
      if (model%bond_kj_mol_nm2(i) <= 0) cycle
      associate (r => model%bond_types(:, i))
        if (fits(r(1), a) .and. fits(r(2), b) .or. fits(r(1), b) .and. fits(r(2), a)) then
          find_bond = i
          return
        end if
      end associate
    end do
  end function

  !> The first rule for an angle at b; 0: none.
  pure integer function find_angle(model, a, b, c)
    type(model_parameters), intent(in) :: model
    integer, intent(in) :: a, b, c
    integer :: i
    find_angle = 0
    do i = 1, most_rules
      if (model%angle_kj_mol(i) <= 0) cycle
      associate (r => model%angle_types(:, i))
        if (fits(r(2), b) .and. (fits(r(1), a) .and. fits(r(3), c) .or. &
            fits(r(1), c) .and. fits(r(3), a))) then
          find_angle = i
          return
        end if
      end associate
    end do
  end function

  subroutine refuse(what)
    character(len=*), intent(in) :: what
    write (error_unit, "(2a)") "occam: ", what
    error stop 2
  end subroutine
end module parameters

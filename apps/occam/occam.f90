! occam: a hybrid particle-field simulation.
!
!   mpirun -n 4 occam params.nml [KEY=VALUE of &run...]
program occam
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use init_file
  use integrator
  use mpi_f08
  use output
  use parameters
  use particles
  use sluice, only: sluice_checkpoint
  implicit none
  type(run_parameters) :: run
  type(model_parameters) :: model
  type(simulation), target :: state
  type(run_output), target :: out
  type(sluice_checkpoint) :: saved
  integer, target :: prints = 0, confs = 0
  character(len=256) :: path
  integer :: rank, ranks
  integer(int64) :: began, ended, rate
  real(real64) :: seconds(2), slowest(2)
  logical :: is_ending = .false.

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() == 0) then
    if (rank == 0) write (error_unit, "(a)") "occam PARAMS [KEY=VALUE of &run...]: see params.nml"
    error stop 2
  end if
  call get_command_argument(1, path)
  call read_parameters(trim(path), run, model)
  state = make_simulation(run, model, read_input(), MPI_COMM_WORLD)
  if (run%checkpoint /= "") call restore()
  call report(.true.)
  call MPI_Barrier(MPI_COMM_WORLD)
  call system_clock(began, rate)
  out = open_output(run%output, run%folder, toml_lines(run%options), prints, confs, MPI_COMM_WORLD)
  if (state%step == 0) call print_step()
  do while (state%step < run%steps .and. .not. is_ending)
    call state%advance()
    if (mod(state%step, run%print_every) == 0) then
      call print_step()
      call report(.false.)
    end if
    if (run%conf_every > 0) then
      if (mod(state%step, run%conf_every) == 0 .and. state%step < run%steps) then
        call out%print_conf(state)
      end if
    end if
    if (run%checkpoint /= "" .and. state%renews_density()) call save_if_due()
  end do
  if (run%checkpoint /= "") call saved%close()
  call MPI_Barrier(MPI_COMM_WORLD)
  if (run%conf_every >= 0 .and. state%step == run%steps) call out%print_conf(state)
  call out%close()
  call system_clock(ended)
  seconds = [real(ended - began, real64) / rate, out%seconds]
  call MPI_Reduce(seconds, slowest, 2, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
  if (rank == 0) print "(a,f0.4,a,f0.4,a)", "run: ", slowest(1), " s, of them output ", &
    slowest(2), " s"
  call MPI_Finalize()

contains

  !> What a rank computes for it, and waits for slower ones, is not counted as output. Collective.
  subroutine print_step()
    type(particle_view) :: seen
    if (run%output /= "none") seen = state%observed_particles()
    call MPI_Barrier(MPI_COMM_WORLD)
    call out%print_step(state, seen)
  end subroutine

  !> Goes on where a run before has come to. Collective.
  subroutine restore()
    integer :: number
    if (is_text_output(run%output)) then
      if (rank == 0) write (error_unit, "(a)") &
        "occam: checkpoint: files of text would begin anew: use records, h5md or vtkhdf"
      error stop 2
    end if
    associate (part => state%part, shape => [3, nint(state%all_particles)])
      call saved%open(trim(run%checkpoint), MPI_COMM_WORLD, interval_calls=run%checkpoint_every)
      call saved%rows("x_nm", part%id, part%x_nm, shape=shape)
      call saved%rows("v_nm_ps", part%id, part%v_nm_ps, shape=shape)
    end associate
    call saved%value("step", state%step)
    call saved%value("prints", prints)
    call saved%value("confs", confs)
    call saved%restore(number)
    if (number == 0) return
    call state%renew()
    if (rank == 0) print "(a,i0)", "occam: goes on from step ", state%step
  end subroutine

  !> Collective, after a step that renewed the density.
  subroutine save_if_due()
    prints = out%prints
    confs = out%confs
    if (saved%due()) then
      call out%settle(MPI_COMM_WORLD)
      call saved%save(time=state%step * run%time_step_ps)
    end if
    is_ending = saved%ending()
  end subroutine

  !> A file of records, or a folder with a file of text a rank.
  function read_input() result(part)
    type(particle_part) :: part
    character(len=300) :: one_more
    logical :: is_text, is_more
    inquire (file=text_path(1), exist=is_text)
    if (is_text) then
      one_more = text_path(ranks + 1)
      inquire (file=one_more, exist=is_more)
      if (is_more) call refuse(trim(one_more) // " would not be read: run as many ranks as there &
        &are files, or make one file of records of them (sluice convert)")
      part = read_part_text(trim(text_path(rank + 1)))
    else
      if (same_path(trim(run%input), trim(run%folder) // "/conf") .and. run%output /= "none" .and. &
        .not. is_text_output(run%output)) call refuse(trim(run%input) // " is where this run's &
        &last state goes: give another folder, and another seed")
      part = read_part(trim(run%input), MPI_COMM_WORLD)
    end if
    call check_part(part)
  end function

  pure function text_path(part) result(path)
    integer, intent(in) :: part
    character(len=300) :: path
    write (path, "(2a,i0,a)") trim(run%input), "/", part, ".fort"
  end function

  !> But for "./" before either, and slashes that follow one another.
  pure logical function same_path(one, other)
    character(len=*), intent(in) :: one, other
    same_path = plain_path(one) == plain_path(other)
  end function

  pure function plain_path(path) result(plain)
    character(len=*), intent(in) :: path
    character(len=:), allocatable :: plain
    integer :: at
    plain = path
    do
      at = index(plain, "//")
      if (at == 0) exit
      plain = plain(:at) // plain(at + 2:)
    end do
    if (index(plain, "./") == 1) plain = plain(3:)
  end function

  !> The same on every rank.
  subroutine refuse(what)
    character(len=*), intent(in) :: what
    if (rank == 0) write (error_unit, "(2a)") "occam: ", what
    error stop 2
  end subroutine

  !> Every rank needs the box; types must be of the model.
  subroutine check_part(part)
    type(particle_part), intent(inout) :: part
    call MPI_Allreduce(MPI_IN_PLACE, part%box_nm, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    if (any(part%box_nm <= 0)) then
      if (rank == 0) write (error_unit, "(3a)") "occam: ", trim(run%input), ": has no particles"
      error stop 2
    end if
    if (any(part%type < 1 .or. part%type > model%types)) then
      write (error_unit, "(3a)") "occam: ", trim(run%input), ": a type that &model has not"
      error stop 2
    end if
  end subroutine

  !> Energies of all particles, kJ/mol. Collective.
  subroutine report(is_first)
    logical, intent(in) :: is_first
    type(run_totals) :: totals
    totals = state%totals()
    if (rank /= 0) return
    if (is_first) then
      print "(a,i0,a,i0,a,3(1x,i0))", "occam: ", nint(state%all_particles), " particles on ", &
        ranks, " ranks, mesh", state%mesh%n
      print "(a10,6a16,a12)", "step", "kinetic", "bonds", "angles", "field", "total", "T/K", &
        "momentum"
    end if
    print "(i10,6f16.4,es12.2)", state%step, totals%kinetic, totals%bonds, totals%angles, &
      totals%field, totals%energy(), totals%temperature_k, norm2(totals%momentum)
  end subroutine
end program occam

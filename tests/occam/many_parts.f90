! The output of a run on many ranks, by one process that is each of them in turn: four files of
! records, or four of text a rank. Two steps and two states to go on from, by the program's own
! output.
!
!   occam_many_parts records|ascii PARTS BLOCKS FOLDER
program many_parts
  use generator, only: make_surfactant, surfactant_model
  use hymd, only: take_share
  use integrator
  use mpi_f08, only: MPI_COMM_SELF, MPI_Finalize, MPI_Init
  use output
  use parameters
  use particles
  implicit none
  type(run_parameters) :: run
  type(model_parameters) :: model
  type(particle_part) :: all
  type(run_output) :: out
  integer :: parts, blocks, p, step

  call MPI_Init()
  call get_command_argument(1, run%output)
  parts = number_of(2)
  blocks = number_of(3)
  call get_command_argument(4, run%folder)
  run%density_every = 1
  model = surfactant_model(blocks)
  model%mesh = 4
  all = make_surfactant(blocks, 1, 1, run%seed, run%temperature_k)
  if (run%output == "ascii") then
    do p = 1, parts
      out = open_parts(run%output, run%folder, run%options, p, p)
      do step = 0, 1
        call add(p, step, 1)
      end do
      call out%close()
    end do
  else
    out = open_parts(run%output, run%folder, run%options, 1, parts)
    do step = 0, 1
      do p = 1, parts
        call add(p, step, p)
      end do
      call out%write_step()
      call out%write_conf()
    end do
    call out%close()
  end if
  call MPI_Finalize()

contains

  integer function number_of(argument)
    integer, intent(in) :: argument
    character(len=20) :: text
    call get_command_argument(argument, text)
    read (text, *) number_of
  end function

  !> What rank `number`, alone in its field, writes after so many steps.
  subroutine add(number, steps, i)
    integer, intent(in) :: number, steps, i
    type(simulation) :: state
    state = make_simulation(run, model, take_share(all, number, parts), MPI_COMM_SELF)
    do while (state%step < steps)
      call state%advance()
    end do
    call out%add_step(state, state%observed_particles(), i)
    call out%add_conf(state, i)
  end subroutine
end program many_parts

! mfdn_iosim: the wave-function phase of a run of any size, without the physics.
!
!   mpirun -n 19 mfdn_iosim write --dimension 32598920     1.8 GiB, as 19 diagonal ranks write it
!   mpirun -n 235 mfdn_iosim read --dimension 1990061078   111 GiB, written before
program iosim
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  use mpi_f08
  use phases
  implicit none
  type(phase_settings) :: settings
  character(len=8) :: job
  integer :: rank, ranks

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_arguments()
  select case (job)
  case ("write")
    call write_phase()
  case ("read")
    call read_phase()
  case ("join")
    call join_phase()
  case default
    if (rank == 0) call print_help()
  end select
  call MPI_Finalize()

contains

  subroutine write_phase()
    real(real64) :: start
    call begin_phase(settings, MPI_COMM_WORLD)
    start = started()
    call create_files()
    call write_vectors()
    call close_files()
    call report("written", start)
  end subroutine

  subroutine read_phase()
    real(real64) :: start
    integer(int64) :: wrong
    call begin_phase(settings, MPI_COMM_WORLD)
    call forget_vectors()
    start = started()
    call open_files()
    call read_vectors()
    call close_files()
    call report("read", start)
    wrong = check_vectors()
    call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    if (wrong == 0) return
    if (rank == 0) write (error_unit, "(a,i0,a)") "mfdn_iosim: ", wrong, " elements are wrong"
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine join_phase()
    real(real64) :: start
    settings%backend = "processes"
    call begin_phase(settings, MPI_COMM_WORLD)
    start = started()
    call join_files()
    call report("joined", start)
  end subroutine

  real(real64) function started()
    call MPI_Barrier(MPI_COMM_WORLD)
    started = MPI_Wtime()
  end function

  subroutine report(what, start)
    character(len=*), intent(in) :: what
    real(real64), intent(in) :: start
    real(real64) :: seconds, mib
    seconds = MPI_Wtime() - start
    call MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    mib = 4.0_real64 * settings%dimension * settings%states / 1048576
    if (rank == 0) print "(a,a,f0.1,a,f0.3,a,f0.1,a,f0.3,a)", what, ": ", mib, " MiB in ", &
      seconds, " s, ", mib / seconds, " MiB/s, cost ", ranks * seconds, " rank seconds"
  end subroutine

  subroutine read_arguments()
    character(len=512) :: key, text
    integer :: i, status
    job = "help"
    if (command_argument_count() == 0) return
    call get_command_argument(1, job)
    do i = 2, command_argument_count() - 1, 2
      call get_command_argument(i, key)
      call get_command_argument(i + 1, text)
      status = 0
      select case (key)
      case ("--dimension"); read (text, *, iostat=status) settings%dimension
      case ("--states"); read (text, *, iostat=status) settings%states
      case ("--piece"); read (text, *, iostat=status) settings%piece
      case ("--file"); settings%path = text
      case ("--backend"); settings%backend = trim(text)
      case ("--mode"); settings%store%mode = trim(text)
      case ("--strategy"); settings%store%strategy = trim(text)
      case ("--hints"); settings%store%hints = trim(text)
      case ("--options"); settings%store%options = text
      case ("--sync"); settings%store%sync = text == "yes"
      case default; status = 1
      end select
      if (status /= 0) then
        if (rank == 0) write (error_unit, "(4a)") "mfdn_iosim: ", trim(key), " ", trim(text)
        error stop 2
      end if
    end do
  end subroutine

  subroutine print_help()
    print "(a)", "mfdn_iosim write|read|join [option value...], every rank a diagonal one", &
      "  --dimension D   elements of a vector; --states K: vectors (15)", &
      "  --piece E       interleave the ranks by pieces of E elements (0: contiguous)", &
      "  --file PATH --backend hdf5|hdf5-mpiio|mpiio|raw|root|processes", &
      "  --mode independent|collective --strategy S --hints H --options T --sync yes|no"
  end subroutine
end program iosim

! The command line of mfdn.
module options
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use basis, only: nucleus
  use operators, only: interaction
  use stores, only: store_settings
  implicit none
  private
  public :: run_options, read_options, print_help

  type :: run_options
    character(len=16) :: job = "solve"
    type(nucleus) :: what = nucleus(protons=3, neutrons=3, nmax=2)
    type(interaction) :: forces
    character(len=512) :: three_body = ""
    integer :: states = 15
    integer :: iterations = 400
    real(real64) :: tolerance = 1e-7_real64
    character(len=512) :: file = "wave_functions.h5"
    character(len=16) :: backend = "hdf5"
    type(store_settings) :: settings
    logical :: properties_now = .true.
    logical :: structure = .false.
    character(len=512) :: checkpoint = ""
    integer :: every = 0
    integer :: channels = 1000 !< of a three-body file to make
  end type run_options

contains

  !> Error stop for what is no option or has no value. Every rank reads for itself.
  subroutine read_options(chosen, is_help, is_first)
    type(run_options), intent(out) :: chosen
    logical, intent(out) :: is_help
    logical, intent(in) :: is_first !< the rank that says what is wrong
    character(len=512) :: key, text
    integer :: i
    is_help = .false.
    i = 1
    do while (i <= command_argument_count())
      call get_command_argument(i, key)
      text = ""
      select case (key)
      case ("solve", "observe", "make-three-body")
        chosen%job = trim(key)
        i = i + 1
        cycle
      case ("--help", "-h")
        is_help = .true.
        return
      case ("--structure")
        chosen%structure = .true.
        i = i + 1
        cycle
      case ("--no-sync")
        chosen%settings%sync = .false.
        i = i + 1
        cycle
      end select
      if (i == command_argument_count()) call refuse(trim(key) // ": has no value", is_first)
      call get_command_argument(i + 1, text)
      call take(chosen, trim(key), text, is_first)
      i = i + 2
    end do
    if (chosen%states < 1) call refuse("--states: at least 1", is_first)
    if (chosen%iterations < chosen%states .and. chosen%job == "solve") call refuse("--iterations: &
      &at least as many as --states: each state needs a vector", is_first)
  end subroutine

  subroutine take(chosen, key, text, is_first)
    type(run_options), intent(inout) :: chosen
    character(len=*), intent(in) :: key, text
    logical, intent(in) :: is_first
    integer :: status
    status = 0
    select case (key)
    case ("--protons"); read (text, *, iostat=status) chosen%what%protons
    case ("--neutrons"); read (text, *, iostat=status) chosen%what%neutrons
    case ("--nmax"); read (text, *, iostat=status) chosen%what%nmax
    case ("--shells"); read (text, *, iostat=status) chosen%what%shells
    case ("--seed"); read (text, *, iostat=status) chosen%forces%seed
    case ("--states"); read (text, *, iostat=status) chosen%states
    case ("--iterations"); read (text, *, iostat=status) chosen%iterations
    case ("--tolerance"); read (text, *, iostat=status) chosen%tolerance
    case ("--every"); read (text, *, iostat=status) chosen%every
    case ("--channels"); read (text, *, iostat=status) chosen%channels
    case ("--three-body"); chosen%three_body = text
    case ("--file"); chosen%file = text
    case ("--checkpoint"); chosen%checkpoint = text
    case ("--backend"); chosen%backend = trim(text)
    case ("--strategy"); chosen%settings%strategy = trim(text)
    case ("--hints"); chosen%settings%hints = trim(text)
    case ("--options"); chosen%settings%options = text
    case ("--mode")
      chosen%settings%mode = trim(text)
      if (text /= "independent" .and. text /= "collective") status = 1
    case ("--properties")
      chosen%properties_now = text == "now"
      if (text /= "now" .and. text /= "later") status = 1
    case default
      call refuse("no option " // key, is_first)
    end select
    if (status /= 0) call refuse(key // " " // trim(text) // ": is no value of this option", &
      is_first)
  end subroutine

  subroutine refuse(what, is_first)
    character(len=*), intent(in) :: what
    logical, intent(in) :: is_first
    if (is_first) write (error_unit, "(3a)") "mfdn: ", what, " (see: mfdn --help)"
    error stop 2
  end subroutine

  subroutine print_help()
    character(len=*), parameter :: lines(*) = [character(len=88) :: &
      "mfdn [solve|observe|make-three-body] [option...], on 1, 6, 15, ... ranks", &
      "", &
      "solve: the lowest states of a nucleus; writes their wave functions, reads them back,", &
      "checks them. observe: fills in energy, J and T of a file's states. make-three-body: an", &
      "input file for the orbits of --shells (any number of ranks).", &
      "", &
      "  --protons Z --neutrons N --nmax N --shells S   the basis (3, 3, 2, as nmax allows)", &
      "  --seed K             of the random two-body force (1)", &
      "  --three-body FILE    a three-body force too; --channels C: of a file to make (1000)", &
      "  --states K           how many (15)", &
      "  --iterations K       at most (400), --states or more; --tolerance R: residuals (1e-7)", &
      "  --file PATH          the wave functions (wave_functions.h5)", &
      "  --backend B          hdf5, hdf5-mpiio, mpiio, raw, root, processes (hdf5)", &
      "  --mode M             independent or collective", &
      "  --strategy S         of Sluice, instead of the mode's", &
      "  --hints H            of MPI-IO: cb_nodes=1,...", &
      "  --options T          further ones of Sluice: 'writers=2;checksum=false'", &
      "  --no-sync            do not wait for the disk", &
      "  --structure          append the Hamiltonian's structure", &
      "  --properties WHEN    now, or later (by observe)", &
      "  --checkpoint PATH    of the iterations; gone on with where it is there", &
      "  --every K            iterations from one checkpoint to the next (0: by what one costs)"]
    integer :: i
    print "(a)", (trim(lines(i)), i=1, size(lines))
  end subroutine
end module options

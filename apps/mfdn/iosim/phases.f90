! The wave-function phase alone: vectors of any dimension whose elements say where they belong,
! written and read by the program's own stores; every rank is a diagonal one.
!
! The procedures with C names are for the benchmark, which times them one by one. One store is under
! way at a time.
!
! Invariant: element g (from 0) of state s is mod(8191 g + 524287 s, 2**24), exactly, so displaced
! blocks are noticed.
module phases
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use mpi_f08
  use record_store, only: join_records, process_store
  use triangle, only: part_size
  use wave_functions
  implicit none
  private
  public :: phase_settings, begin_phase, create_files, open_files, write_vectors, read_vectors, &
    close_files, close_to_join, join_files, check_vectors, forget_vectors

  type :: phase_settings
    character(len=16) :: backend = "hdf5"
    type(store_settings) :: store
    character(len=512) :: path = "wave_functions.h5"
    integer(int64) :: dimension = 1000000
    integer(int64) :: piece = 0 !< elements; 0: a rank's part is contiguous
    integer :: states = 15
  end type phase_settings

  class(wave_store), allocatable :: store
  type(phase_settings) :: now
  real(real32), allocatable, target :: vectors(:, :) !< own elements, states; kept
  integer(int64) :: filled(3) = -1 !< dimension, piece and states that `vectors` has now

contains

  !> Makes the store, and the vectors unless they are there. Collective. With pieces, the dimension
  !> is rounded down to a whole number of them for each rank.
  subroutine begin_phase(settings, comm)
    type(phase_settings), intent(in) :: settings
    type(MPI_Comm), intent(in) :: comm
    integer(int64) :: elements
    integer :: rank, ranks
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    now = settings
    elements = part_size(now%dimension, ranks, rank)
    if (now%piece > 0) elements = now%dimension / ranks / now%piece * now%piece
    if (allocated(store)) deallocate (store)
    store = make_store(trim(now%backend))
    call describe(store, now%store, file_path(), comm, now%states, elements, now%piece)
    if (allocated(vectors)) then
      if (any(shape(vectors, kind=int64) /= [elements, int(now%states, int64)])) &
        deallocate (vectors)
    end if
    if (.not. allocated(vectors)) allocate (vectors(elements, now%states))
    if (any(filled /= shape_now())) call fill_vectors()
  end subroutine

  function shape_now() result(numbers)
    integer(int64) :: numbers(3)
    numbers = [now%dimension, now%piece, int(now%states, int64)]
  end function

  !> A file a rank goes to a folder beside the file that they are joined to.
  function file_path() result(path)
    character(len=:), allocatable :: path
    path = trim(now%path)
    if (now%backend == "processes") path = path // ".parts"
  end function

  subroutine fill_vectors()
    integer(int64) :: i
    integer :: state
    do state = 1, now%states
      do i = 1, size(vectors, 1, kind=int64)
        vectors(i, state) = expected(i, state)
      end do
    end do
    filled = shape_now()
  end subroutine

  !> Of own element `i`.
  pure real(real32) function expected(i, state)
    integer(int64), intent(in) :: i
    integer, intent(in) :: state
    integer(int64) :: place
    place = store%first + i - 1
    if (store%piece > 0) place = ((i - 1) / store%piece * store%parts + store%rank) * store%piece &
      + mod(i - 1, store%piece)
    expected = real(iand(8191 * place + 524287_int64 * state, 16777215_int64), real32)
  end function

  subroutine create_files() bind(c, name="mfdn_phase_create")
    call store%create()
  end subroutine

  subroutine open_files() bind(c, name="mfdn_phase_open")
    call store%open()
  end subroutine

  subroutine write_vectors() bind(c, name="mfdn_phase_write")
    integer :: state
    do state = 1, now%states
      call write_wave_function(store, state, vectors(:, state))
    end do
  end subroutine

  subroutine read_vectors() bind(c, name="mfdn_phase_read")
    integer :: state
    do state = 1, now%states
      call read_wave_function(store, state, vectors(:, state))
    end do
  end subroutine

  subroutine close_files() bind(c, name="mfdn_phase_close")
    call store%close()
  end subroutine

  !> Before join_files: parts that are about to be joined need not be on the disk themselves.
  subroutine close_to_join() bind(c, name="mfdn_phase_close_to_join")
    select type (store)
    type is (process_store)
      store%is_joined = .true.
    end select
    call store%close()
  end subroutine

  !> Of a file a rank one file; nothing for the other stores. By the first rank, while all wait.
  subroutine join_files() bind(c, name="mfdn_phase_join")
    select type (store)
    type is (process_store)
      if (store%rank == 0) call join_records(store%path, store%parts, now%states, trim(now%path), &
        now%store%sync)
      call MPI_Barrier(store%comm)
    end select
  end subroutine

  !> Forgets the vectors, so that reading must bring them back.
  subroutine forget_vectors() bind(c, name="mfdn_phase_forget")
    vectors = -1
    filled = -1
  end subroutine

  !> How many elements are wrong on this rank.
  integer(c_int64_t) function check_vectors() bind(c, name="mfdn_phase_check") result(wrong)
    integer(int64) :: i
    integer :: state
    wrong = 0
    do state = 1, now%states
      do i = 1, size(vectors, 1, kind=int64)
        if (vectors(i, state) /= expected(i, state)) wrong = wrong + 1
      end do
    end do
    if (wrong == 0) filled = shape_now()
  end function

  !> begin_phase for C: texts end with NUL, `comm` is Fortran's handle.
  subroutine begin_from_c(comm, backend, mode, strategy, hints, options, path, dimension, piece, &
      states) bind(c, name="mfdn_phase_begin")
    integer(c_int), value :: comm, states
    character(kind=c_char), intent(in) :: backend(*), mode(*), strategy(*), hints(*), options(*), &
      path(*)
    integer(c_int64_t), value :: dimension, piece
    type(phase_settings) :: settings
    type(MPI_Comm) :: handle
    handle%MPI_VAL = comm
    settings%backend = text_of(backend)
    settings%store%mode = text_of(mode)
    settings%store%strategy = text_of(strategy)
    settings%store%hints = text_of(hints)
    settings%store%options = text_of(options)
    settings%path = text_of(path)
    settings%dimension = dimension
    settings%piece = piece
    settings%states = states
    call begin_phase(settings, handle)
  end subroutine

  function text_of(chars) result(text)
    character(kind=c_char), intent(in) :: chars(*)
    character(len=:), allocatable :: text
    integer :: length, i
    length = 0
    do while (chars(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = chars(i)
    end do
  end function
end module phases

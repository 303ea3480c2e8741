! mfdn: the lowest states of a nucleus, by Lanczos iterations over a triangle of ranks.
program mfdn
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use basis
  use description
  use hamiltonian
  use lanczos
  use mpi_f08
  use observables
  use operators
  use options
  use sluice_store, only: hdf5_store
  use three_body, only: read_three_body, write_three_body
  use triangle
  use wave_functions
  implicit none
  type(run_options) :: chosen
  type(many_body_basis) :: states
  type(triangle_layout) :: layout
  type(sparse_block) :: block
  integer :: rank
  logical :: is_help

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call read_options(chosen, is_help, rank == 0)
  if (is_help) then
    if (rank == 0) call print_help()
  else if (chosen%job == "make-three-body") then
    states = make_basis(chosen%what)
    call write_three_body(trim(chosen%three_body), MPI_COMM_WORLD, states%orbits%orbits, &
      chosen%channels, 0.5_real64)
  else if (chosen%job == "observe") then
    call observe_states()
  else
    call solve_states()
  end if
  call MPI_Finalize()

contains

  subroutine make_problem()
    type(operator_table) :: tables(3)
    real(real64), allocatable :: three(:, :, :)
    states = make_basis(chosen%what)
    layout = make_triangle(MPI_COMM_WORLD, states%dimension)
    chosen%states = int(min(int(chosen%states, int64), states%dimension))
    tables(which_h) = make_operator(states%orbits, kind_hamiltonian, chosen%forces)
    tables(which_j2) = make_operator(states%orbits, kind_j_squared, chosen%forces)
    tables(which_t2) = make_operator(states%orbits, kind_t_squared, chosen%forces)
    allocate (three(0, 0, 0))
    if (chosen%three_body /= "") then
      call read_three_body(trim(chosen%three_body), MPI_COMM_WORLD, states%orbits%orbits, three)
    end if
    block = make_block(states, layout, tables, three)
    call print_problem()
  end subroutine

  subroutine print_problem()
    integer(int64) :: total
    call MPI_Reduce(block%elements, total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print "(a,i0,a,i0,a,i0,a)", "basis: ", states%dimension, &
      " states; matrix: ", total, " elements on ", layout%n, " diagonal ranks"
  end subroutine

  !> What a checkpoint must be of.
  function problem_text() result(text)
    character(len=700) :: text
    write (text, "(5(a,i0),3a)") "Z=", chosen%what%protons, " N=", chosen%what%neutrons, &
      " Nmax=", chosen%what%nmax, " shells=", chosen%what%shells, " seed=", chosen%forces%seed, &
      " three-body='", trim(chosen%three_body), "'"
  end function

  subroutine solve_states()
    type(lanczos_run), target :: run
    real(real32), allocatable :: vectors(:, :)
    integer :: i
    call make_problem()
    call run%start(layout, int(min(int(chosen%iterations, int64), states%dimension)))
    if (chosen%checkpoint /= "") call run%restore(layout, trim(chosen%checkpoint), chosen%every, &
      problem_text())
    if (rank == 0 .and. run%resumed > 0) print "(a,i0)", "resumed after iteration ", run%resumed
    call run%solve(layout, block, chosen%states, chosen%tolerance)
    if (run%is_stopped) then
      if (rank == 0) print "(a,i0)", "stopped after iteration ", run%done
      return
    end if
    if (rank == 0) print "(a,i0,a)", "Lanczos: ", run%done, " iterations"
    allocate (vectors(size(run%next), chosen%states))
    if (layout%is_diagonal) then
      do i = 1, chosen%states
        vectors(:, i) = run%state_vector(i)
      end do
    end if
    call write_states(run%values, vectors)
    call check_states(run%values)
  end subroutine

  subroutine write_states(energies, vectors)
    real(real64), intent(in) :: energies(:)
    real(real32), intent(in), target :: vectors(:, :)
    class(wave_store), allocatable :: store
    real(real64) :: found(3, chosen%states)
    integer :: i
    do i = 1, chosen%states
      found(:, i) = properties_of(layout, block, real(vectors(:, i), real64))
    end do
    found(1, :) = energies
    store = make_store(trim(chosen%backend))
    if (layout%is_diagonal) then
      call describe(store, chosen%settings, chosen%file, layout%diagonal, chosen%states, &
        size(vectors, 1, kind=int64))
      call store%create()
      do i = 1, chosen%states
        call write_wave_function(store, i, vectors(:, i))
      end do
    end if
    select type (store)
    type is (hdf5_store)
      if (layout%is_diagonal) then
        call store%file%flush()
        call append_basis(store%file, layout, states, chosen%what, chosen%forces, &
          chosen%three_body)
      end if
      if (chosen%structure) call append_structure(store%file, layout, block)
      if (chosen%properties_now .and. rank == 0) call put_properties(store%file, found)
    end select
    if (layout%is_diagonal) call store%close()
  end subroutine

  !> Reads the file back and prints what its vectors are.
  subroutine check_states(energies)
    real(real64), intent(in) :: energies(:)
    real(real32), allocatable, target :: vectors(:, :)
    real(real64) :: residuals(chosen%states), found(3, chosen%states), worst
    integer :: i
    call read_states(vectors)
    do i = 1, chosen%states
      found(:, i) = properties_of(layout, block, real(vectors(:, i), real64))
      residuals(i) = residual_of(layout, block, energies(i), real(vectors(:, i), real64))
    end do
    worst = worst_overlap(layout, vectors)
    if (rank /= 0) return
    print "(a)", "state           energy          J          T   residual"
    do i = 1, chosen%states
      print "(i5,f18.11,2f11.6,es11.2)", i, energies(i), found(2:, i), residuals(i)
    end do
    print "(a,es9.2)", "orthogonality: largest deviation ", worst
  end subroutine

  subroutine read_states(vectors)
    real(real32), allocatable, target, intent(out) :: vectors(:, :)
    class(wave_store), allocatable :: store
    integer(int64) :: elements
    integer :: i
    elements = merge(layout%elements(layout%row), 0_int64, layout%is_diagonal)
    allocate (vectors(elements, chosen%states))
    if (.not. layout%is_diagonal) return
    store = make_store(trim(chosen%backend))
    call describe(store, chosen%settings, chosen%file, layout%diagonal, chosen%states, elements)
    call store%open()
    do i = 1, chosen%states
      call read_wave_function(store, i, vectors(:, i))
    end do
    call store%close()
  end subroutine

  !> Another job, on any number of ranks: the properties of a file that solve has written.
  subroutine observe_states()
    character(len=:), allocatable :: three_body_path
    real(real32), allocatable, target :: vectors(:, :)
    real(real64), allocatable :: found(:, :)
    integer :: i
    call read_problem(trim(chosen%file), chosen%what, chosen%forces, three_body_path, chosen%states)
    chosen%three_body = three_body_path
    call make_problem()
    call read_states(vectors)
    allocate (found(3, chosen%states))
    do i = 1, chosen%states
      found(:, i) = properties_of(layout, block, real(vectors(:, i), real64))
    end do
    if (layout%is_diagonal) call fill_in_properties(trim(chosen%file), layout, found)
    if (rank == 0) print "(i5,f18.11,2f11.6)", (i, found(:, i), i=1, chosen%states)
  end subroutine
end program mfdn

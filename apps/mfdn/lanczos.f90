! Lanczos iterations with full reorthogonalisation, for the lowest states.
!
! Invariants: the vectors live on the diagonal ranks; the others only multiply. The start vector is
! a function of the global index, so every layout goes the same way but for rounding. A run goes on
! from its last checkpoint, on any number of ranks: what it registers is all that it needs.
module lanczos
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use hamiltonian, only: sparse_block, which_h
  use sluice, only: sluice_checkpoint
  use tridiagonal, only: solve_tridiagonal
  use triangle, only: triangle_layout
  implicit none
  private
  public :: lanczos_run, apply_operator

  integer, parameter :: saved_together = 8  !< vectors in one array of a checkpoint

  type :: lanczos_run
    integer :: done = 0                          !< iterations
    integer :: resumed = 0                       !< of these, from a checkpoint
    logical :: is_stopped = .false.              !< the job ends: the next run goes on
    logical, private :: is_saved = .false.
    type(sluice_checkpoint), private :: saved
    character(len=700), private :: problem = ""  !< what the vectors are of
    real(real64), allocatable :: alpha(:), beta(:)
    real(real64), allocatable :: vectors(:, :)   !< own elements, iterations; diagonal ranks
    real(real64), allocatable :: next(:)
    real(real64), allocatable :: values(:)       !< lowest eigenvalues
    real(real64), allocatable :: mixing(:, :)    !< eigenvectors in terms of `vectors`
  contains
    procedure :: start
    procedure :: restore
    procedure :: solve
    procedure :: state_vector
  end type lanczos_run

contains

  !> Room for `most` iterations, and the first vector. Collective.
  subroutine start(self, layout, most)
    class(lanczos_run), intent(inout) :: self
    type(triangle_layout), intent(in) :: layout
    integer, intent(in) :: most
    integer(int64) :: elements
    elements = 0
    if (layout%is_diagonal) elements = layout%elements(layout%row)
    allocate (self%alpha(most), self%beta(most), self%vectors(elements, most), source=0.0_real64)
    allocate (self%next(elements))
    if (.not. layout%is_diagonal) return
    call fill_by_index(layout, 1, self%next)
    self%next = self%next / norm(layout, self%next)
  end subroutine

  !> Goes on from the newest checkpoint of `path`, where there is one, and saves there each `every`
  !> iterations (0: by what it costs). `problem`: what must be equal for its vectors to be of use;
  !> error stop where it is not. Collective over all ranks.
  subroutine restore(self, layout, path, every, problem)
    class(lanczos_run), intent(inout), target :: self
    type(triangle_layout), intent(in) :: layout
    character(len=*), intent(in) :: path, problem
    integer, intent(in) :: every
    integer(int64) :: first, most
    integer :: rank, scalars, k, last
    character(len=16) :: name
    first = layout%first(layout%row) + 1
    most = size(self%alpha)
    call MPI_Comm_rank(layout%world, rank)
    scalars = merge(size(self%alpha), 0, rank == 0) ! alike on all: rank 0 has them
    self%problem = problem
    self%is_saved = .true.
    call self%saved%open(path, layout%world, interval_calls=every, incremental=.true.)
    ! Vectors that are there do not change any more: a save writes those of the last iterations.
    do k = 1, int(most), saved_together
      last = min(k + saved_together - 1, int(most))
      write (name, "(a,i0)") "vectors/from_", k
      call self%saved%array(trim(name), self%vectors(:, k:last), &
        shape=[layout%dimension, last - k + 1_int64], start=[first, 1_int64])
    end do
    call self%saved%array("next", self%next, shape=[layout%dimension], start=[first])
    call self%saved%array("alpha", self%alpha(:scalars), shape=[most], start=[1_int64])
    call self%saved%array("beta", self%beta(:scalars), shape=[most], start=[1_int64])
    call self%saved%value("iterations", self%done)
    call self%saved%text("problem", self%problem)
    call self%saved%restore()
    if (self%problem /= problem) then
      if (rank == 0) write (error_unit, "(5a)") "mfdn: ", path, ": is a checkpoint of another &
        &run: ", trim(self%problem), ": move it away, or give its options"
      error stop 2
    end if
    call MPI_Bcast(self%alpha, size(self%alpha), MPI_DOUBLE_PRECISION, 0, layout%world)
    call MPI_Bcast(self%beta, size(self%beta), MPI_DOUBLE_PRECISION, 0, layout%world)
    self%resumed = self%done
  end subroutine

  !> Until the lowest `states` eigenvectors have residuals below `tolerance` (in units of the
  !> eigenvalues), or the room is full; or the job is about to end. Collective.
  subroutine solve(self, layout, block, states, tolerance)
    class(lanczos_run), intent(inout) :: self
    type(triangle_layout), intent(in) :: layout
    type(sparse_block), intent(in) :: block
    integer, intent(in) :: states
    real(real64), intent(in) :: tolerance
    do while (.not. (is_enough(self, layout, states, tolerance) .or. self%is_stopped))
      call iterate(self, layout, block)
      if (self%is_saved) call save_if_due(self, layout)
    end do
    if (self%is_saved) call self%saved%close()
    if (.not. self%is_stopped) call find_lowest(self, states)
  end subroutine

  !> Collective over all ranks.
  logical function is_enough(self, layout, states, tolerance)
    class(lanczos_run), intent(in) :: self
    type(triangle_layout), intent(in) :: layout
    integer, intent(in) :: states
    real(real64), intent(in) :: tolerance
    is_enough = self%done >= size(self%alpha)
    if (layout%is_diagonal .and. mod(self%done, 10) == 0 .and. self%done >= states) then
      is_enough = is_enough .or. largest_residual(self, states) < tolerance
    end if
    call MPI_Bcast(is_enough, 1, MPI_LOGICAL, 0, layout%world)
  end function

  !> Collective over all ranks.
  subroutine save_if_due(self, layout)
    class(lanczos_run), intent(inout) :: self
    type(triangle_layout), intent(in) :: layout
    integer :: number, rank
    if (self%saved%due()) then
      call self%saved%save(time=real(self%done, real64), number=number)
      call MPI_Comm_rank(layout%world, rank)
      if (rank == 0 .and. number > 0) then
        print "(a,i0,a)", "checkpoint: iteration ", self%done, " is durable"
        flush (6)
      end if
    end if
    self%is_stopped = self%saved%ending()
  end subroutine

  !> The eigenvector of state `number`, own elements, as it is stored.
  function state_vector(self, number) result(vector)
    use, intrinsic :: iso_fortran_env, only: real32
    class(lanczos_run), intent(in) :: self
    integer, intent(in) :: number
    real(real32), allocatable :: vector(:)
    vector = real(matmul(self%vectors(:, :self%done), self%mixing(:, number)), real32)
  end function

  !> product = operator * own, on the diagonal ranks. Collective.
  subroutine apply_operator(layout, block, which, own, product)
    type(triangle_layout), intent(in) :: layout
    type(sparse_block), intent(in) :: block
    integer, intent(in) :: which
    real(real64), intent(in) :: own(:)
    real(real64), intent(inout) :: product(:)
    real(real64), allocatable :: of_row(:), of_column(:), into_row(:), into_column(:)
    allocate (of_row(block%rows), into_row(block%rows))
    allocate (of_column(block%columns), into_column(block%columns))
    call layout%spread(own, of_row, of_column)
    call block%multiply(which, of_row, of_column, into_row, into_column)
    call layout%collect(into_row, into_column, product)
  end subroutine

  ! -- inside --

  subroutine iterate(self, layout, block)
    class(lanczos_run), intent(inout) :: self
    type(triangle_layout), intent(in) :: layout
    type(sparse_block), intent(in) :: block
    real(real64), allocatable :: w(:)
    integer :: k
    allocate (w(size(self%next)), source=0.0_real64)
    call apply_operator(layout, block, which_h, self%next, w)
    k = self%done + 1
    self%done = k
    if (.not. layout%is_diagonal) return
    self%vectors(:, k) = self%next
    self%alpha(k) = dot(layout, self%next, w)
    call orthogonalise(self, layout, w)
    self%beta(k) = norm(layout, w)
    if (self%beta(k) < 1e-10_real64 * max(1.0_real64, abs(self%alpha(k)))) then
      ! The space that the start vector reaches is used up: go on in another direction.
      self%beta(k) = 0
      call fill_by_index(layout, k + 1, w)
      call orthogonalise(self, layout, w)
    end if
    self%next = w / max(norm(layout, w), tiny(1.0_real64))
  end subroutine

  !> Takes everything out of w that is in the vectors so far; twice is enough.
  subroutine orthogonalise(self, layout, w)
    class(lanczos_run), intent(in) :: self
    type(triangle_layout), intent(in) :: layout
    real(real64), intent(inout) :: w(:)
    real(real64) :: share(self%done)
    integer :: round
    do round = 1, 2
      share = matmul(w, self%vectors(:, :self%done))
      call MPI_Allreduce(MPI_IN_PLACE, share, size(share), MPI_DOUBLE_PRECISION, MPI_SUM, &
        layout%diagonal)
      w = w - matmul(self%vectors(:, :self%done), share)
    end do
  end subroutine

  real(real64) function largest_residual(self, states)
    class(lanczos_run), intent(in) :: self
    integer, intent(in) :: states
    real(real64) :: values(self%done), vectors(self%done, self%done)
    call solve_tridiagonal(self%alpha(:self%done), self%beta(:self%done - 1), values, vectors)
    largest_residual = self%beta(self%done) * maxval(abs(vectors(self%done, :states)))
  end function

  subroutine find_lowest(self, states)
    class(lanczos_run), intent(inout) :: self
    integer, intent(in) :: states
    real(real64) :: values(self%done), vectors(self%done, self%done)
    allocate (self%values(states), self%mixing(self%done, states), source=0.0_real64)
    if (size(self%next) == 0) return ! no diagonal rank: has no coefficients
    call solve_tridiagonal(self%alpha(:self%done), self%beta(:self%done - 1), values, vectors)
    self%values = values(:states)
    self%mixing = vectors(:, :states)
  end subroutine

  !> Numbers of (-1, 1) that depend on the index in the basis and on `stream` alone.
  subroutine fill_by_index(layout, stream, vector)
    type(triangle_layout), intent(in) :: layout
    integer, intent(in) :: stream
    real(real64), intent(out) :: vector(:)
    integer(int64), parameter :: modulus = 2147483647_int64, factor = 48271
    integer(int64) :: i, state
    do i = 1, size(vector, kind=int64)
      state = mod((layout%first(layout%row) + i) * 2654435 + stream * 40503_int64, modulus)
      state = mod(state * factor, modulus)
      state = mod(state * factor + stream, modulus)
      state = mod(state * factor, modulus)
      vector(i) = 2 * real(state, real64) / modulus - 1
    end do
  end subroutine

  real(real64) function dot(layout, a, b)
    type(triangle_layout), intent(in) :: layout
    real(real64), intent(in) :: a(:), b(:)
    dot = dot_product(a, b)
    call MPI_Allreduce(MPI_IN_PLACE, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, layout%diagonal)
  end function

  real(real64) function norm(layout, a)
    type(triangle_layout), intent(in) :: layout
    real(real64), intent(in) :: a(:)
    norm = sqrt(dot(layout, a, a))
  end function
end module lanczos

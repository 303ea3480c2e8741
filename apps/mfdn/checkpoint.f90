! Checkpoints of a Lanczos run: every k iterations one durable step of a Sluice file, which holds
! the vectors of those iterations only. Written and read by the diagonal ranks alone.
!
! Invariant: step s has the iterations (s - 1) * every + 1 to s * every, and `next`, the vector that
! iteration s * every + 1 begins with; so the steps together are all that a run needs.
module checkpoint
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use sluice
  implicit none
  private
  public :: checkpoint_file

  type :: checkpoint_file
    private
    logical :: is_used = .false.
    integer :: every = 0
    integer(int64) :: first = 1 !< of this rank's elements, from 1
    type(MPI_Comm) :: comm
    character(len=:), allocatable :: path
    type(sluice_file) :: file
  contains
    procedure :: open => open_checkpoint
    procedure :: restore
    procedure :: save => save_checkpoint
    procedure :: close => close_checkpoint
  end type checkpoint_file

contains

  !> `problem`: what must be equal for the file's vectors to be of use. A file that is there is gone
  !> on with; error stop where it is of another problem. Collective over `comm`.
  subroutine open_checkpoint(self, path, comm, every, dimension, first, problem)
    class(checkpoint_file), intent(inout) :: self
    character(len=*), intent(in) :: path, problem
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: every
    integer(int64), intent(in) :: dimension, first
    logical :: is_there
    self%is_used = .true.
    self%every = every
    self%first = first + 1
    self%comm = comm
    self%path = path
    inquire (file=path, exist=is_there)
    ! One answer for all: the ranks may not look at the same moment.
    call MPI_Bcast(is_there, 1, MPI_LOGICAL, 0, comm)
    if (is_there) then
      call check_problem(self, problem)
      call self%file%open(path, "a", comm)
    else
      call self%file%open(path, "w", comm)
      call self%file%set_text("", "problem", problem)
      call self%file%set_attribute("", "every", every)
    end if
    call self%file%define("vectors", sluice_real64, shape=[dimension, int(every, int64)], &
      steps=.true., dimensions=[character(len=9) :: "state", "iteration"])
    call self%file%define("next", sluice_real64, shape=[dimension], steps=.true.)
    call self%file%define("alpha", sluice_real64, shape=[every], steps=.true.)
    call self%file%define("beta", sluice_real64, shape=[every], steps=.true.)
  end subroutine

  subroutine check_problem(self, problem)
    type(checkpoint_file), intent(in) :: self
    character(len=*), intent(in) :: problem
    type(sluice_file) :: in
    character(len=:), allocatable :: found
    integer :: every
    call in%open(self%path, "r", self%comm)
    call in%get_text("", "problem", found)
    call in%get_attribute("", "every", every)
    call in%close()
    if (found /= problem .or. every /= self%every) then
      print "(5a)", "mfdn: ", self%path, ": is a checkpoint of another run: ", found, &
        ": move it away, or give its options"
      error stop 2
    end if
  end subroutine

  !> What the steps hold; `done` is 0 where there is none. Collective.
  subroutine restore(self, done, alpha, beta, vectors, next)
    class(checkpoint_file), intent(inout) :: self
    integer, intent(out) :: done
    real(real64), intent(inout) :: alpha(:), beta(:), vectors(:, :), next(:)
    type(sluice_file) :: in
    integer :: step, steps, from, to
    done = 0
    if (.not. self%is_used) return
    steps = min(self%file%steps(), size(alpha) / self%every)
    if (steps == 0) return
    call in%open(self%path, "r", self%comm)
    do step = 1, steps
      from = (step - 1) * self%every + 1
      to = step * self%every
      call in%get("vectors", vectors(:, from:to), start=[self%first, 1_int64], step=step)
      call in%get("alpha", alpha(from:to), step=step)
      call in%get("beta", beta(from:to), step=step)
    end do
    call in%get("next", next, start=[self%first], step=steps)
    call in%close()
    done = steps * self%every
  end subroutine

  !> A durable step, where `done` is a multiple of k and not there yet. Collective.
  subroutine save_checkpoint(self, done, alpha, beta, vectors, next)
    class(checkpoint_file), intent(inout) :: self
    integer, intent(in) :: done
    real(real64), intent(in) :: alpha(:), beta(:), vectors(:, :), next(:)
    logical :: durable
    integer :: from, rank
    if (.not. self%is_used) return
    if (mod(done, self%every) /= 0 .or. done / self%every <= self%file%steps()) return
    from = done - self%every + 1
    call MPI_Comm_rank(self%comm, rank)
    call self%file%begin_step(time=real(done, real64))
    call self%file%put("vectors", vectors(:, from:done), start=[self%first, 1_int64])
    call self%file%put("next", next, start=[self%first])
    if (rank == 0) then
      call self%file%put("alpha", alpha(from:done))
      call self%file%put("beta", beta(from:done))
    end if
    call self%file%end_step(durable=durable)
    if (rank == 0 .and. durable) then
      print "(a,i0,a)", "checkpoint: iteration ", done, " is durable"
      flush (6)
    end if
  end subroutine

  subroutine close_checkpoint(self)
    class(checkpoint_file), intent(inout) :: self
    if (self%is_used) call self%file%close()
    self%is_used = .false.
  end subroutine
end module checkpoint

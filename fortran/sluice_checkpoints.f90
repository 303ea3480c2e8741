! Checkpoints for Fortran: the state of a run, saved now and then, and restored on any number of
! ranks. The module sluice hands sluice_checkpoint on; the conventions that it states apply.
!
!   type(sluice_checkpoint) :: state
!   call state%open("state.h5", comm)
!   call state%array("u", u(:, 1:n), shape=[columns, rows], start=[1, first])
!   call state%value("step", step)
!   call state%restore()                  ! what is there, into u and step; else they stay
!   do while (step < steps)
!     if (state%due()) call state%save(time=dt * step)
!     if (state%ending()) exit            ! SIGTERM, SIGUSR1, or the end of the job's time
!     ...
!   end do
!   call state%close()
!
! Memory. What is registered is read by save and written by restore where it is: whole arrays or
! sections of them (no vector subscript) that live until the checkpoint is closed. They need the
! attribute target, also where they are dummy arguments: without it a compiler may keep an old value
! in a register. Registered again under its name something has a new place. New names come before
! the first save (`wrong_state`): a checkpoint holds everything.
!
! Collective: open, restore, due, save, drain and close. Others are local, and alike on every rank
! but for the data, where it begins, and ids.
module sluice_checkpoints
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use mpi_f08, only: MPI_Comm
  use sluice_checkpoints_c
  use sluice_support
  implicit none
  private
  public :: sluice_checkpoint

  !> The state of a run and its file. Copies of it share them; it is closed once. One thread at a
  !> time uses it.
  !>
  !> What is registered is read by save and written by restore where it is: whole arrays or
  !> sections of them (no vector subscript) that live until the checkpoint is closed. They need the
  !> attribute target, also where they are dummy arguments. Registered again under its name, with
  !> the same type and shape, something has a new place. New names come before the first save
  !> (`wrong_state`): a checkpoint holds everything. What is registered is alike on every rank, in
  !> the same order, but for the memory, where it begins, and ids.
  type :: sluice_checkpoint
    private
    type(c_ptr) :: handle = c_null_ptr
    character(len=:), allocatable :: path !< of the last one that was opened
  contains
    procedure, private :: open_f08, open_integer, open_serial
    procedure, private :: array_32, array_64, array_64_32, array_32_64
    procedure, private :: rows_32, rows_64, rows_64_32, rows_32_64
    !> Opens the checkpoints of one file, which need not be there. Collective over `comm`.
    !>
    !> - `path`: the file, the same on every rank
    !> - `comm`: of mpi or mpi_f08; it is duplicated; absent: this process alone, without MPI
    !> - `keep`: the last so many checkpoints stay; 0: all, in one file. Default: 2
    !> - `stop_on_failed_save`: save fails where it cannot write; else it says so in `why`.
    !>   Default: .false.
    !> - `interval_s`: a checkpoint is due so long after the last one. Default: 0, not by the clock
    !> - `interval_calls`: one is due at every so many-th call of due. Default: 0, not by calls;
    !>   without both by what a checkpoint costs and how often the job fails
    !> - `failure_interval_s`: mean time between failures of the job. Default: 0, five years divided
    !>   by its nodes
    !> - `end_time_s`: when the job will be killed, in seconds since 1970; negative: never. Default:
    !>   0, what SLURM_JOB_END_TIME says
    !> - `margin_s`: the last checkpoint is due so long before that. Default: 0, by what was
    !>   measured
    !> - `signals`: SIGTERM and SIGUSR1 make the last one due. Default: .true.
    !> - `options`: of the file, lines of TOML. Where parts lie and which stay is changed only here
    !>   and in the file's own table of sluice.toml. Default: none
    !> - `scratch`: node-local storage, such as "$TMPDIR": a checkpoint is written there, and
    !>   drained in the background while the run goes on. Default: none, to the file at once
    !> - `incremental`: a save leaves out what no rank has changed since the checkpoint before the
    !>   last one, and refers to its bytes there; it needs `keep`, and excludes split_steps and
    !>   split_bytes. Default: .false.
    !> - errors: `invalid_argument` (an option), `unsupported` (a format or an object store that
    !>   cannot keep the last few only), `mpi`, `wrong_state` (this sluice_checkpoint is open
    !>   already)
    generic, public :: open => open_f08, open_integer, open_serial
    generic, public :: array => array_32, array_64, array_64_32, array_32_64
    generic, public :: rows => rows_32, rows_64, rows_64_32, rows_32_64
    procedure, public :: value => add_value
    procedure, public :: text => add_text
    procedure, public :: bytes => add_bytes
    procedure, public :: restore, due, ending
    procedure, public :: save => save_state
    procedure, public :: drain
    procedure, public :: close => close_checkpoint
  end type sluice_checkpoint

contains

  subroutine open_integer(self, path, comm, keep, stop_on_failed_save, interval_s, interval_calls, &
      failure_interval_s, end_time_s, margin_s, signals, options, scratch, stat, errmsg, &
      incremental)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer, intent(in) :: comm
    integer, intent(in), optional :: keep, interval_calls
    logical, intent(in), optional :: stop_on_failed_save, signals, incremental
    real(real64), intent(in), optional :: interval_s, failure_interval_s, end_time_s, margin_s
    character(len=*), intent(in), optional :: options, scratch
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(open_options) :: asked
    character(kind=c_char, len=:), allocatable, target :: lines, folder
    if (is_taken(self, path, stat, errmsg)) return
    lines = c_text(options)
    folder = c_text(scratch)
    asked = options_of(lines, folder, keep, stop_on_failed_save, interval_s, interval_calls, &
      failure_interval_s, end_time_s, margin_s, signals, incremental)
    call take(self, path, lib_open(int(comm, c_int), c_text(path), asked, self%handle), stat, &
      errmsg)
  end subroutine

  subroutine open_f08(self, path, comm, keep, stop_on_failed_save, interval_s, interval_calls, &
      failure_interval_s, end_time_s, margin_s, signals, options, scratch, stat, errmsg, &
      incremental)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in), optional :: keep, interval_calls
    logical, intent(in), optional :: stop_on_failed_save, signals, incremental
    real(real64), intent(in), optional :: interval_s, failure_interval_s, end_time_s, margin_s
    character(len=*), intent(in), optional :: options, scratch
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%open_integer(path, comm%MPI_VAL, keep, stop_on_failed_save, interval_s, &
      interval_calls, failure_interval_s, end_time_s, margin_s, signals, options, scratch, stat, &
      errmsg, incremental)
  end subroutine

  subroutine open_serial(self, path, options, keep, stop_on_failed_save, interval_s, &
      interval_calls, failure_interval_s, end_time_s, margin_s, signals, scratch, stat, errmsg, &
      incremental)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer, intent(in), optional :: keep, interval_calls
    logical, intent(in), optional :: stop_on_failed_save, signals, incremental
    real(real64), intent(in), optional :: interval_s, failure_interval_s, end_time_s, margin_s
    character(len=*), intent(in), optional :: options, scratch
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(open_options) :: asked
    character(kind=c_char, len=:), allocatable, target :: lines, folder
    if (is_taken(self, path, stat, errmsg)) return
    lines = c_text(options)
    folder = c_text(scratch)
    asked = options_of(lines, folder, keep, stop_on_failed_save, interval_s, interval_calls, &
      failure_interval_s, end_time_s, margin_s, signals, incremental)
    call take(self, path, lib_open_serial(c_text(path), asked, self%handle), stat, errmsg)
  end subroutine

  !> Registers this rank's part of an array of all ranks, by its place. Local. The parts do not
  !> overlap and leave no holes.
  !>
  !> - `name`: name in the file; "/" makes groups
  !> - `data`: the part; its memory stays the caller's
  !> - `shape`: of the whole array; absent: that of data
  !> - `start`: first element of the part; absent: ones
  !> - errors: `exists` (with another type or shape), `bad_name`, `invalid_argument`, `unsupported`
  !>   (a section with other gaps than ghost cells), `out_of_bounds`
  subroutine array_64(self, name, data, shape, start, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int64), intent(in), optional :: shape(:), start(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    integer(int64), parameter :: none(1) = 0
    integer(c_int) :: code
    if (present(shape) .and. present(start)) then
      code = lib_array(self%handle, c_text(name), data, shape, size(shape), start, size(start))
    else if (present(shape)) then
      code = lib_array(self%handle, c_text(name), data, shape, size(shape), none, -1)
    else if (present(start)) then
      code = lib_array(self%handle, c_text(name), data, none, -1, start, size(start))
    else
      code = lib_array(self%handle, c_text(name), data, none, -1, none, -1)
    end if
    call conclude_data(self, code, stat, errmsg)
  end subroutine

  subroutine array_32(self, name, data, shape, start, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int32), intent(in) :: shape(:)
    integer(int32), intent(in), optional :: start(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    integer(int64) :: wide(most_dimensions), wide_start(most_dimensions)
    integer :: dims, starts
    dims = min(size(shape), most_dimensions)
    wide(:dims) = shape(:dims)
    starts = -1
    if (present(start)) then
      starts = min(size(start), most_dimensions)
      wide_start(:starts) = start(:starts)
    end if
    call conclude_data(self, lib_array(self%handle, c_text(name), data, wide, dims, wide_start, &
      starts), stat, errmsg)
  end subroutine

  subroutine array_64_32(self, name, data, shape, start, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int64), intent(in) :: shape(:)
    integer(int32), intent(in) :: start(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_array(self%handle, c_text(name), data, shape, size(shape), &
      int(start, int64), size(start)), stat, errmsg)
  end subroutine

  subroutine array_32_64(self, name, data, shape, start, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int32), intent(in) :: shape(:)
    integer(int64), intent(in) :: start(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_array(self%handle, c_text(name), data, int(shape, int64), &
      size(shape), start, size(start)), stat, errmsg)
  end subroutine

  !> Registers rows of an array of all ranks, by global index. Local. Each row belongs to exactly
  !> one rank. What was saved by rows may be restored by place, and the other way round.
  !>
  !> - `name`: name in the file; "/" makes groups
  !> - `ids`: the global index of each row, from 1; copied
  !> - `data`: data(..., i) is row ids(i); its memory stays the caller's
  !> - `shape`: of the whole array; its last dimension counts the rows
  !> - errors: as array
  subroutine rows_64(self, name, ids, data, shape, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int64), intent(in) :: ids(:), shape(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_rows(self%handle, c_text(name), data, shape, size(shape), &
      ids - 1, size(ids, kind=int64)), stat, errmsg)
  end subroutine

  subroutine rows_32(self, name, ids, data, shape, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int32), intent(in) :: ids(:), shape(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_rows(self%handle, c_text(name), data, int(shape, int64), &
      size(shape), int(ids, int64) - 1, size(ids, kind=int64)), stat, errmsg)
  end subroutine

  subroutine rows_64_32(self, name, ids, data, shape, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int64), intent(in) :: ids(:)
    integer(int32), intent(in) :: shape(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_rows(self%handle, c_text(name), data, int(shape, int64), &
      size(shape), ids - 1, size(ids, kind=int64)), stat, errmsg)
  end subroutine

  subroutine rows_32_64(self, name, ids, data, shape, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    integer(int32), intent(in) :: ids(:)
    integer(int64), intent(in) :: shape(:)
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_rows(self%handle, c_text(name), data, shape, size(shape), &
      int(ids, int64) - 1, size(ids, kind=int64)), stat, errmsg)
  end subroutine

  !> Registers one value that is alike on every rank; rank 0's is saved. Local.
  !>
  !> - `name`: name in the file
  !> - `value`: the value; its memory stays the caller's
  !> - errors: as array
  subroutine add_value(self, name, value, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: value
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    call conclude_data(self, lib_value(self%handle, c_text(name), value), stat, errmsg)
  end subroutine

  !> Registers a text that is alike on every rank; rank 0's is saved. Local. Blanks at its end are
  !> not kept.
  !>
  !> - `name`: name in the file
  !> - `text`: the text; its memory stays the caller's
  !> - errors: as array
  subroutine add_text(self, name, text, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    character(len=*), intent(inout), asynchronous, target :: text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call conclude(self, lib_text_of(self%handle, c_text(name), c_loc(text), &
      int(len(text), int64)), stat, errmsg)
  end subroutine

  !> Registers bytes of this rank, such as the state of a random generator. Local.
  !>
  !> - `name`: name in the file
  !> - `data`: the bytes, as many on every rank; their memory stays the caller's
  !> - `keep_on_other_ranks`: they stay as they are where another number of ranks restores them;
  !>   else restore is then `unsupported`. Default: .false.
  !> - errors: as array
  subroutine add_bytes(self, name, data, keep_on_other_ranks, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout), asynchronous, target :: data
    logical, intent(in), optional :: keep_on_other_ranks
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: keep
    keep = 0
    if (present(keep_on_other_ranks)) keep = merge(1, 0, keep_on_other_ranks)
    call conclude_data(self, lib_bytes(self%handle, c_text(name), data, keep), stat, errmsg)
  end subroutine

  !> Brings the newest good checkpoint back into the registered memory. Collective; once, before the
  !> first save. A checkpoint is good if every registered value can be read and matches its
  !> checksum. Where there is no file, the memory stays as it is. After an error save does not
  !> replace what is there.
  !>
  !> - `number`: which one was taken, from 1; 0: there was none
  !> - `time`: what save got
  !> - `ranks`: number of ranks that saved it
  !> - `newer`: number of newer ones, which were damaged
  !> - `why`: a line for each of them
  !> - errors: `damaged` (no checkpoint in the file is good), `format` (the file holds none),
  !>   `not_found`, `type_mismatch`, `invalid_argument` (it holds something else than what is
  !>   registered), `unsupported` (bytes of another number of ranks), `wrong_state` (a second
  !>   restore, or one after a save), and those of opening the file
  subroutine restore(self, number, time, ranks, newer, why, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    integer, intent(out), optional :: number, ranks, newer
    real(real64), intent(out), optional :: time
    character(len=:), allocatable, intent(out), optional :: why
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(restored_state) :: taken
    integer(c_int) :: code
    taken = restored_state(c_sizeof(taken), 0, 0, 0, 0, c_null_ptr, c_null_ptr)
    code = lib_restore(self%handle, taken)
    if (present(number)) number = int(taken%number)
    if (present(time)) time = taken%time
    if (present(ranks)) ranks = taken%ranks
    if (present(newer)) newer = taken%newer
    if (present(why)) then
      why = ""
      if (code == 0) why = f_text(taken%why)
    end if
    call conclude(self, code, stat, errmsg)
  end subroutine

  !> Saves a checkpoint. Collective. It returns when the checkpoint is on stable storage (with
  !> `scratch`: on that of the nodes); with strategy forward when the memory may change again. The
  !> next save or drain then waits for the rest, and while ending is true it drains by itself. A
  !> failure leaves the checkpoints before it.
  !>
  !> Without restore the first one replaces the checkpoints of the file; a file that holds none is
  !> not replaced (the failure is `exists`). After a restore that failed, the failure is
  !> `wrong_state` as long as the file is there: choose another name, restore what is there, or
  !> replace it by a new sluice_checkpoint whose first call of the file is save.
  !>
  !> - `time`: stored with it, in the simulation's unit
  !> - `number`: of the checkpoint; 0: it could not be written
  !> - `seconds`: time in the call, on the slowest rank
  !> - `why`: why it could not be written; else empty
  !> - `lost`: why the checkpoint before it was lost on its way to the disk, where a thread of the
  !>   library writes it (strategy `forward`); else empty. That of the last save is an error of
  !>   drain and close
  !> - errors: `timeout`, `mpi`; with stop_on_failed_save whatever it meets
  subroutine save_state(self, time, number, seconds, why, lost, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    real(real64), intent(in) :: time
    integer, intent(out), optional :: number
    real(real64), intent(out), optional :: seconds
    character(len=:), allocatable, intent(out), optional :: why, lost
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(saved_state) :: done
    integer(c_int) :: code
    done = saved_state(c_sizeof(done), 0, 0, c_null_ptr, c_null_ptr)
    code = lib_save(self%handle, time, done)
    if (present(number)) number = int(done%number)
    if (present(seconds)) seconds = done%seconds
    if (present(why)) then
      why = ""
      if (code == 0) why = f_text(done%why)
    end if
    if (present(lost)) then
      lost = ""
      if (code == 0) lost = f_text(done%lost)
    end if
    call conclude(self, code, stat, errmsg)
  end subroutine

  !> Whether a checkpoint is due; the same on every rank. Collective; call it once a step. From the
  !> first call on SIGTERM and SIGUSR1 no longer end the process, where the program has no handlers
  !> of its own: they make a checkpoint due on every rank.
  logical function due(self, stat, errmsg)
    class(sluice_checkpoint), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: yes
    yes = 0
    call conclude(self, lib_due(self%handle, yes), stat, errmsg)
    due = yes /= 0
  end function

  !> Whether the job is about to end, as the last due found: save is then the last one. Local.
  logical function ending(self, stat, errmsg)
    class(sluice_checkpoint), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: yes
    yes = 0
    call conclude(self, lib_ending(self%handle, yes), stat, errmsg)
    ending = yes /= 0
  end function

  !> Waits until what was saved is on stable storage, in the folder of the file. Collective; for
  !> strategy forward and `scratch`.
  !>
  !> - `seconds`: the longest wait
  !> - `all`: whether it is there
  !> - errors: what the checkpoint met on its way
  subroutine drain(self, seconds, all, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    real(real64), intent(in) :: seconds
    logical, intent(out), optional :: all
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: yes
    integer(c_int) :: code
    yes = 0
    code = lib_drain(self%handle, seconds, yes)
    if (present(all)) all = yes /= 0
    call conclude(self, code, stat, errmsg)
  end subroutine

  !> Closes the file, and gives the program its signals back. Collective.
  !>
  !> - errors: what the last checkpoint met on its way; `wrong_state` (it is not open)
  subroutine close_checkpoint(self, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    if (is_away(self, stat, errmsg)) return
    handle = self%handle
    self%handle = c_null_ptr
    call finish(c_null_ptr, lib_close(handle), stat, errmsg)
  end subroutine

  ! -- inside --

  logical function is_taken(self, path, stat, errmsg)
    class(sluice_checkpoint), intent(in) :: self
    character(len=*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    is_taken = c_associated(self%handle)
    if (is_taken) call fail(wrong_state, "this sluice_checkpoint is still open: close it before &
      &opening " // trim(path), stat, errmsg)
  end function

  !> `lines` and `folder` must live as long as what is returned.
  function options_of(lines, folder, keep, stop_on_failed_save, interval_s, interval_calls, &
      failure_interval_s, end_time_s, margin_s, signals, incremental) result(asked)
    character(kind=c_char, len=:), allocatable, target, intent(in) :: lines, folder
    integer, intent(in), optional :: keep, interval_calls
    logical, intent(in), optional :: stop_on_failed_save, signals, incremental
    real(real64), intent(in), optional :: interval_s, failure_interval_s, end_time_s, margin_s
    type(open_options) :: asked
    asked = open_options(c_sizeof(asked), 0, 0, 0, 0, 0, 0, 0, 0, c_loc(lines), c_loc(folder), 0)
    ! In C -1 is all, and less is wrong.
    if (present(keep)) asked%keep = merge(keep - 1, keep, keep <= 0)
    if (present(stop_on_failed_save)) asked%stop_on_failed_save = merge(1, 0, stop_on_failed_save)
    if (present(signals)) asked%ignore_signals = merge(0, 1, signals)
    if (present(incremental)) asked%incremental = merge(1, 0, incremental)
    if (present(interval_s)) asked%interval_s = interval_s
    if (present(interval_calls)) asked%interval_calls = interval_calls
    if (present(failure_interval_s)) asked%failure_interval_s = failure_interval_s
    if (present(end_time_s)) asked%end_time_s = end_time_s
    if (present(margin_s)) asked%margin_s = margin_s
  end function

  !> What an open gave, in self%handle.
  subroutine take(self, path, code, stat, errmsg)
    class(sluice_checkpoint), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: ignored
    if (code == 0) then
      self%path = trim(path)
      ignored = lib_count_from(self%handle, 1_c_int32_t)
    end if
    call finish(c_null_ptr, code, stat, errmsg)
  end subroutine

  !> True, and the error said, where there is no checkpoint. The library, which was given none, says
  !> only that.
  logical function is_away(self, stat, errmsg)
    class(sluice_checkpoint), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    is_away = .not. c_associated(self%handle)
    if (.not. is_away) return
    if (allocated(self%path)) then
      call fail(wrong_state, self%path // ": is closed already", stat, errmsg)
    else
      call fail(wrong_state, "this sluice_checkpoint was never opened", stat, errmsg)
    end if
  end function

  !> Sets stat and errmsg by the code of a call, or stops.
  subroutine conclude(self, code, stat, errmsg)
    class(sluice_checkpoint), intent(in) :: self
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (.not. is_away(self, stat, errmsg)) call finish(c_null_ptr, code, stat, errmsg)
  end subroutine

  !> conclude with an errmsg that is a character of any length.
  subroutine conclude_data(self, code, stat, errmsg)
    class(sluice_checkpoint), intent(in) :: self
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    character(len=1000) :: message
    if (.not. present(errmsg)) then
      call conclude(self, code, stat)
      return
    end if
    message = ""
    call conclude(self, code, stat, message)
    if (code == 0) return
    select type (errmsg)
    type is (character(len=*))
      errmsg = message
    end select
  end subroutine
end module sluice_checkpoints

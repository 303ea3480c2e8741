! Sluice for Fortran 2018: parallel arrays of an MPI simulation in plain HDF5.
!
!   use sluice
!   type(sluice_file) :: out
!   call out%open("traj.h5", "w", comm)
!   call out%define("positions", sluice_real64, shape=[3_int64, n_total], steps=.true.)
!   call out%begin_step(time=t)
!   call out%put("positions", x, start=[1_int64, first])
!   call out%end_step()
!   call out%close()
!
! Dimensions. Shapes, starts and ids are Fortran's: the first dimension varies fastest, and
! counting begins at 1. In the file, whose tools count in C order, the same dimensions stand in
! reverse: an array x(3, n) is a dataset of shape (n, 3), x(c, i) is its element [i-1][c-1], and no
! element moves. A step is counted from 1 too, and comes first in the file. Messages of the library
! show shapes and places as the file has them, and count steps and elements from 1.
!
! Data is any array, section, expression or scalar of integer, real, complex, logical or character,
! of the kinds that files have; numbers are converted to the variable's type where they fit.
! Logicals are stored as the boolean that h5py has; of text, blanks at the end are not kept. (Text
! that is no variable is handed on by gfortran as a byte, which is refused.) Data is copied when it
! is put, within the budget, because what a compiler hands on may be a temporary copy of its own.
! With in_place=.true. a dense array is not: it must be a whole array or a section of one, no
! expression and no component, and stay unchanged until end_step (outside steps: flush or close) has
! returned. Shapes, starts and ids are 32-bit or 64-bit integers.
!
! Errors. Every procedure has optional `stat` (0, or the code in sluice.h) and `errmsg`. Without
! stat an error stops the program with the message. What one rank meets in a collective call, all
! ranks get; what one does wrong within a step makes its end_step fail on all. (Beside data, errmsg
! is class(*), as gfortran mistakes its length there, but is a character variable all the same.)
!
! Collective: open, end_step, abandon_step, flush, close, get, perform_gets, get_rows, refresh and
! latest_good. Others are local; define, set_attribute and resize are called alike on every rank.
module sluice
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm
  use sluice_c
  use sluice_support
  use sluice_checkpoints, only: sluice_checkpoint
  use sluice_text, only: sluice_read_text
  implicit none
  private
  ! Types of variables. The number of a complex type is, like its kind, that of its parts.
  integer(c_int32_t), parameter, public :: sluice_int8 = 1, sluice_int16 = 2, sluice_int32 = 3, &
    sluice_int64 = 4, sluice_uint8 = 5, sluice_uint16 = 6, sluice_uint32 = 7, sluice_uint64 = 8, &
    sluice_real32 = 9, sluice_real64 = 10, sluice_complex32 = 11, sluice_complex64 = 12, &
    sluice_logical = 13
  public :: sluice_character, sluice_checkpoint, sluice_file, sluice_read_text, sluice_ticket
  public :: sluice_version

  !> An open file. Copies of it share the file; it is closed once.
  type :: sluice_file
    private
    type(c_ptr) :: handle = c_null_ptr
    character(len=:), allocatable :: path
    type(name_cache) :: cache
  contains
    procedure, private :: open_f08, open_integer, open_serial, define_32, define_64, put_32, put_64
    procedure, private :: put_rows_32, put_rows_64, get_32, get_64, get_rows_32, get_rows_64
    !> open(path, mode, comm, options): mode "r", "w", "x" (must not exist) or "a" (more steps);
    !> comm of mpi or mpi_f08, without it for this process alone; options as lines of TOML.
    generic, public :: open => open_f08, open_integer, open_serial
    procedure, public :: close => close_file
    procedure, public :: is_open
    generic, public :: define => define_32, define_64
    procedure, public :: set_attribute, set_text
    procedure, public :: begin_step, end_step, abandon_step, resize
    generic, public :: put => put_32, put_64
    generic, public :: put_rows => put_rows_32, put_rows_64
    procedure, public :: flush => flush_file
    procedure, public :: poll => poll_file
    procedure, public :: drain => drain_file
    generic, public :: get => get_32, get_64
    procedure, public :: perform_gets
    generic, public :: get_rows => get_rows_32, get_rows_64
    procedure, public :: refresh, latest_good
    procedure, public :: steps => step_count
    procedure, public :: time => time_of_step
    procedure, public :: variables => variable_count
    procedure, public :: name => variable_name
    procedure, public :: has => has_variable
    procedure, public :: type => type_of
    procedure, public :: shape => shape_of
    procedure, public :: has_attribute
    procedure, public :: attributes => attribute_count
    procedure, public :: attribute_name, attribute_size, get_attribute, get_text
  end type sluice_file

  ! -- writing: sluice_write.f90 --
  interface
    !> A variable of file type `type` (sluice_real64, ...) and `shape` (none: a scalar). steps: a
    !> value for every step. partial: elements may be left out and read as `fill`, of any intrinsic
    !> type. varying: each step has its own number of rows (its last dimension), see resize.
    !> dimensions: their names. chunk: the tile of the file, a number a dimension. compress:
    !> "deflate:6", "zstd:3", "none". Alike on every rank.
    module subroutine define_64(self, name, type, shape, steps, partial, fill, unit, description, &
        dimensions, chunk, varying, compress, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(in) :: type
      integer(int64), intent(in), optional :: shape(:), chunk(:)
      logical, intent(in), optional :: steps, partial, varying
      class(*), intent(in), optional :: fill
      character(len=*), intent(in), optional :: unit, description, dimensions(:), compress
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    module subroutine define_32(self, name, type, shape, steps, partial, fill, unit, description, &
        dimensions, chunk, varying, compress, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(in) :: type
      integer(int32), intent(in) :: shape(:)
      integer(int32), intent(in), optional :: chunk(:)
      logical, intent(in), optional :: steps, partial, varying
      class(*), intent(in), optional :: fill
      character(len=*), intent(in), optional :: unit, description, dimensions(:), compress
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> An attribute of the file (owner ""), a group, a variable or the steps' times ("time"): one
    !> value or a list; texts by set_text: gfortran hands them on as bytes. Alike on every rank.
    module subroutine set_attribute(self, owner, name, value, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      type(*), dimension(..), intent(in) :: value
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> A text as an attribute. Alike on every rank.
    module subroutine set_text(self, owner, name, text, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name, text
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    module subroutine begin_step(self, time, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      real(real64), intent(in), optional :: time
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Writes and commits the step. durable: does it survive kill -9 and a power cut already?
    !> ticket: to ask that later; give it back with free. Collective.
    module subroutine end_step(self, durable, ticket, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      logical, intent(out), optional :: durable
      type(sluice_ticket), intent(out), optional :: ticket
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Instead of end_step where this rank cannot go on with the step: end_step fails with `why` on
    !> the other ranks, and the file holds the steps before. Collective with their end_step.
    module subroutine abandon_step(self, why, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in), optional :: why
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> How many rows a varying variable has in this step, before anything of it is put. Alike on
    !> every rank.
    module subroutine resize(self, name, rows, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(in) :: rows
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> This rank's part of a variable, which begins at `start` (ones) and has the shape of `data`; a
    !> scalar is the one element at `start`. Scalars that follow one another are joined. in_place:
    !> see above; data that lives unchanged until end_step is then not copied.
    module subroutine put_64(self, name, data, start, allow_overflow, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), intent(in), asynchronous :: data
      integer(int64), intent(in), optional :: start(:)
      logical, intent(in), optional :: allow_overflow, in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    module subroutine put_32(self, name, data, start, allow_overflow, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), intent(in), asynchronous :: data
      integer(int32), intent(in) :: start(:)
      logical, intent(in), optional :: allow_overflow, in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Rows by global index: data(..., i) becomes row ids(i), whichever rank has it.
    module subroutine put_rows_64(self, name, ids, data, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(in) :: ids(:)
      type(*), dimension(..), intent(in), asynchronous :: data
      logical, intent(in), optional :: in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    module subroutine put_rows_32(self, name, ids, data, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int32), intent(in) :: ids(:)
      type(*), dimension(..), intent(in), asynchronous :: data
      logical, intent(in), optional :: in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Commits what was put outside steps. Collective.
    module subroutine flush_file(self, durable, ticket, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      logical, intent(out), optional :: durable
      type(sluice_ticket), intent(out), optional :: ticket
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Strategy forward: moves on what is on its way between nodes, without waiting.
    module subroutine poll_file(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Waits at most so long until all steps are there for good: `all` says whether. Every rank.
    module subroutine drain_file(self, seconds, all, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      real(real64), intent(in) :: seconds
      logical, intent(out), optional :: all
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
  end interface

  ! -- reading: sluice_read.f90 --
  interface
    !> A part of one step (without: the newest) into `data`, whose shape is the part's, converted to
    !> its type. Each rank its own part, none (a size of 0) too. Collective. deferred: it is only
    !> noted, locally, for perform_gets; `data` (no gaps, no copy that the compiler makes) holds
    !> nothing before, and must stay where it is until then.
    module subroutine get_64(self, name, data, start, step, allow_overflow, deferred, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), intent(inout) :: data
      integer(int64), intent(in), optional :: start(:)
      integer, intent(in), optional :: step
      logical, intent(in), optional :: allow_overflow, deferred
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    module subroutine get_32(self, name, data, start, step, allow_overflow, deferred, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), intent(inout) :: data
      integer(int32), intent(in) :: start(:)
      integer, intent(in), optional :: step
      logical, intent(in), optional :: allow_overflow, deferred
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Reads all that was deferred, every rank the same variables and steps in the same order. The
    !> ranks wait for each other as often as in one get. Collective.
    module subroutine perform_gets(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Rows by global index, repeats allowed: data(..., i) is row ids(i). Collective.
    module subroutine get_rows_64(self, name, ids, data, step, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(in) :: ids(:)
      type(*), dimension(..), intent(inout) :: data
      integer, intent(in), optional :: step
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    module subroutine get_rows_32(self, name, ids, data, step, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int32), intent(in) :: ids(:)
      type(*), dimension(..), intent(inout) :: data
      integer, intent(in), optional :: step
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Looks again at a file that another program is writing. Collective.
    module subroutine refresh(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> The newest step whose values all match their checksums, 0 where no step does. Collective.
    module integer function latest_good(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> Committed steps; they are numbered from 1.
    module integer function step_count(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The time given to begin_step, NaN where none was.
    module real(real64) function time_of_step(self, step, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(in) :: step
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> How many variables there are, and the name of each, from 1.
    module integer function variable_count(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    module function variable_name(self, index, stat, errmsg) result(name)
      class(sluice_file), intent(inout) :: self
      integer, intent(in) :: index
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: name
    end function
    module logical function has_variable(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> sluice_real64, ..., sluice_character(n).
    module integer(c_int32_t) function type_of(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> Without the step; of a varying variable the most, or with `step` that step's.
    module function shape_of(self, name, step, stat, errmsg) result(dims)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(in), optional :: step
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      integer(int64), allocatable :: dims(:)
    end function
    !> Attributes, of a file that is being read. owner "": the file's.
    module logical function has_attribute(self, owner, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    module integer function attribute_count(self, owner, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    module function attribute_name(self, owner, index, stat, errmsg) result(name)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner
      integer, intent(in) :: index
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: name
    end function
    !> Length of a list, -1 of a single value. type: of the values.
    module integer function attribute_size(self, owner, name, type, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      integer(c_int32_t), intent(out), optional :: type
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> A value or a list into `value`, which has room for it, converted to its type.
    module subroutine get_attribute(self, owner, name, value, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      type(*), dimension(..), intent(inout) :: value
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> A text of any length; of a list the one at `index` (1).
    module subroutine get_text(self, owner, name, text, index, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      character(len=:), allocatable, intent(out) :: text
      integer, intent(in), optional :: index
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
  end interface
contains

  !> The type of text of at most `bytes` bytes (UTF-8).
  pure integer(c_int32_t) function sluice_character(bytes)
    integer, intent(in) :: bytes
    sluice_character = 14 + 256 * bytes
  end function

  !> "1.2.3", of the library.
  function sluice_version() result(text)
    character(len=:), allocatable :: text
    text = f_text(c_version())
  end function

  subroutine open_integer(self, path, mode, comm, options, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: path, mode
    integer, intent(in) :: comm
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int) :: code
    code = c_open_f(int(comm, c_int), c_text(path), c_text(mode), c_text(options), handle)
    call take(self, handle, path, code, stat, errmsg)
  end subroutine

  subroutine open_f08(self, path, mode, comm, options, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: path, mode
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%open_integer(path, mode, comm%MPI_VAL, options, stat, errmsg)
  end subroutine

  subroutine open_serial(self, path, mode, options, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: path, mode
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int) :: code
    code = c_open_serial(c_text(path), c_text(mode), c_text(options), handle)
    call take(self, handle, path, code, stat, errmsg)
  end subroutine

  !> What an open gave. A file that is open already stays, and the new one is given back.
  subroutine take(self, handle, path, code, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: path
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: ignored
    if (code == 0 .and. c_associated(self%handle)) then
      call c_free(handle)
      call fail(wrong_state, self%path // " is still open here: close it before opening " // &
        trim(path), stat, errmsg)
      return
    end if
    if (code /= 0) then
      call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
      return
    end if
    self%handle = handle
    ignored = c_count_from(handle, 1_c_int32_t)
    self%path = trim(path)
    self%cache = name_cache()
    if (present(stat)) stat = 0
  end subroutine

  !> Commits what is not committed yet, and closes; a close that fails closes too, except within a
  !> step. Collective.
  subroutine close_file(self, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: reading
    integer(c_int) :: code
    character(len=:), allocatable :: message
    if (is_missing(self%handle, self%path, stat, errmsg)) return
    handle = self%handle
    message = ""
    code = c_close(handle)
    if (code /= 0) then
      message = f_text(c_last_error(handle))
      if (c_is_reading(handle, reading) == 0) then
        call fail(code, message, stat, errmsg)
        return
      end if
    end if
    call c_forget(handle)
    call c_free(handle)
    self%handle = c_null_ptr
    if (present(stat)) stat = 0
    if (code /= 0) call fail(code, message, stat, errmsg)
  end subroutine

  pure logical function is_open(self)
    class(sluice_file), intent(in) :: self
    is_open = c_associated(self%handle)
  end function
end module sluice

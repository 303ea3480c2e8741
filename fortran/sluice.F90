! Sluice for Fortran 2018: parallel arrays of an MPI simulation in plain HDF5, netCDF-4, Zarr
! and VTKHDF files.
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
! Dimensions. Shapes, starts and ids are Fortran's: the first dimension varies fastest, and counting
! begins at 1. The file counts in C order, so that its dimensions are reversed: an array x(3, n) is
! a dataset of shape (n, 3), x(c, i) is its element [i-1][c-1], and no element moves. Steps are
! counted from 1 too, and are the first dimension in the file. Messages show shapes and places as
! the file has them, and count steps and elements from 1. Shapes, starts and ids are 32-bit or
! 64-bit integers.
!
! Data is an array, section, expression or scalar of integer, real, complex, logical or character of
! the kinds that files have. Numbers are converted to the variable's type; a value that does not fit
! is an error. Logicals are stored as the boolean that h5py has. Blanks at the end of text are not
! kept. A text for a variable of numbers is refused (`type_mismatch`). Data that is not allocated
! and assumed-size arrays are refused (`invalid_argument`); give a section of an assumed-size array.
!
! Not data. The kinds that files have are integer of 1, 2, 4 and 8 bytes, real and complex of 4 and
! 8, each logical, and character of kind 1. Derived types, class(*) and type(*) are none: give the
! components, inside `select type` where the type is not known. put and get of them do not compile
! ("no matching specific binding"); the calls with rows, and those of attributes, refuse them
! (`type_mismatch`). Nor is an array with a vector subscript, as data may stay in place: put an
! expression, `(x(chosen))`, in parentheses, which is copied; get a whole array, and assign from it.
!
! Ownership. Data is copied when it is put, within the budget, because a compiler may hand on a
! temporary copy. With in_place=.true. a dense array is not copied. It must then be a whole array or
! a section of one, not an expression or a component, and stay unchanged until end_step (outside
! steps: flush or close) has returned.
!
! Errors. Every procedure has an optional `stat` (sluice_ok, or a code such as
! sluice_error_not_found) and `errmsg` (the message). Without stat an error stops the program with
! the message. What one rank meets in a
! collective call, all ranks get. If a local call on a file that is being written fails, within a
! step or outside, the next commit (end_step, flush or close) fails on all ranks, once.
! Any call may give wrong_state (the file is not open) and invalid_argument; any collective call may
! give divergent (the ranks do not make the same call), timeout, mpi, and what another rank met.
! (Beside data, errmsg is class(*), because gfortran mistakes its length there; it is a character
! variable all the same.)
!
! Collective: open, close, end_step, abandon_step, flush, get, perform_gets, get_rows, refresh and
! latest_good are called by every rank, in the same order. Alike: define, set_attribute, set_text
! and resize are called by every rank with the same arguments; nothing is exchanged until the next
! collective call, which compares. The values of attributes (units and descriptions, too) and the
! times of steps are not compared, so that a rank's clock may be in them: those of rank 0 are
! stored. Other procedures are local. A file is used by one thread at a time.
module sluice
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use mpi_f08, only: MPI_Comm
  use sluice_c
  use sluice_codes
  use sluice_support
  use sluice_checkpoints, only: sluice_checkpoint
  use sluice_text, only: sluice_read_text
  implicit none
  private

  !> The type of C that has the number n is first_type + n, so that no type is the number of a kind.
  integer(c_int32_t), parameter :: first_type = 1000
  !> Types of variables. The number of a complex type is, like its kind, that of its parts. float16
  !> is put and got as real(real32).
  integer(c_int32_t), parameter, public :: sluice_int8 = 1001, sluice_int16 = 1002, &
    sluice_int32 = 1003, sluice_int64 = 1004, sluice_uint8 = 1005, sluice_uint16 = 1006, &
    sluice_uint32 = 1007, sluice_uint64 = 1008, sluice_real32 = 1009, sluice_real64 = 1010, &
    sluice_complex32 = 1011, sluice_complex64 = 1012, sluice_logical = 1013, sluice_float16 = 1015
  public :: sluice_character, sluice_checkpoint, sluice_file, sluice_read_text, sluice_ticket
  public :: sluice_version, sluice_mpi_library, sluice_code_name
  public :: sluice_set_message_handler
  public :: sluice_ok, sluice_error_invalid_argument, sluice_error_out_of_bounds
  public :: sluice_error_overlap, sluice_error_hole, sluice_error_duplicate_row
  public :: sluice_error_missing_row, sluice_error_type_mismatch, sluice_error_overflow
  public :: sluice_error_bad_name, sluice_error_wrong_state, sluice_error_not_found
  public :: sluice_error_exists, sluice_error_permission, sluice_error_io, sluice_error_no_space
  public :: sluice_error_truncated, sluice_error_format, sluice_error_version, sluice_error_damaged
  public :: sluice_error_changed_outside, sluice_error_unsupported, sluice_error_locked
  public :: sluice_error_timeout, sluice_error_divergent, sluice_error_over_budget, sluice_error_mpi
  public :: sluice_error_internal

  !> An open file. Copies of it share the file; it is closed once. One thread at a time uses it.
  type :: sluice_file
    private
    type(c_ptr) :: handle = c_null_ptr
    character(len=:), allocatable :: path
    type(name_cache) :: cache
  contains
    procedure, private :: open_f08, open_integer, open_serial, define_32, define_64, define_64_32
    procedure, private :: define_32_64, resize_32, resize_64
    procedure, private :: put_rows_32, put_rows_64, get_rows_32, get_rows_64
    procedure, private :: put_int8, put_int16, put_int32, put_int64
    procedure, private :: put_real32, put_real64, put_complex32, put_complex64
    procedure, private :: put_logical8, put_logical16, put_logical32, put_logical64
    procedure, private :: put_int8_32, put_int16_32, put_int32_32, put_int64_32
    procedure, private :: put_real32_32, put_real64_32, put_complex32_32, put_complex64_32
    procedure, private :: put_logical8_32, put_logical16_32, put_logical32_32, put_logical64_32
    procedure, private :: put_character, put_character_32
    procedure, private :: get_int8, get_int16, get_int32, get_int64
    procedure, private :: get_real32, get_real64, get_complex32, get_complex64
    procedure, private :: get_logical8, get_logical16, get_logical32, get_logical64
    procedure, private :: get_int8_32, get_int16_32, get_int32_32, get_int64_32
    procedure, private :: get_real32_32, get_real64_32, get_complex32_32, get_complex64_32
    procedure, private :: get_logical8_32, get_logical16_32, get_logical32_32, get_logical64_32
    procedure, private :: get_character, get_character_32
    !> Opens a file. Collective over `comm`.
    !>
    !> - `path`: the file, the same on every rank
    !> - `mode`: "r" reads; "w" replaces an old file at the first commit; "x" as "w", but the file
    !>   must not exist; "a" adds steps and variables
    !> - `comm`: of mpi or mpi_f08; it is duplicated; absent: this process alone, without MPI
    !> - `options`: lines of TOML, such as "strategy = 'collective'", with the names of
    !>   docs/settings.md
    !> - errors: `not_found`, `exists`, `permission`, `locked`, `format`, `version`, `truncated`,
    !>   `damaged`, `invalid_argument` (an option), `unsupported`, `io`, `mpi`, `wrong_state` (this
    !>   sluice_file is open already)
    generic, public :: open => open_f08, open_integer, open_serial
    procedure, public :: close => close_file
    procedure, public :: is_open
    generic, public :: define => define_32, define_64, define_64_32, define_32_64
    procedure, public :: set_attribute, set_text
    procedure, public :: begin_step, end_step, abandon_step
    generic, public :: resize => resize_32, resize_64
    !> Puts this rank's part of a variable. Local; any number of times, or never.
    !>
    !> - `name`: a variable of this file
    !> - `data`: the part, which has the shape of `data`, of any kind that files have, see above; a
    !>   scalar is the one element at `start`. Scalars that follow one another are joined, so that
    !>   single elements are cheap
    !> - `start`: first element of the part; default: ones
    !> - `allow_overflow`: a narrowing conversion may lose values; default: .false.
    !> - `in_place`: `data` is not copied, see above; default: .false.
    !> - errors: `not_found`, `out_of_bounds`, `type_mismatch`, `over_budget`, `wrong_state` (a
    !>   variable with steps outside a step). The commit converts the values: `overflow` (one does
    !>   not fit) comes from `end_step`, `flush` or `close`
    generic, public :: put => &
      put_int8, put_int16, put_int32, put_int64, put_real32, put_real64, put_complex32, &
      put_complex64, put_logical8, put_logical16, put_logical32, put_logical64, put_character, &
      put_int8_32, put_int16_32, put_int32_32, put_int64_32, put_real32_32, put_real64_32, &
      put_complex32_32, put_complex64_32, put_logical8_32, put_logical16_32, put_logical32_32, &
      put_logical64_32, put_character_32
    generic, public :: put_rows => put_rows_32, put_rows_64
    procedure, public :: put_joined
    procedure, public :: flush => flush_file
    procedure, public :: poll => poll_file
    procedure, public :: drain => drain_file
    !> Reads a part of one step. Collective; each rank reads its own part, which may be empty.
    !>
    !> - `name`: a variable of this file, the same on every rank
    !> - `data`: receives the part, which has the shape of `data`, of any kind that files have;
    !>   values are converted to its type
    !> - `start`: first element of the part; default: ones
    !> - `step`: the step, counted from 1, the same on every rank; default: the newest
    !> - `allow_overflow`: a narrowing conversion may lose values; default: .false.
    !> - `deferred`: the part is only noted, locally, for perform_gets; `data` (without gaps, not a
    !>   copy that the compiler makes) holds nothing before, and must stay until then; default:
    !>   .false.
    !> - errors: `not_found`, `out_of_bounds`, `type_mismatch`, `overflow`, `damaged`, `truncated`,
    !>   `changed_outside`, `io`, `unsupported` (a filter that is not known)
    generic, public :: get => &
      get_int8, get_int16, get_int32, get_int64, get_real32, get_real64, get_complex32, &
      get_complex64, get_logical8, get_logical16, get_logical32, get_logical64, get_character, &
      get_int8_32, get_int16_32, get_int32_32, get_int64_32, get_real32_32, get_real64_32, &
      get_complex32_32, get_complex64_32, get_logical8_32, get_logical16_32, get_logical32_32, &
      get_logical64_32, get_character_32
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
    procedure, public :: has_steps, is_partial, is_varying, dimension_name, get_fill
    procedure, public :: has_attribute
    procedure, public :: attributes => attribute_count
    procedure, public :: attribute_name, attribute_size, get_attribute, get_text
  end type sluice_file

  ! -- opening and closing: sluice_open.f90 --
  interface
    !> Opens a file by a communicator of mpi_f08. Collective: see open.
    module subroutine open_f08(self, path, mode, comm, options, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: path, mode
      type(MPI_Comm), intent(in) :: comm
      character(len=*), intent(in), optional :: options
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Opens a file by a communicator of mpi. Collective: see open.
    module subroutine open_integer(self, path, mode, comm, options, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: path, mode
      integer, intent(in) :: comm
      character(len=*), intent(in), optional :: options
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Opens a file by this process alone. Local: see open.
    module subroutine open_serial(self, path, mode, options, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: path, mode
      character(len=*), intent(in), optional :: options
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Commits what is not committed, and closes. Collective. A close that fails closes too, except
    !> inside a step.
    !>
    !> - errors: as end_step; `wrong_state` (inside a step, or not open)
    module subroutine close_file(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Whether the file is open. Local.
    pure module logical function is_open(self)
      class(sluice_file), intent(in) :: self
    end function
  end interface

  ! -- writing: sluice_write.f90 --
  interface
    !> Defines a variable. Alike. The same definition again gives the same variable.
    !>
    !> - `name`: name in the file; `/` makes groups
    !> - `type`: type in the file: sluice_real64, ..., sluice_character(n)
    !> - `shape`: elements in each dimension, without the step; absent: a scalar
    !> - `steps`: a value for every step; default: .false.
    !> - `partial`: elements may be left out, and read as `fill`; default: .false.
    !> - `fill`: one value of any intrinsic type, which elements that are left out have, and which
    !>   the file says (_FillValue) also without `partial`; default: zero with `partial`, else none
    !> - `unit`, `description`: stored as attributes `units` and `long_name`
    !> - `dimensions`: a name for each dimension
    !> - `chunk`: tile of the file in elements, a number for each dimension; default: chosen from
    !>   the first step
    !> - `varying`: each step has its own number of rows (its last dimension), see resize and
    !>   put_joined
    !> - `compress`: "deflate:6", "zstd:3", a plugin of HDF5 such as "lz4", or "none", with
    !>   "+noshuffle" behind, and "round:10+" (bits) or "digits:4+" (decimal digits) in front of it
    !>   for floats; see docs/compression.md. Default: as the option of the file
    !> - errors: `exists` (with another type, shape or option), `bad_name`, `invalid_argument`,
    !>   `unsupported` (by the format)
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
    !> Defines a variable of a 32-bit shape. Alike: see define.
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
    !> Defines a variable of a 64-bit shape with a 32-bit chunk. Alike: see define.
    module subroutine define_64_32(self, name, type, shape, steps, partial, fill, unit, &
        description, dimensions, chunk, varying, compress, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(in) :: type
      integer(int64), intent(in) :: shape(:)
      integer(int32), intent(in) :: chunk(:)
      logical, intent(in), optional :: steps, partial, varying
      class(*), intent(in), optional :: fill
      character(len=*), intent(in), optional :: unit, description, dimensions(:), compress
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Defines a variable of a 32-bit shape with a 64-bit chunk. Alike: see define.
    module subroutine define_32_64(self, name, type, shape, steps, partial, fill, unit, &
        description, dimensions, chunk, varying, compress, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(in) :: type
      integer(int32), intent(in) :: shape(:)
      integer(int64), intent(in) :: chunk(:)
      logical, intent(in), optional :: steps, partial, varying
      class(*), intent(in), optional :: fill
      character(len=*), intent(in), optional :: unit, description, dimensions(:), compress
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Sets an attribute, which the next commit writes. Alike. Texts: set_text.
    !>
    !> - `owner`: "": the file; a group; a variable; "time": the times of the steps
    !> - `name`: name of the attribute
    !> - `value`: an integer, real or logical, or a list of integers or reals, which keep their
    !>   type; copied. An integer(int8) as a list of one, `[value]`: without its brackets it cannot
    !>   be told from a text
    !> - errors: `bad_name`, `unsupported` (by the format)
    module subroutine set_attribute(self, owner, name, value, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      type(*), dimension(..), intent(in) :: value
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Sets a text as an attribute, which the next commit writes. Alike.
    !>
    !> - `owner`, `name`: as for set_attribute
    !> - `text`: its value; copied
    !> - errors: as set_attribute
    module subroutine set_text(self, owner, name, text, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name, text
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Begins a step. Local. Only one step is open at a time; end it with end_step.
    !>
    !> - `time`: time of the step in the simulation's unit, of which rank 0's is stored; absent:
    !>   none
    !> - errors: `wrong_state` (the step before has not ended), `unsupported` (the format stores no
    !>   times)
    module subroutine begin_step(self, time, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      real(real64), intent(in), optional :: time
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Writes and commits the step. Collective. On failure the file holds the steps before this one,
    !> and the next step may be tried.
    !>
    !> - `durable`: whether the step survives kill -9 and a power cut already
    !> - `ticket`: receives the receipt, to ask that later; give it back with its free
    !> - errors: what a put of this step met on any rank; `overlap`, `hole`, `duplicate_row`,
    !>   `missing_row`, `no_space`, `io`, `over_budget`
    module subroutine end_step(self, durable, ticket, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      logical, intent(out), optional :: durable
      type(sluice_ticket), intent(out), optional :: ticket
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Ends the step without committing it, on a rank that cannot go on. Collective with the other
    !> ranks' end_step, which fails with `why`; the file holds the steps before. What was put before
    !> the step, to variables without steps, is kept for the next commit.
    !>
    !> - `why`: the reason, for the message
    module subroutine abandon_step(self, why, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in), optional :: why
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Sets how many rows (last dimension) a varying variable has in this step. Alike; before the
    !> first put of it. Without the call the step has as many rows as the shape.
    !>
    !> - `name`: a variable defined with varying=.true.
    !> - `rows`: number of rows, 0 too
    !> - errors: `out_of_bounds` (more than the shape), `invalid_argument` (not varying),
    !>   `wrong_state` (after a put)
    module subroutine resize_64(self, name, rows, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(in) :: rows
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Sets a 32-bit number of rows. Alike: see resize.
    module subroutine resize_32(self, name, rows, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int32), intent(in) :: rows
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Puts rows by global index: data(..., i) becomes row ids(i). Local. Rows may come from any
    !> rank in any order, each exactly once, unless the variable is partial.
    !>
    !> - `name`: a variable with at least one dimension
    !> - `ids`: indices of the rows, counted from 1
    !> - `data`: the rows; its last dimension has the size of `ids`
    !> - `in_place`: `ids` and `data` are not copied, see above; default: .false.
    !> - errors: as put; `duplicate_row`, `missing_row` and `out_of_bounds` come from end_step
    module subroutine put_rows_64(self, name, ids, data, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(in) :: ids(:)
      type(*), dimension(..), intent(in), asynchronous :: data
      logical, intent(in), optional :: in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Puts rows by 32-bit global indices. Local: see put_rows.
    module subroutine put_rows_32(self, name, ids, data, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int32), intent(in) :: ids(:)
      type(*), dimension(..), intent(in), asynchronous :: data
      logical, intent(in), optional :: in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Puts this rank's rows of a varying variable behind those of the ranks before it. Local. For
    !> sizes that nobody knows beforehand: the step has as many rows as all ranks put together. A
    !> rank without rows need not call it, unless no rank has any: then one must, with 0 rows. Rows
    !> of several calls follow one another.
    !>
    !> - `name`: a variable defined as varying, of which resize and put are not called in this step
    !> - `data`: the rows; its last dimension counts them, 0 too
    !> - `in_place`: `data` is not copied, see above; default: .false.
    !> - errors: as put; `invalid_argument` (not varying), `wrong_state` (after resize or put),
    !>   `out_of_bounds` (more than the shape), which also comes from end_step, where the ranks
    !>   together have more
    module subroutine put_joined(self, name, data, in_place, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), intent(in), asynchronous :: data
      logical, intent(in), optional :: in_place
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Commits what was defined and put outside steps. Collective.
    !>
    !> - `durable`, `ticket`: as for end_step
    !> - errors: as end_step; `wrong_state` inside a step
    module subroutine flush_file(self, durable, ticket, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      logical, intent(out), optional :: durable
      type(sluice_ticket), intent(out), optional :: ticket
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Moves on what is on its way between nodes, without waiting. Local and cheap. For strategy
    !> "forward"; with others it does nothing.
    module subroutine poll_file(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Waits until every step that has ended is on disk. Local; between nodes every rank calls it.
    !> For a job that is about to be killed: steps that are on disk survive, later ones are lost.
    !>
    !> - `seconds`: the longest wait
    !> - `all`: whether all steps are on disk
    !> - errors: what a step met on its way
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
    !> Reads all parts that were deferred. Collective; every rank has deferred the same variables
    !> and steps in the same order. The ranks wait for each other as often as in one get, so reading
    !> several variables together is faster.
    !>
    !> - errors: `divergent`, and as get
    module subroutine perform_gets(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> Reads rows by global index: data(..., i) becomes row ids(i). Collective; each rank its own
    !> rows.
    !>
    !> - `name`: a variable with at least one dimension, the same on every rank
    !> - `ids`: indices of the rows, counted from 1, in any order, repeats allowed
    !> - `data`: receives the rows; its last dimension has the size of `ids`
    !> - `step`: as for get
    !> - errors: as get
    module subroutine get_rows_64(self, name, ids, data, step, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int64), intent(in) :: ids(:)
      type(*), dimension(..), intent(inout) :: data
      integer, intent(in), optional :: step
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Reads rows by 32-bit global indices. Collective: see get_rows.
    module subroutine get_rows_32(self, name, ids, data, step, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer(int32), intent(in) :: ids(:)
      type(*), dimension(..), intent(inout) :: data
      integer, intent(in), optional :: step
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Looks again at a file that another program is writing: newer steps, variables and attributes
    !> become visible. Collective. On failure the old state stays.
    !>
    !> - errors: `changed_outside` (a variable is gone, or is another one), and as open
    module subroutine refresh(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end subroutine
    !> The newest step of which every value can be read and matches its checksum; 0 where no step
    !> does. Collective. For programs that continue from it: the option restart_after, which counts
    !> from 0.
    !>
    !> - errors: as open
    module integer function latest_good(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The number of committed steps; they are numbered from 1. Local.
    module integer function step_count(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The time that begin_step got; NaN where that was none. Local; reading.
    !>
    !> - `step`: counted from 1
    !> - errors: `out_of_bounds`
    module real(real64) function time_of_step(self, step, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(in) :: step
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The number of variables. Local.
    module integer function variable_count(self, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The name of a variable. Local.
    !>
    !> - `index`: counted from 1, in order of definition. Reading, that is the order which the file
    !>   keeps: in HDF5 and netCDF-4 that of definition within each group, elsewhere it may be by
    !>   name
    !> - errors: `invalid_argument` (there is no such variable)
    module function variable_name(self, index, stat, errmsg) result(name)
      class(sluice_file), intent(inout) :: self
      integer, intent(in) :: index
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: name
    end function
    !> Whether there is a variable of that name. Local.
    module logical function has_variable(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The type of a variable: sluice_real64, ..., sluice_character(n). Local.
    !>
    !> - errors: `not_found`
    module integer(c_int32_t) function type_of(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The shape of a variable, without the step. Local.
    !>
    !> - `step`: gives the shape of that step of a varying variable; absent: the most
    !> - errors: `not_found`, `out_of_bounds`
    module function shape_of(self, name, step, stat, errmsg) result(dims)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(in), optional :: step
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      integer(int64), allocatable :: dims(:)
    end function
    !> Whether a variable has a value for every step. Local.
    !>
    !> - errors: `not_found`
    module logical function has_steps(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> Whether elements of a variable may be left out, which then read as the fill value. Local.
    !>
    !> - errors: `not_found`
    module logical function is_partial(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> Whether each step of a variable has its own number of rows: see shape. Local.
    !>
    !> - errors: `not_found`
    module logical function is_varying(self, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The name of a dimension of a variable; empty where it has none. Local.
    !>
    !> - `name`: a variable of this file
    !> - `dimension`: which one, counted from 1, without the step
    !> - errors: `not_found`, `out_of_bounds` (it has not as many)
    module function dimension_name(self, name, dimension, stat, errmsg) result(text)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      integer, intent(in) :: dimension
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: text
    end function
    !> The value as which elements read that were left out. Local.
    !>
    !> - `name`: a variable of this file
    !> - `value`: receives the value: a scalar of the variable's type, or of another integer or real
    !>   that holds it exactly
    !> - errors: `not_found`, `type_mismatch`, `overflow` (it does not fit)
    module subroutine get_fill(self, name, value, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: name
      type(*), dimension(..), intent(inout) :: value
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Whether there is such an attribute. Local; reading.
    !>
    !> - `owner`: "": the file; a group; a variable; "time": the times of the steps
    module logical function has_attribute(self, owner, name, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The number of attributes of an owner. Local; reading.
    !>
    !> - `owner`: as for has_attribute
    module integer function attribute_count(self, owner, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> The name of an attribute. Local; reading.
    !>
    !> - `owner`: as for has_attribute
    !> - `index`: counted from 1, in the file's order
    !> - errors: `out_of_bounds`
    module function attribute_name(self, owner, index, stat, errmsg) result(name)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner
      integer, intent(in) :: index
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
      character(len=:), allocatable :: name
    end function
    !> The length of a list, -1 of a single value. Local; reading.
    !>
    !> - `owner`, `name`: as for has_attribute
    !> - `type`: receives the type of the values
    !> - errors: `not_found`
    module integer function attribute_size(self, owner, name, type, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      integer(c_int32_t), intent(out), optional :: type
      integer, intent(out), optional :: stat
      character(len=*), intent(inout), optional :: errmsg
    end function
    !> Reads an attribute. Local; reading.
    !>
    !> - `owner`, `name`: as for has_attribute
    !> - `value`: receives the value or list, converted to its type; it must have room for it
    !> - errors: `not_found`, `overflow` (no room, or a value does not fit), `type_mismatch`
    module subroutine get_attribute(self, owner, name, value, stat, errmsg)
      class(sluice_file), intent(inout) :: self
      character(len=*), intent(in) :: owner, name
      type(*), dimension(..), intent(inout) :: value
      integer, intent(out), optional :: stat
      class(*), intent(inout), optional :: errmsg
    end subroutine
    !> Reads a text of any length. Local; reading.
    !>
    !> - `owner`, `name`: as for has_attribute
    !> - `text`: receives the text
    !> - `index`: which of a list, counted from 1; default: 1
    !> - errors: `not_found`, `type_mismatch` (it is no text), `out_of_bounds`
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

  !> The type of text of at most `bytes` bytes (UTF-8). Local.
  pure integer(c_int32_t) function sluice_character(bytes)
    integer, intent(in) :: bytes
    sluice_character = first_type + 14 + 256 * bytes
  end function

#include "sluice_kinds.inc"
end module sluice

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
! reverse: an array x(3, n) is a dataset of shape (n, 3), and no element moves. A step is counted
! from 1 too, and is the last dimension of Fortran, the first of the file.
!
! Data is any array section or scalar of integer, real, complex, logical or character of any kind
! that the file format has. It must stay unchanged until end_step (outside steps: flush or close)
! returns.
!
! Errors. Every procedure has optional `stat` (0, or one of sluice's codes) and `errmsg`. Without
! stat a failure stops the program with the message. What one rank meets in a collective call, all
! ranks get.
!
! Collective calls: open, end_step, flush, close, get, get_rows. The others are local; define and
! set_attribute must be called alike on every rank.
module sluice
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use mpi_f08, only: MPI_Comm
  use sluice_c
  implicit none
  private

  ! -- types of variables (the numbers of sluice.h) --
  integer(c_int32_t), parameter, public :: sluice_int8 = 1, sluice_int16 = 2, sluice_int32 = 3, &
    sluice_int64 = 4, sluice_uint8 = 5, sluice_uint16 = 6, sluice_uint32 = 7, sluice_uint64 = 8, &
    sluice_real32 = 9, sluice_real64 = 10, sluice_complex32 = 11, sluice_complex64 = 12, &
    sluice_logical = 13
  public :: sluice_character, sluice_file

  !> An open file. Copies share it; close it once.
  type :: sluice_file
    private
    type(c_ptr) :: handle = c_null_ptr
    type(id_list), pointer :: ids => null()
  contains
    procedure, private :: open_f08, open_integer, open_serial
    !> open(path, mode, comm, options): mode "r", "w", "x" (must not exist) or "a"; comm of mpi or
    !> mpi_f08; without comm for this process alone; options as lines of TOML. Collective.
    generic, public :: open => open_f08, open_integer, open_serial
    procedure, public :: close => close_file
    procedure, public :: define
    procedure, public :: set_attribute
    procedure, public :: get_attribute
    procedure, public :: begin_step
    procedure, public :: end_step
    procedure, public :: put
    procedure, public :: put_rows
    procedure, public :: flush => flush_file
    procedure, public :: get
    procedure, public :: get_rows
    procedure, public :: steps => step_count
    procedure, public :: time => time_of_step
    procedure, public :: shape => shape_of
    procedure, public :: refresh
    procedure, public :: is_open
  end type sluice_file

  !> Row ids counted from 0, kept until the step has ended.
  type :: id_list
    integer(c_int64_t), allocatable :: ids(:)
    type(id_list), pointer :: next => null()
  end type id_list

  integer(c_int), parameter :: invalid_argument = 10

contains

  !> The type of text of at most `bytes` bytes (UTF-8, blanks at the end are not kept).
  pure integer(c_int32_t) function sluice_character(bytes)
    integer, intent(in) :: bytes
    sluice_character = 14 + 256 * bytes
  end function

  ! -- opening and closing --

  subroutine open_integer(self, path, mode, comm, options, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: path, mode
    integer, intent(in) :: comm
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    code = c_open_f(int(comm, c_int), c_text(path), c_text(mode), c_text(options), self%handle)
    call finish(self, code, stat, errmsg)
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
    integer(c_int) :: code
    code = c_open_serial(c_text(path), c_text(mode), c_text(options), self%handle)
    call finish(self, code, stat, errmsg)
  end subroutine

  !> Commits what is not committed yet, and closes. Collective.
  subroutine close_file(self, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    code = c_close(self%handle)
    call finish(self, code, stat, errmsg)
    call forget_ids(self)
    call c_free(self%handle)
    self%handle = c_null_ptr
  end subroutine

  pure logical function is_open(self)
    class(sluice_file), intent(in) :: self
    is_open = c_associated(self%handle)
  end function

  ! -- describing --

  !> A variable of file type `type` (sluice_real64, ...) and `shape` (none: a scalar). steps: a
  !> value for every step. partial: elements may be left out and read as `fill`. Alike on every
  !> rank.
  subroutine define(self, name, type, shape, steps, partial, fill, unit, description, chunk, &
      stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in) :: type
    integer(int64), intent(in), optional :: shape(:), chunk(:)
    logical, intent(in), optional :: steps, partial
    real(real64), intent(in), optional :: fill
    character(len=*), intent(in), optional :: unit, description
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(variable_options) :: options
    integer(c_int64_t), allocatable :: dims(:)
    integer(c_int64_t), allocatable, target :: tile(:)
    character(kind=c_char), allocatable, target :: unit_text(:), description_text(:)
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    options = variable_options(c_sizeof(options), flag(steps), flag(partial), 0.0_c_double, &
      c_null_ptr, c_null_ptr, c_null_ptr, c_null_ptr)
    if (present(fill)) options%fill = fill
    if (present(unit)) then
      unit_text = c_text(unit)
      options%unit = c_loc(unit_text)
    end if
    if (present(description)) then
      description_text = c_text(description)
      options%description = c_loc(description_text)
    end if
    allocate (dims(0))
    if (present(shape)) dims = shape(size(shape):1:-1)
    if (present(chunk)) then
      tile = chunk(size(chunk):1:-1)
      if (size(tile) /= size(dims)) then
        call finish(self, -invalid_argument, stat, errmsg, &
          "define " // name // ": chunk needs as many numbers as shape")
        return
      end if
      options%chunk = c_loc(tile)
    end if
    code = c_define(self%handle, c_text(name), type, size(dims), dims, options, variable)
    call finish(self, code, stat, errmsg)
  end subroutine

  !> An attribute of the file (owner ""), a group or a variable: a scalar or a list. Alike on
  !> every rank.
  subroutine set_attribute(self, owner, name, value, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: owner, name
    type(*), dimension(..), intent(in) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(self, c_set_attribute(self%handle, c_text(owner), c_text(name), value), stat, &
      errmsg, "set_attribute " // name // ": a type or shape that attributes do not have")
  end subroutine

  !> Reads an attribute, converted to the type of `value`.
  subroutine get_attribute(self, owner, name, value, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: owner, name
    type(*), dimension(..), intent(inout) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(self, c_get_attribute(self%handle, c_text(owner), c_text(name), value), stat, &
      errmsg, "get_attribute " // name // ": a type or shape that attributes do not have")
  end subroutine

  ! -- writing --

  subroutine begin_step(self, time, stat, errmsg)
    use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
    class(sluice_file), intent(inout) :: self
    real(real64), intent(in), optional :: time
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    real(c_double) :: t
    t = ieee_value(t, ieee_quiet_nan)
    if (present(time)) t = time
    call finish(self, c_begin_step(self%handle, t), stat, errmsg)
  end subroutine

  !> Writes and commits the step. durable: does it survive kill -9 and a power cut? Collective.
  subroutine end_step(self, durable, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    logical, intent(out), optional :: durable
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: ticket
    integer(c_int) :: code
    ticket = c_null_ptr
    code = c_end_step(self%handle, ticket)
    call forget_ids(self)
    call read_ticket(ticket, durable)
    call finish(self, code, stat, errmsg)
  end subroutine

  !> Commits what was put outside steps. Collective.
  subroutine flush_file(self, durable, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    logical, intent(out), optional :: durable
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_ptr) :: ticket
    integer(c_int) :: code
    ticket = c_null_ptr
    code = c_flush(self%handle, ticket)
    call forget_ids(self)
    call read_ticket(ticket, durable)
    call finish(self, code, stat, errmsg)
  end subroutine

  !> This rank's part of a variable: `data`, whose shape is the part's, beginning at `start` (ones).
  subroutine put(self, name, data, start, allow_overflow, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(in) :: data
    integer(int64), intent(in), optional :: start(:)
    logical, intent(in), optional :: allow_overflow
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    if (.not. starts_fit(self, name, rank(data), start, stat, errmsg)) return
    code = c_find(self%handle, c_text(name), variable)
    if (code == 0) code = c_put(self%handle, variable, data, start, flag(allow_overflow))
    call finish(self, code, stat, errmsg, &
      "put " // name // ": data of a type that files do not have")
  end subroutine

  !> Rows by global index, counted from 1: data(..., i) is row ids(i). Dense numbers.
  subroutine put_rows(self, name, ids, data, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: ids(:)
    type(*), dimension(..), intent(in) :: data
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    type(id_list), pointer :: kept
    if (.not. ids_fit(self, name, size(ids, kind=int64), size(data, dim=rank(data), kind=int64), &
      stat, errmsg)) return
    allocate (kept)
    kept%ids = ids - 1
    kept%next => self%ids
    self%ids => kept
    code = c_find(self%handle, c_text(name), variable)
    if (code == 0) code = c_put_rows(self%handle, variable, data, kept%ids)
    call finish(self, code, stat, errmsg, &
      "put_rows " // name // ": data must be a dense array of numbers")
  end subroutine

  ! -- reading --

  !> Fills `data` with the part of its shape that begins at `start` (ones), of one step (counted
  !> from 1; the last; ignored for fixed variables), converted. Collective; each rank its own part.
  subroutine get(self, name, data, start, step, allow_overflow, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), dimension(..), intent(inout) :: data
    integer(int64), intent(in), optional :: start(:), step
    logical, intent(in), optional :: allow_overflow
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    if (.not. starts_fit(self, name, rank(data), start, stat, errmsg)) return
    code = c_find(self%handle, c_text(name), variable)
    if (code == 0) then
      code = c_get(self%handle, variable, data, start, c_step(step), flag(allow_overflow))
    end if
    call finish(self, code, stat, errmsg, &
      "get " // name // ": data of a type that files do not have")
  end subroutine

  !> Rows by global index, counted from 1, repeats allowed: data(..., i) is row ids(i). Collective.
  subroutine get_rows(self, name, ids, data, step, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: ids(:)
    type(*), dimension(..), intent(inout) :: data
    integer(int64), intent(in), optional :: step
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    if (.not. ids_fit(self, name, size(ids, kind=int64), size(data, dim=rank(data), kind=int64), &
      stat, errmsg)) return
    code = c_find(self%handle, c_text(name), variable)
    if (code == 0) code = c_get_rows(self%handle, variable, data, ids - 1, c_step(step))
    call finish(self, code, stat, errmsg, &
      "get_rows " // name // ": data must be a dense array of numbers")
  end subroutine

  !> Number of committed steps.
  integer(int64) function step_count(self)
    class(sluice_file), intent(inout) :: self
    call finish(self, c_steps(self%handle, step_count))
  end function

  !> The time given to begin_step, NaN where none was.
  real(real64) function time_of_step(self, step)
    class(sluice_file), intent(inout) :: self
    integer(int64), intent(in) :: step
    call finish(self, c_time(self%handle, step - 1, time_of_step))
  end function

  !> Shape of a variable, without the step.
  function shape_of(self, name) result(dims)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), allocatable :: dims(:)
    type(variable_info) :: info
    integer(c_int32_t) :: variable
    integer(c_int) :: code
    info%size = c_sizeof(info)
    code = c_find(self%handle, c_text(name), variable)
    if (code == 0) code = c_info(self%handle, variable, info)
    call finish(self, code)
    dims = info%shape(info%rank:1:-1)
  end function

  !> Looks again at a file that another program is writing. Collective.
  subroutine refresh(self, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish(self, c_refresh(self%handle), stat, errmsg)
  end subroutine

  ! -- inside --

  pure function c_text(text) result(chars)
    character(len=*), intent(in), optional :: text
    character(kind=c_char), allocatable :: chars(:)
    integer :: i, n
    n = 0
    if (present(text)) n = len_trim(text)
    allocate (chars(n + 1))
    do i = 1, n
      chars(i) = text(i:i)
    end do
    chars(n + 1) = c_null_char
  end function

  pure integer(c_int32_t) function flag(value)
    logical, intent(in), optional :: value
    flag = 0
    if (present(value)) flag = merge(1, 0, value)
  end function

  pure integer(c_int64_t) function c_step(step)
    integer(int64), intent(in), optional :: step
    c_step = -1
    if (present(step)) c_step = step - 1
  end function

  logical function starts_fit(self, name, rank_of_data, start, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer, intent(in) :: rank_of_data
    integer(int64), intent(in), optional :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    starts_fit = .true.
    if (present(start)) starts_fit = size(start) == rank_of_data
    if (.not. starts_fit) call finish(self, -invalid_argument, stat, errmsg, &
      name // ": start needs a number for each dimension of the data")
  end function

  logical function ids_fit(self, name, ids, rows, stat, errmsg)
    class(sluice_file), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: ids, rows
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    ids_fit = ids == rows
    if (.not. ids_fit) call finish(self, -invalid_argument, stat, errmsg, &
      name // ": the last dimension of the data needs as many rows as there are ids")
  end function

  subroutine read_ticket(ticket, durable)
    type(c_ptr), intent(in) :: ticket
    logical, intent(out), optional :: durable
    integer(c_int32_t) :: yes
    integer(c_int) :: code
    if (present(durable)) durable = .false.
    if (.not. c_associated(ticket)) return
    code = c_ticket_durable(ticket, yes)
    if (present(durable) .and. code == 0) durable = yes /= 0
    call c_ticket_free(ticket)
  end subroutine

  subroutine forget_ids(self)
    class(sluice_file), intent(inout) :: self
    type(id_list), pointer :: next
    do while (associated(self%ids))
      next => self%ids%next
      deallocate (self%ids)
      self%ids => next
    end do
  end subroutine

  !> Sets stat and errmsg, or stops. A negative code is a refusal of the Fortran side: `own` says
  !> why.
  subroutine finish(self, code, stat, errmsg, own)
    class(sluice_file), intent(in) :: self
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=*), intent(in), optional :: own
    character(len=:), allocatable :: message
    if (present(stat)) stat = abs(code)
    if (code == 0) return
    if (code < 0 .and. present(own)) then
      message = own
    else
      message = last_message(self)
    end if
    if (present(errmsg)) errmsg = message
    if (.not. present(stat)) then
      write (error_unit, "(a)") "sluice: " // message
      error stop 2
    end if
  end subroutine

  function last_message(self) result(message)
    class(sluice_file), intent(in) :: self
    character(len=:), allocatable :: message
    character(kind=c_char), pointer :: chars(:)
    type(c_ptr) :: text
    integer :: i
    text = c_last_error(self%handle)
    call c_f_pointer(text, chars, [c_strlen(text)])
    allocate (character(len=size(chars)) :: message)
    do i = 1, size(chars)
      message(i:i) = chars(i)
    end do
  end function
end module sluice

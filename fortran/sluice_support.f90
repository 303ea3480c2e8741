! Receipts, the library itself, and texts and errors between Fortran and C. Part of the module
! sluice, which hands on what begins with sluice_.
module sluice_support
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use sluice_c
  use sluice_codes
  implicit none
  public

  !> More than a variable has.
  integer, parameter :: most_dimensions = 15
  integer(c_int), parameter :: invalid_argument = sluice_error_invalid_argument, &
    wrong_state = sluice_error_wrong_state, not_found = sluice_error_not_found

  !> The receipt of a commit. It may be asked after its file is closed. Give it back with free.
  type :: sluice_ticket
    integer(int64) :: number = 0
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, public :: step => ticket_step
    procedure, public :: durable => ticket_durable
    procedure, public :: skipped => ticket_skipped
    procedure, public :: wait => ticket_wait
    procedure, public :: free => ticket_free
  end type sluice_ticket

  abstract interface
    !> Takes one message of the library.
    subroutine message_taker(text)
      character(len=*), intent(in) :: text
    end subroutine
  end interface

  procedure(message_taker), pointer, private, save :: message_handler => null()
  private :: pass_on

contains

  !> The version of the library at run time: "1.2.3". Local.
  function sluice_version() result(text)
    character(len=:), allocatable :: text
    text = f_text(c_version())
  end function

  !> Which MPI the library calls, as MPI_Get_library_version of it says; "none" where this process
  !> has loaded none. Local; works before MPI_Init.
  function sluice_mpi_library() result(text)
    character(len=:), allocatable :: text
    text = f_text(c_mpi_library())
    text = text(:verify(text, " " // new_line("a") // c_null_char, back=.true.))
  end function

  !> Sets where messages go (option `log`, SLUICE_EXPLAIN). One for the whole process. Local.
  !>
  !> - `handler`: a subroutine of one argument, character(len=*), intent(in) :: text, which gets
  !>   each message, one line. It is called on rank 0 of a file, inside calls, and is not internal
  !>   to another procedure. Absent: stderr, as at the start
  subroutine sluice_set_message_handler(handler)
    procedure(message_taker), optional :: handler
    message_handler => null()
    if (present(handler)) then
      message_handler => handler
      call c_set_message_handler(c_funloc(pass_on), c_null_ptr)
    else
      call c_set_message_handler(c_null_funptr, c_null_ptr)
    end if
  end subroutine

  !> What the library calls.
  subroutine pass_on(text, user) bind(c, name="")
    type(c_ptr), value :: text
    type(c_ptr), value :: user !< nothing
    if (associated(message_handler) .and. .not. c_associated(user)) then
      call message_handler(f_text(text))
    end if
  end subroutine

  !> The name of a code: "not_found" of sluice_error_not_found; "unknown" of other numbers. Local.
  !>
  !> - `code`: what a call gave in `stat`
  function sluice_code_name(code) result(text)
    integer, intent(in) :: code
    character(len=:), allocatable :: text
    text = f_text(c_code_name(int(code, c_int)))
  end function

  !> The number of the step, counted from 1. Local.
  integer function ticket_step(self)
    class(sluice_ticket), intent(in) :: self
    ticket_step = int(self%number)
  end function

  !> Whether the step survives kill -9, the loss of a node and a power cut. Local.
  logical function ticket_durable(self)
    class(sluice_ticket), intent(in) :: self
    integer(c_int32_t) :: yes
    ticket_durable = .false.
    if (c_ticket_durable(self%handle, yes) == 0) ticket_durable = yes /= 0
  end function

  !> Whether the step was left out (on_error = "skip_step"). Local.
  logical function ticket_skipped(self)
    class(sluice_ticket), intent(in) :: self
    integer(c_int32_t) :: yes
    ticket_skipped = .false.
    if (c_ticket_skipped(self%handle, yes) == 0) ticket_skipped = yes /= 0
  end function

  !> Waits until durable will not change any more. Local; between nodes the other ranks must call
  !> into the library meanwhile: poll.
  !>
  !> - errors: what the step met on its way; `timeout`
  subroutine ticket_wait(self, stat, errmsg)
    class(sluice_ticket), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    code = c_ticket_wait(self%handle)
    if (present(stat)) stat = 0
    if (code /= 0) call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
  end subroutine

  !> Frees the receipt. Local.
  subroutine ticket_free(self)
    class(sluice_ticket), intent(inout) :: self
    if (c_associated(self%handle)) call c_ticket_free(self%handle)
    self%handle = c_null_ptr
  end subroutine

  !> The text as C has it: ended by NUL, without blanks at the end.
  pure function c_text(text) result(chars)
    character(len=*), intent(in), optional :: text
    character(kind=c_char, len=:), allocatable :: chars
    chars = c_null_char
    if (present(text)) chars = trim(text) // c_null_char
  end function

  function f_text(text) result(chars)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: chars
    character(kind=c_char), pointer :: each(:)
    integer :: i
    call c_f_pointer(text, each, [c_strlen(text)])
    allocate (character(len=size(each)) :: chars)
    do i = 1, size(each)
      chars(i:i) = each(i)
    end do
  end function

  !> True, and the error said, where there is no file.
  logical function is_missing(handle, path, stat, errmsg)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in), optional :: path !< none: never opened
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    is_missing = .not. c_associated(handle)
    if (.not. is_missing) return
    if (present(path)) then
      call fail(wrong_state, path // ": is closed already", stat, errmsg)
    else
      call fail(wrong_state, "this sluice_file was never opened", stat, errmsg)
    end if
  end function

  !> What C takes for true and false; an absent one is false.
  pure integer(c_int32_t) function flag(value)
    logical, intent(in), optional :: value
    flag = 0
    if (present(value)) flag = merge(1, 0, value)
  end function

  !> -1: the newest, so that 0 is -2, as sluice_count_from() wants it.
  pure integer(c_int64_t) function c_step(step)
    integer, intent(in), optional :: step
    c_step = -1
    if (present(step)) c_step = merge(step - 1, step - 2, step >= 1)
  end function

  !> How many numbers the start of a part has; -1: there is none.
  pure integer(c_int) function dimensions(start)
    integer(int64), intent(in), optional :: start(:)
    dimensions = -1
    if (present(start)) dimensions = size(start, kind=c_int)
  end function

  pure subroutine widen(start, wide)
    integer(int32), intent(in) :: start(:)
    integer(int64), intent(out) :: wide(most_dimensions)
    integer :: i
    do i = 1, min(size(start), most_dimensions)
      wide(i) = start(i)
    end do
  end subroutine

  !> Sets stat and errmsg by the code of a call, or stops. A negative code is descriptor.c's.
  subroutine finish(handle, code, stat, errmsg)
    type(c_ptr), intent(in) :: handle
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (present(stat)) stat = 0
    if (code == 0) return
    if (code < 0) then
      call fail(-code, f_text(c_own_message()), stat, errmsg)
    else
      call fail(code, f_text(c_last_error(handle)), stat, errmsg)
    end if
  end subroutine

  !> finish with an errmsg that is a character of any length.
  subroutine report(handle, path, code, stat, errmsg)
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in), optional :: path
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    class(*), intent(inout), optional :: errmsg
    character(len=1000) :: message
    if (present(stat)) stat = 0
    if (code == 0) return
    if (.not. is_missing(handle, path, stat, message)) call finish(handle, code, stat, message)
    if (.not. present(errmsg)) return
    select type (errmsg)
    type is (character(len=*))
      errmsg = message
    end select
  end subroutine

  subroutine fail(code, message, stat, errmsg)
    integer(c_int), intent(in) :: code
    character(len=*), intent(in) :: message
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (present(errmsg)) errmsg = message
    if (.not. present(stat)) error stop "sluice: " // message
    stat = code
  end subroutine
end module sluice_support

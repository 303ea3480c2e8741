! Receipts, and texts and errors between Fortran and C. For the module sluice only.
module sluice_support
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use sluice_c
  implicit none
  public

  !> More than a variable has.
  integer, parameter :: most_dimensions = 15
  integer(c_int), parameter :: invalid_argument = 10, wrong_state = 19, not_found = 20

  !> The receipt of a commit. It may be asked after its file is closed. Give it back with free.
  type :: sluice_ticket
    integer(int64) :: number = 0
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, public :: step => ticket_step
    procedure, public :: durable => ticket_durable
    procedure, public :: wait => ticket_wait
    procedure, public :: free => ticket_free
  end type sluice_ticket

contains

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

! What the benchmarks in Fortran share.
module measuring
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: argument, median, remove

contains

  !> A number of the command line.
  integer function argument(number, default)
    integer, intent(in) :: number, default
    character(len=20) :: text
    argument = default
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *) argument
  end function

  real(real64) function median(values)
    real(real64), intent(in) :: values(:)
    real(real64) :: sorted(size(values)), one
    integer :: i, j
    sorted = values
    do i = 2, size(sorted)
      one = sorted(i)
      j = i - 1
      do while (j >= 1)
        if (sorted(j) <= one) exit
        sorted(j + 1) = sorted(j)
        j = j - 1
      end do
      sorted(j + 1) = one
    end do
    median = sorted(size(sorted) / 2 + 1)
  end function

  subroutine remove(name)
    character(len=*), intent(in) :: name
    integer :: unit
    open (newunit=unit, file=name)
    close (unit, status="delete")
  end subroutine
end module measuring

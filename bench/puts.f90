! What putting one element costs from Fortran: ten million doubles, one call each, into a stepped
! variable. As bench_puts, which see: contestants take turns, the first step is told apart from the
! median of the others, and allocations are counted in the loop of puts alone.
!
!   bench_puts_fortran [elements [steps]]
program puts
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use sluice
  use measuring
  implicit none
  integer, parameter :: contestants = 4
  character(len=24), parameter :: names(contestants) = [character(len=24) :: "store", "put", &
    "put, 32-bit start", "two variables in turn"]
  integer :: elements, steps, step, which
  integer(int64) :: before
  real(real64) :: from, to
  real(real64), allocatable :: ns(:, :)
  integer(int64), allocatable :: allocations(:, :)
  real(real64), allocatable, volatile :: room(:)
  type(sluice_file) :: out(contestants)

  interface
    integer(c_int64_t) function bench_allocations() bind(c)
      import
    end function
  end interface

  elements = argument(1, 10000000)
  steps = argument(2, 6)
  allocate (ns(steps, contestants), allocations(steps, contestants), room(elements))
  do which = 2, contestants
    call open_file(out(which), which)
  end do
  do step = 1, steps
    do which = 1, contestants
      if (which > 1) call out(which)%begin_step()
      before = bench_allocations()
      call cpu_time(from)
      select case (which)
      case (1)
        call store()
      case (2)
        call put_each(out(which))
      case (3)
        call put_each_32(out(which))
      case (4)
        call put_two_in_turn(out(which))
      end select
      call cpu_time(to)
      allocations(step, which) = bench_allocations() - before
      ns(step, which) = (to - from) * 1.0e9_real64 / elements
      if (which > 1) call out(which)%end_step()
    end do
  end do
  do which = 2, contestants
    call out(which)%close()
    call remove(file_name(which))
  end do
  call show()

contains

  function file_name(which) result(name)
    integer, intent(in) :: which
    character(len=40) :: name
    write (name, "(a,i0,a)") "bench-puts-fortran-", which, ".h5"
  end function

  subroutine open_file(file, which)
    type(sluice_file), intent(inout) :: file
    integer, intent(in) :: which
    call file%open(file_name(which), "w", options="durability = 'none'" // new_line("a") // &
      "checksum = false" // new_line("a") // "check = 'off'")
    call file%define("x", sluice_real64, shape=[elements], steps=.true.)
    if (which == 4) call file%define("y", sluice_real64, shape=[elements], steps=.true.)
  end subroutine

  pure real(real64) function value_at(i)
    integer, intent(in) :: i
    value_at = i * 0.5_real64
  end function

  subroutine store()
    integer :: i
    do i = 1, elements
      room(i) = value_at(i)
    end do
  end subroutine

  subroutine put_each(file)
    type(sluice_file), intent(inout) :: file
    integer(int64) :: i
    do i = 1, elements
      call file%put("x", value_at(int(i)), start=[i])
    end do
  end subroutine

  subroutine put_each_32(file)
    type(sluice_file), intent(inout) :: file
    integer :: i
    do i = 1, elements
      call file%put("x", value_at(i), start=[i])
    end do
  end subroutine

  subroutine put_two_in_turn(file)
    type(sluice_file), intent(inout) :: file
    integer :: i
    do i = 1, elements / 2
      call file%put("x", value_at(i), start=[i])
      call file%put("y", value_at(i), start=[i])
    end do
  end subroutine

  subroutine show()
    integer :: which
    integer(int64) :: most
    print "(i0,a)", elements, " elements, one put each"
    print "(a24,2a15,a11,a14)", "", "first step ns", "median ns", "best ns", "allocations"
    do which = 1, contestants
      most = maxval(allocations(2:, which))
      print "(a24,2f15.2,f11.2,i14)", names(which), ns(1, which), median(ns(2:, which)), &
        minval(ns(2:, which)), most
      ! Staging itself takes pieces of memory as it grows; a put must not.
      if (most > elements / 1000) error stop "something allocates in the loop of puts"
    end do
  end subroutine
end program puts

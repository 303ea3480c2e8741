! What a value costs in the loop over particles: written by format into a file, as unformatted
! stream, and by file_bwrite into memory; read back likewise. Contestants take turns; the first
! round warms up and is left out; what stands in the table is the median of the others. The group of
! file_bwrite is then written by file_dwrite, whose time stands beside it, per value. What is timed
! is the second group of a file: as in a run of many steps, the memory is there.
!
!   bench_records_fortran [particles [rounds]]
program records
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use fpio
  use measuring
  implicit none
  integer, parameter :: contestants = 7
  character(len=36), parameter :: names(contestants) = [character(len=36) :: &
    "formatted, id and 3 coordinates", "stream, id and 3 coordinates", &
    "file_bwrite, one type", "file_bwrite, id and 3 coordinates", &
    "file_bwrite, id and an array of 3", &
    "file_bread, one type", "file_bread, id and 3 coordinates"]
  !> Values a particle; a call each but for the array.
  integer, parameter :: calls(contestants) = [4, 4, 4, 4, 2, 4, 4]
  integer, parameter :: new = MPI_MODE_WRONLY + MPI_MODE_CREATE
  character(len=*), parameter :: fast = "durability = 'none'"
  integer :: particles, rounds, round, which
  integer(int64) :: begin, end, rate
  real(real64), allocatable :: ns(:, :), whole_ns(:, :), x(:, :)
  integer, allocatable :: id(:)
  real(real64) :: formatted_ns

  particles = argument(1, 500000)
  rounds = argument(2, 6)
  allocate (ns(rounds, contestants), whole_ns(rounds, contestants), x(3, particles), id(particles))
  call random_number(x)
  x = x * 20
  id = [(which, which=1, particles)]
  do round = 1, rounds
    do which = 1, contestants
      call run(which, ns(round, which), whole_ns(round, which))
    end do
  end do
  call remove("bench-records.txt")
  call remove("bench-records.bin")
  call remove("bench-records.rec")
  print "(i0,a)", particles, " particles; ns a call"
  print "(a36,3a15)", "", "median", "best", "with I/O"
  formatted_ns = median(ns(2:, 1))
  do which = 1, contestants
    print "(a36,3f15.2,a,f0.1)", names(which), median(ns(2:, which)), minval(ns(2:, which)), &
      median(whole_ns(2:, which)), "   formatted / this: ", formatted_ns / median(ns(2:, which))
  end do

contains

  !> per_call: of the loop; whole: with opening, what moves the data, and closing.
  subroutine run(which, per_call, whole)
    integer, intent(in) :: which
    real(real64), intent(out) :: per_call, whole
    type(fpio_file) :: fp(1)
    integer :: unit, i
    integer(int64) :: start
    character(len=3) :: kind
    kind = merge("txt", merge("bin", "rec", which == 2), which == 1)
    call system_clock(start, rate)
    select case (which)
    case (1)
      open (newunit=unit, file="bench-records." // kind, status="replace")
    case (2)
      open (newunit=unit, file="bench-records." // kind, access="stream", status="replace")
    case (3:5)
      call file_dopen(fp, "bench-records.rec", new, fast)
      call bwrite_each(fp(1))
      call file_dwrite(fp)
      call system_clock(start)
    case default
      call prepare(which)
      call system_clock(start)
      call file_dopen(fp, "bench-records.rec", MPI_MODE_RDONLY)
      call file_dread(fp)
    end select
    call system_clock(begin)
    select case (which)
    case (1)
      do i = 1, particles
        write (unit, "(i9,3f14.8)") id(i), x(1, i), x(2, i), x(3, i)
      end do
    case (2)
      do i = 1, particles
        write (unit) id(i), x(1, i), x(2, i), x(3, i)
      end do
    case (3)
      call bwrite_reals(fp(1))
    case (4)
      call bwrite_each(fp(1))
    case (5)
      do i = 1, particles
        call file_bwrite(fp(1), id(i))
        call file_bwrite(fp(1), x(:, i))
      end do
    case (6)
      do i = 1, particles
        call file_bread(fp(1), x(1, i))
        call file_bread(fp(1), x(2, i))
        call file_bread(fp(1), x(3, i))
        call file_bread(fp(1), x(1, i))
      end do
    case (7)
      do i = 1, particles
        call file_bread(fp(1), id(i))
        call file_bread(fp(1), x(1, i))
        call file_bread(fp(1), x(2, i))
        call file_bread(fp(1), x(3, i))
      end do
    end select
    call system_clock(end)
    per_call = (end - begin) * 1.0e9_real64 / rate / (real(particles, real64) * calls(which))
    if (which < 3) then
      close (unit)
    else
      if (which < 6) call file_dwrite(fp)
      call file_dclose(fp)
    end if
    call system_clock(end)
    whole = (end - start) * 1.0e9_real64 / rate / (real(particles, real64) * calls(which))
  end subroutine

  subroutine bwrite_reals(fp)
    type(fpio_file), intent(inout) :: fp
    integer :: i
    do i = 1, particles
      call file_bwrite(fp, x(1, i))
      call file_bwrite(fp, x(2, i))
      call file_bwrite(fp, x(3, i))
      call file_bwrite(fp, x(1, i))
    end do
  end subroutine

  subroutine bwrite_each(fp)
    type(fpio_file), intent(inout) :: fp
    integer :: i
    do i = 1, particles
      call file_bwrite(fp, id(i))
      call file_bwrite(fp, x(1, i))
      call file_bwrite(fp, x(2, i))
      call file_bwrite(fp, x(3, i))
    end do
  end subroutine

  !> What the readers read.
  subroutine prepare(which)
    integer, intent(in) :: which
    type(fpio_file) :: fp(1)
    call file_dopen(fp, "bench-records.rec", new, fast)
    if (which == 6) then
      call bwrite_reals(fp(1))
    else
      call bwrite_each(fp(1))
    end if
    call file_dwrite(fp)
    call file_dclose(fp)
  end subroutine
end program records

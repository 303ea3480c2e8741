! A three-body force: for each triple of orbits, a sum over channels, from a file that can be far
! larger than a rank's memory.
!
!   /three_body   float32, the channels of the first triple, then those of the second, ...; triples
!                 a <= b <= c of orbits in the order c, then b, then a, the last varying fastest
!   attributes    orbits, channels
!
! Invariant: the file is written and read by portions of a fixed number of elements, which the ranks
! take in turn, so that checksums are of the same portions on any number of ranks. A rank sums what
! it has of each triple; the sums of all ranks are added and dealt to all. So each byte comes from
! the disk once, and what is sent is as large as the sums.
module three_body
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use files, only: bytes_read
  use mpi_f08
  use sluice
  implicit none
  private
  public :: read_three_body, write_three_body, triple_count

  integer(int64), parameter :: portion = 1048576 !< elements in memory at a time

contains

  pure integer(int64) function triple_count(orbits)
    integer, intent(in) :: orbits
    triple_count = int(orbits, int64) * (orbits + 1) * (orbits + 2) / 6
  end function

  !> table(a, b, c), symmetric. Collective over `comm`. Error stop where the file is for other
  !> orbits.
  subroutine read_three_body(path, comm, orbits, table)
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: orbits
    real(real64), allocatable, intent(out) :: table(:, :, :)
    type(sluice_file) :: in
    real(real64) :: sums(triple_count(orbits))
    real(real32), allocatable :: room(:)
    integer(int64) :: first, length, elements, before, turn, i
    integer :: rank, ranks, found, channels, triple
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    before = bytes_read()
    call in%open(path, "r", comm)
    call in%get_attribute("", "orbits", found)
    call in%get_attribute("", "channels", channels)
    if (found /= orbits) error stop "mfdn: the three-body file is for other orbits"
    elements = size(sums, kind=int64) * channels
    allocate (room(portion))
    sums = 0
    do turn = 0, elements - 1, portion * ranks
      first = min(turn + portion * rank, elements)
      length = min(portion, elements - first)
      call in%get("three_body", room(:length), start=[first + 1])
      do i = 1, length
        triple = int((first + i - 1) / channels) + 1
        sums(triple) = sums(triple) + room(i)
      end do
    end do
    call in%close()
    call report(comm, rank, 4 * elements, bytes_read() - before)
    call MPI_Allreduce(MPI_IN_PLACE, sums, size(sums), MPI_DOUBLE_PRECISION, MPI_SUM, comm)
    call fill_table(orbits, sums, table)
  end subroutine

  subroutine report(comm, rank, bytes, own)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: rank
    integer(int64), intent(in) :: bytes, own
    integer(int64) :: total
    call MPI_Reduce(own, total, 1, MPI_INTEGER8, MPI_SUM, 0, comm)
    if (rank == 0) print "(a,i0,a,i0,a)", "three-body file: ", bytes, " bytes of values, ", total, &
      " bytes read by all ranks"
  end subroutine

  subroutine fill_table(orbits, sums, table)
    integer, intent(in) :: orbits
    real(real64), intent(in) :: sums(:)
    real(real64), allocatable, intent(out) :: table(:, :, :)
    integer :: a, b, c, triple
    allocate (table(orbits, orbits, orbits))
    triple = 0
    do c = 1, orbits
      do b = 1, c
        do a = 1, b
          triple = triple + 1
          table(a, b, c) = sums(triple)
          table(b, a, c) = sums(triple)
          table(a, c, b) = sums(triple)
          table(c, a, b) = sums(triple)
          table(b, c, a) = sums(triple)
          table(c, b, a) = sums(triple)
        end do
      end do
    end do
  end subroutine

  !> The generator: channels of a size that their sum is about `strength` in MeV. Collective.
  subroutine write_three_body(path, comm, orbits, channels, strength_mev)
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: orbits, channels
    real(real64), intent(in) :: strength_mev
    type(sluice_file) :: out
    real(real32), allocatable, target :: values(:)
    integer(int64) :: elements, turn, first, length, i, index
    integer :: rank, ranks, triple
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    elements = triple_count(orbits) * channels
    allocate (values(elements / ranks + portion))
    call out%open(path, "w", comm, options='strategy = "shared"')
    call out%set_attribute("", "orbits", orbits)
    call out%set_attribute("", "channels", channels)
    call out%define("three_body", sluice_real32, shape=[elements])
    index = 1
    do turn = 0, elements - 1, portion * ranks
      first = min(turn + portion * rank, elements)
      length = min(portion, elements - first)
      do i = 1, length
        triple = int((first + i - 1) / channels) + 1
        values(index + i - 1) = real(strength_mev / channels * cos(0.1_real64 * triple) &
          * (1 + 0.5_real64 * cos(real(mod(first + i, int(channels, int64)), real64))), real32)
      end do
      call out%put("three_body", values(index:index + length - 1), start=[first + 1], &
        in_place=.true.)
      index = index + length
    end do
    call out%close()
  end subroutine
end module three_body

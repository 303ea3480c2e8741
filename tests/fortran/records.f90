! Record I/O by the module fpio on any number of ranks: every kind, arrays of every rank, parts of
! unequal and zero length, many groups, four files at once, other numbers of readers, arrays of
! handles. The files are then read by check_records.py.
program records
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit, &
    output_unit
  use mpi_f08
  use fpio
  implicit none
  integer, parameter :: int128 = selected_int_kind(38), real80 = selected_real_kind(18), &
    real128 = selected_real_kind(33)
  integer, parameter :: cycles = 5
  integer, parameter :: new = MPI_MODE_WRONLY + MPI_MODE_CREATE
  integer :: rank, ranks
  character(len=512) :: path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, path)
  call write_loops()
  call read_loops(MPI_COMM_WORLD)
  call read_by_others()
  call four_files()
  call many_handles()
  call every_kind()
  call every_rank()
  call sections()
  call append_groups()
  call by_every_strategy()
  if (rank == 0) write (output_unit, "(a)") "fortran records: ok"
  call MPI_Finalize()

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      write (error_unit, "(a,i0,2a)") "rank ", rank, ": not so: ", what
      error stop 1
    end if
  end subroutine

  !> How many particles a part has in a group: of every number, now and then none.
  pure integer function particles(part, group)
    integer, intent(in) :: part, group
    particles = mod(part * 5 + group * 3, 7) * 2
  end function

  pure real(real64) function x_of(part, group, i, axis)
    integer, intent(in) :: part, group, i, axis
    x_of = part + group / 16.0_real64 + i * 100 + axis / 4.0_real64
  end function

  subroutine put_particles(fp, part, group)
    type(fpio_file), intent(inout) :: fp
    integer, intent(in) :: part, group
    character(len=6) :: name
    integer :: i, axis
    real(real32) :: weight
    do i = 1, particles(part, group)
      write (name, "(a,i0)") "P", mod(i, 100)
      weight = i * 0.5
      call file_bwrite(fp, 1000 * part + i)
      do axis = 1, 3
        call file_bwrite(fp, x_of(part, group, i, axis))
      end do
      call file_bwrite(fp, weight)
      call file_bwrite(fp, name)
      call file_bwrite(fp, mod(i, 2) == 0)
    end do
  end subroutine

  subroutine take_particles(fp, part, group)
    type(fpio_file), intent(inout) :: fp
    integer, intent(in) :: part, group
    character(len=6) :: name, expected
    integer :: i, id, axis
    real(real64) :: x(3)
    real(real32) :: weight
    logical :: is_even
    do i = 1, particles(part, group)
      call file_bread(fp, id)
      call file_bread(fp, x)
      call file_bread(fp, weight)
      call file_bread(fp, name)
      call file_bread(fp, is_even)
      write (expected, "(a,i0)") "P", mod(i, 100)
      call require(id == 1000 * part + i, "the id")
      call require(all(x == [(x_of(part, group, i, axis), axis=1, 3)]), "the coordinates")
      call require(weight == i * 0.5 .and. name == expected, "weight and name")
      call require(is_even .eqv. mod(i, 2) == 0, "the logical")
    end do
  end subroutine

  subroutine write_loops()
    type(fpio_file) :: fp
    integer :: group
    logical :: durable
    call file_dopen(fp, path, new, MPI_COMM_WORLD)
    do group = 1, cycles
      call put_particles(fp, rank, group)
      call file_dwrite(fp, durable)
      call require(durable, "durable when it returns")
      call require(file_groups(fp) == group, "the number of groups")
    end do
    call file_dclose(fp)
  end subroutine

  !> Reader r of M gets the parts r*P/M to (r+1)*P/M - 1.
  subroutine read_loops(comm)
    type(MPI_Comm), intent(in) :: comm
    type(fpio_file) :: fp
    integer :: group, part, reader, readers, stat
    character(len=300) :: message
    call MPI_Comm_rank(comm, reader)
    call MPI_Comm_size(comm, readers)
    call file_dopen(fp, path, MPI_MODE_RDONLY, comm%MPI_VAL)
    call require(file_groups(fp) == cycles, "all groups are there")
    do group = 1, cycles
      call file_dread(fp)
      do part = reader * ranks / readers, (reader + 1) * ranks / readers - 1
        call take_particles(fp, part, group)
      end do
      call require(file_at_end(fp, stat=stat), "nothing more in the group")
      call require(stat == 0, "no error at the end of the group")
    end do
    call file_dread(fp, stat=stat, errmsg=message)
    call require(stat == 11 .and. index(message, "no further record group") > 0, trim(message))
    call file_dread(fp, 2)
    do part = reader * ranks / readers, (reader + 1) * ranks / readers - 1
      call take_particles(fp, part, 2)
    end do
    call file_dclose(fp)
  end subroutine

  subroutine read_by_others()
    type(MPI_Comm) :: some
    integer :: readers
    do readers = 1, min(ranks, 3)
      call MPI_Comm_split(MPI_COMM_WORLD, merge(0, MPI_UNDEFINED, rank < readers), rank, some)
      if (rank < readers) then
        call read_loops(some)
        call MPI_Comm_free(some)
      end if
      call MPI_Barrier(MPI_COMM_WORLD)
    end do
  end subroutine

  subroutine four_files()
    type(fpio_file) :: fp(4)
    integer :: i, group
    character(len=1) :: number
    do i = 1, 4
      write (number, "(i1)") i
      call file_dopen(fp(i), trim(path) // "." // number, new, MPI_COMM_WORLD)
    end do
    do group = 1, cycles
      do i = 1, 4
        call put_particles(fp(i), rank + i, group)
      end do
      do i = 1, 4
        call file_dwrite(fp(i))
      end do
    end do
    do i = 1, 4
      call file_dclose(fp(i))
      write (number, "(i1)") i
      call file_dopen(fp(i), trim(path) // "." // number, MPI_MODE_RDONLY, MPI_COMM_WORLD)
    end do
    do group = 1, cycles
      do i = 4, 1, -1
        call file_dread(fp(i))
        call take_particles(fp(i), rank + i, group)
      end do
    end do
    do i = 1, 4
      call file_dclose(fp(i))
    end do
  end subroutine

  !> One process writes the parts of nine ranks; all ranks read them, and then one process alone.
  subroutine many_handles()
    integer, parameter :: parts = 9
    type(fpio_file) :: fp(parts), mine
    integer :: part, group
    if (rank == 0) then
      call file_dopen(fp, trim(path) // ".init", new)
      do group = 1, 2
        do part = parts, 1, -1
          call put_particles(fp(part), part, group)
        end do
        call file_dwrite(fp)
      end do
      call file_dclose(fp)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
    call file_dopen(mine, trim(path) // ".init", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    do group = 1, 2
      call file_dread(mine)
      do part = rank * parts / ranks + 1, (rank + 1) * parts / ranks
        call take_particles(mine, part, group)
      end do
    end do
    call file_dclose(mine)
    if (rank /= 0) return
    call file_dopen(fp, trim(path) // ".init", MPI_MODE_RDONLY)
    do group = 1, 2
      call file_dread(fp)
      do part = 1, parts
        call take_particles(fp(part), part, group)
      end do
    end do
    call file_dclose(fp)
  end subroutine

  subroutine every_kind()
    type(fpio_file) :: fp
    integer(int8) :: i1
    integer(int16) :: i2
    integer(int32) :: i4
    integer(int64) :: i8
    integer(int128) :: i16
    real(real32) :: r4
    real(real64) :: r8
    real(real80) :: r10
    real(real128) :: r16
    complex(real32) :: c4
    complex(real64) :: c8
    complex(real80) :: c10
    complex(real128) :: c16
    logical(int8) :: l1
    logical(int16) :: l2
    logical(int32) :: l4
    logical(int64) :: l8
    character(len=1) :: letter
    character(len=11) :: text
    integer :: i
    call file_dopen(fp, trim(path) // ".kinds", new, MPI_COMM_WORLD)
    do i = 1, 3
      i1 = int(i, int8); i2 = int(300 + i, int16); i4 = 70000 + i; i8 = 5000000000_int64 + i
      i16 = 2_int128**100 + i; r4 = i + 0.5_real32; r8 = i + 0.1_real64; r10 = i + 0.1_real80
      r16 = i + 0.1_real128; c4 = cmplx(i, -i, real32); c8 = cmplx(i, 2 * i, real64)
      c10 = cmplx(i, 3 * i, real80); c16 = cmplx(i, 4 * i, real128)
      l1 = i == 1; l2 = i == 2; l4 = i == 3; l8 = i /= 2
      letter = achar(64 + i); text = "surfactant"
      call file_bwrite(fp, i1); call file_bwrite(fp, i2); call file_bwrite(fp, i4)
      call file_bwrite(fp, i8); call file_bwrite(fp, i16); call file_bwrite(fp, r4)
      call file_bwrite(fp, r8); call file_bwrite(fp, r10); call file_bwrite(fp, r16)
      call file_bwrite(fp, c4); call file_bwrite(fp, c8); call file_bwrite(fp, c10)
      call file_bwrite(fp, c16); call file_bwrite(fp, l1); call file_bwrite(fp, l2)
      call file_bwrite(fp, l4); call file_bwrite(fp, l8); call file_bwrite(fp, letter)
      call file_bwrite(fp, text); call file_bwrite(fp, i * 2); call file_bwrite(fp, r8 * 2)
    end do
    call file_dwrite(fp)
    call file_dclose(fp)
    call file_dopen(fp, trim(path) // ".kinds", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    do i = 1, 3
      call file_bread(fp, i1); call file_bread(fp, i2); call file_bread(fp, i4)
      call file_bread(fp, i8); call file_bread(fp, i16); call file_bread(fp, r4)
      call file_bread(fp, r8); call file_bread(fp, r10); call file_bread(fp, r16)
      call file_bread(fp, c4); call file_bread(fp, c8); call file_bread(fp, c10)
      call file_bread(fp, c16); call file_bread(fp, l1); call file_bread(fp, l2)
      call file_bread(fp, l4); call file_bread(fp, l8); call file_bread(fp, letter)
      call file_bread(fp, text); call file_bread(fp, i4); call file_bread(fp, r8)
      call require(i1 == i .and. i2 == 300 + i .and. i4 == 2 * i, "small integers")
      call require(i8 == 5000000000_int64 + i .and. i16 == 2_int128**100 + i, "large integers")
      call require(r4 == i + 0.5_real32 .and. r10 == i + 0.1_real80, "reals")
      call require(r16 == i + 0.1_real128 .and. r8 == 2 * (i + 0.1_real64), "longer reals")
      call require(c4 == cmplx(i, -i, real32) .and. c8 == cmplx(i, 2 * i, real64), "complex")
      call require(c10 == cmplx(i, 3 * i, real80), "complex of 80 bits")
      call require(c16 == cmplx(i, 4 * i, real128), "complex of 128 bits")
      call require((l1 .eqv. i == 1) .and. (l2 .eqv. i == 2), "short logicals")
      call require((l4 .eqv. i == 3) .and. (logical(l8) .eqv. i /= 2), "logicals")
      call require(letter == achar(64 + i) .and. text == "surfactant", "text")
    end do
    call require(file_at_end(fp), "nothing more")
    call file_dclose(fp)
  end subroutine

  subroutine every_rank()
    type(fpio_file) :: fp
    real(real64) :: a1(2), a2(2, 3), a3(2, 3, 2), a4(2, 1, 2, 3), a5(1, 2, 1, 2, 2)
    integer :: a6(2, 1, 2, 1, 2, 2), i
    character(len=3) :: a7(1, 2, 1, 2, 1, 2, 2)
    real(real64) :: b1(2), b2(2, 3), b3(2, 3, 2), b4(2, 1, 2, 3), b5(1, 2, 1, 2, 2)
    integer :: b6(2, 1, 2, 1, 2, 2)
    character(len=3) :: b7(1, 2, 1, 2, 1, 2, 2)
    a1 = [1, 2]
    a2 = reshape([(i, i=1, 6)], shape(a2))
    a3 = reshape([(i * 2, i=1, 12)], shape(a3))
    a4 = reshape([(i * 3, i=1, 12)], shape(a4))
    a5 = reshape([(i * 4, i=1, 8)], shape(a5))
    a6 = reshape([(i * 5, i=1, 16)], shape(a6))
    a7 = reshape([(achar(64 + i) // "b", i=1, 16)], shape(a7))
    call file_dopen(fp, trim(path) // ".ranks", new, MPI_COMM_WORLD)
    call file_bwrite(fp, a1); call file_bwrite(fp, a2); call file_bwrite(fp, a3)
    call file_bwrite(fp, a4); call file_bwrite(fp, a5); call file_bwrite(fp, a6)
    call file_bwrite(fp, a7); call file_bwrite(fp, a1(1:0))
    call file_dwrite(fp)
    call file_dclose(fp)
    call file_dopen(fp, trim(path) // ".ranks", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    call file_bread(fp, b1); call file_bread(fp, b2); call file_bread(fp, b3)
    call file_bread(fp, b4); call file_bread(fp, b5); call file_bread(fp, b6)
    call file_bread(fp, b7)
    call require(all(a1 == b1) .and. all(a2 == b2) .and. all(a3 == b3), "ranks 1 to 3")
    call require(all(a4 == b4) .and. all(a5 == b5) .and. all(a6 == b6), "ranks 4 to 6")
    call require(all(a7 == b7) .and. file_at_end(fp), "rank 7")
    call file_dclose(fp)
  end subroutine

  subroutine sections()
    type(fpio_file) :: fp
    real(real64) :: a(6, 5), b(6, 5)
    logical :: flags(8), read_flags(8)
    integer :: i
    a = reshape([(i + 0.5_real64, i=1, 30)], shape(a))
    b = -1
    flags = [(mod(i, 3) == 0, i=1, 8)]
    read_flags = .false.
    call file_dopen(fp, trim(path) // ".sections", new, MPI_COMM_WORLD)
    call file_bwrite(fp, a(6:1:-2, 2:4))
    call file_bwrite(fp, a(3, :))
    call file_bwrite(fp, flags(1:8:2))
    call file_dwrite(fp)
    call file_dclose(fp)
    call file_dopen(fp, trim(path) // ".sections", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    call file_bread(fp, b(6:1:-2, 2:4))
    call file_bread(fp, b(3, :))
    call file_bread(fp, read_flags(1:8:2))
    call require(all(b(2:6:2, 2:4) == a(2:6:2, 2:4)) .and. all(b(3, :) == a(3, :)), "sections")
    call require(all(b(1, :) == -1) .and. all(b(5, :) == -1), "beside the sections")
    call require(all(read_flags(1:8:2) .eqv. flags(1:8:2)), "logicals of a section")
    call file_dclose(fp)
  end subroutine

  subroutine append_groups()
    type(fpio_file) :: fp
    integer :: group, value
    do group = 1, 3
      call file_dopen(fp, trim(path) // ".more", MPI_MODE_WRONLY + MPI_MODE_APPEND + &
        MPI_MODE_CREATE, MPI_COMM_WORLD)
      call file_bwrite(fp, group * 100 + rank)
      call file_dwrite(fp)
      call file_dclose(fp)
    end do
    call file_dopen(fp, trim(path) // ".more", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    do group = 1, 3
      call file_dread(fp)
      call file_bread(fp, value)
      call require(value == group * 100 + rank, "an appended group")
    end do
    call file_dclose(fp)
  end subroutine

  subroutine by_every_strategy()
    character(len=10), parameter :: names(4) = [character(len=10) :: "shared", "collective", &
      "serial", "forward"]
    type(fpio_file) :: fp, seen
    logical :: all_there
    integer :: i, group
    do i = 1, size(names)
      call file_dopen(fp, trim(path) // "." // trim(names(i)), new, MPI_COMM_WORLD, &
        "strategy = '" // trim(names(i)) // "'")
      do group = 1, 3
        call put_particles(fp, rank, group)
        call file_dwrite(fp)
      end do
      call file_drain(fp, 60.0_real64, all_there)
      call require(all_there, "after file_drain every group is on disk")
      call file_dopen(seen, trim(path) // "." // trim(names(i)), MPI_MODE_RDONLY, MPI_COMM_SELF)
      call require(file_groups(seen) == 3, "what file_drain waited for is in the file")
      call file_dclose(seen)
      call file_dclose(fp)
      call file_dopen(fp, trim(path) // "." // trim(names(i)), MPI_MODE_RDONLY, MPI_COMM_WORLD)
      do group = 1, 3
        call file_dread(fp)
        call take_particles(fp, rank, group)
      end do
      call file_dclose(fp)
    end do
  end subroutine
end program records

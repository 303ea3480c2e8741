! Record I/O for Fortran 2018, under the names of fpioLib. Every rank writes its values one by one
! into memory, and all ranks together put them into one file.
!
!   use fpio
!   type(fpio_file) :: fp
!   call file_dopen(fp, "traj", MPI_MODE_WRONLY + MPI_MODE_CREATE, comm)
!   do step = 1, steps
!     do i = 1, n
!       call file_bwrite(fp, id(i)); call file_bwrite(fp, x(:, i))
!     end do
!     call file_dwrite(fp)
!   end do
!   call file_dclose(fp)
!
! A file_dwrite appends one record group, which has one part for each rank, of any length. A
! file_dread fetches for each rank exactly what the matching file_dwrite wrote. On another number of
! ranks the parts are dealt out in order: reader r of M gets the parts r*P/M to (r+1)*P/M - 1, one
! after the other. file_bread copies values out, in the order and of the types in which they were
! written (arrays and single values are the same; an array's first dimension varies fastest).
! Another type is an error that names both.
!
! An array fp(:), opened without communicator, lets one process write or read the parts of size(fp)
! ranks.
!
! Values are scalars or arrays of rank 1 to 15 of every integer, real, complex, logical and
! character kind. Blanks at the end of text are not kept; logicals become a byte. Each file_dwrite
! is durable when it returns, unless the options say otherwise. Strategies, options, checksums and
! recovery are those of any other file of Sluice: docs/formats/records.md.
!
! Constants. The module hands on MPI_MODE_* of mpi_f08. In a program with `use mpi` they would be
! ambiguous, as those of mpi are other entities: there it is `use fpio, only: fpio_file, file_dopen,
! ...` without them.
!
! Errors. `stat` is 0 or a code, which the module sluice names (`use sluice, only:
! sluice_error_not_found`); errmsg (and file_message()) is the message. Without stat an error stops
! the program with the message. What one rank meets in a collective call, all ranks get. Any call
! may give wrong_state (the file is not open, or was opened for the other direction); any collective
! call may give divergent, timeout and mpi.
!
! Collective: file_dopen, file_dwrite, file_dread and file_dclose are called by every rank, in the
! same order. Other procedures are local. A file is used by one thread at a time.
module fpio
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08, only: MPI_Comm, MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR, MPI_MODE_CREATE, &
    MPI_MODE_EXCL, MPI_MODE_APPEND
  use fpio_values
  use sluice_support, only: c_text, f_text, tell => fail, invalid_argument, wrong_state, not_found
  implicit none
  private
  public :: fpio_file, file_dopen, file_bwrite, file_dwrite, file_dread, file_bread, file_dclose
  public :: file_drain
  public :: file_groups, file_at_end, file_message, file_set_text
  public :: MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_CREATE, MPI_MODE_EXCL, MPI_MODE_APPEND

  !> Opens a file. Collective over `comm`.
  !>
  !> - `fp`: the file; an array fp(:), without comm, stands for size(fp) ranks in this process
  !> - `name`: path of the file, the same on every rank
  !> - `mode`: MPI_MODE_RDONLY reads; MPI_MODE_WRONLY + MPI_MODE_CREATE writes a new file, which
  !>   replaces an old one at the first file_dwrite (with MPI_MODE_EXCL there must be none);
  !>   MPI_MODE_WRONLY + MPI_MODE_APPEND adds record groups (with MPI_MODE_CREATE there may be no
  !>   file yet)
  !> - `comm`: of mpi or mpi_f08; it is duplicated
  !> - `options`: lines of TOML, such as "strategy = 'collective'"
  !> - errors: `not_found`, `exists`, `permission`, `locked`, `format` (the file holds no records),
  !>   `invalid_argument`, `unsupported`, `io`, `mpi`
  interface file_dopen
    module procedure dopen_integer, dopen_f08, dopen_parts
  end interface
  !> Appends everything written since the last file_dwrite as one record group. Collective.
  !>
  !> - errors: `no_space`, `io`; the file then holds the groups before, and what was written for
  !>   this one is dropped
  interface file_dwrite
    module procedure dwrite_one, dwrite_parts
  end interface
  !> Waits until all record groups of earlier calls of file_dwrite are on disk. Local; between nodes
  !> every rank calls it. For strategy forward: a checkpoint that counts them may then be saved.
  !>
  !> - `seconds`: the longest wait
  !> - `all`: are all of them on disk?
  !> - errors: those of a group on its way
  interface file_drain
    module procedure drain_one, drain_parts
  end interface
  !> Reads a record group into memory, of it the parts of this rank. Collective.
  !>
  !> - `group`: its number, counted from 1; default: the next one
  !> - errors: `out_of_bounds` (there is no such group), `damaged`, `truncated`, `io`
  interface file_dread
    module procedure dread_one, dread_parts
  end interface
  !> Sets a text about the file, which the next file_dwrite writes. Alike.
  !>
  !> - `name`: name of the text; `sluice_template` says how `sluice convert` makes lines of the
  !>   records
  !> - `text`: its value
  !> - errors: `invalid_argument` (a name of the library)
  interface file_set_text
    module procedure set_text_one, set_text_parts
  end interface
  !> Closes the file. Collective. What was written since the last file_dwrite is dropped.
  !>
  !> - errors: `io`
  interface file_dclose
    module procedure dclose_one, dclose_parts
  end interface

  interface
    integer(c_int) function c_open_f(comm, path, mode, options, records) &
        bind(c, name="sluice_records_open_f")
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: path(*), mode(*), options(*)
      type(c_ptr), intent(out) :: records
    end function
    integer(c_int) function c_open_parts(path, mode, options, parts, records) &
        bind(c, name="sluice_records_open_parts")
      import
      character(kind=c_char), intent(in) :: path(*), mode(*), options(*)
      integer(c_int), value :: parts
      type(c_ptr), intent(out) :: records
    end function
    type(c_ptr) function c_part(records, part) bind(c, name="sluice_records_part")
      import
      type(c_ptr), value :: records
      integer(c_int), value :: part
    end function
    integer(c_int) function c_groups(records, groups) bind(c, name="sluice_records_groups")
      import
      type(c_ptr), value :: records
      integer(c_int64_t), intent(out) :: groups
    end function
    integer(c_int) function c_count_from(records, first) bind(c, name="sluice_records_count_from")
      import
      type(c_ptr), value :: records
      integer(c_int32_t), value :: first
    end function
    integer(c_int) function c_set_text(records, name, text) bind(c, name="sluice_records_set_text")
      import
      type(c_ptr), value :: records
      character(kind=c_char), intent(in) :: name(*), text(*)
    end function
    integer(c_int) function c_commit(records, durable) bind(c, name="sluice_records_commit")
      import
      type(c_ptr), value :: records
      integer(c_int32_t), intent(out) :: durable
    end function
    integer(c_int) function c_drain(records, seconds, all) bind(c, name="sluice_records_drain")
      import
      type(c_ptr), value :: records
      real(c_double), value :: seconds
      integer(c_int32_t), intent(inout) :: all
    end function
    integer(c_int) function c_fetch(records, group) bind(c, name="sluice_records_fetch")
      import
      type(c_ptr), value :: records
      integer(c_int64_t), value :: group
    end function
    integer(c_int) function c_at_end(part, yes) bind(c, name="sluice_part_at_end")
      import
      type(c_ptr), value :: part
      integer(c_int32_t), intent(out) :: yes
    end function
    integer(c_int) function c_close(records) bind(c, name="sluice_records_close")
      import
      type(c_ptr), value :: records
    end function
    subroutine c_free(records) bind(c, name="sluice_records_free")
      import
      type(c_ptr), value :: records
    end subroutine
    subroutine c_keep_message(message) bind(c, name="sluice_fpio_keep_message")
      import
      character(kind=c_char), intent(in) :: message(*)
    end subroutine
    type(c_ptr) function c_kept_message() bind(c, name="sluice_fpio_message")
      import
    end function
    type(c_ptr) function c_last_error(file) bind(c, name="sluice_last_error")
      import
      type(c_ptr), value :: file
    end function
  end interface

contains

  ! -- opening ------------------------------------------------------------------------------------

  !> The mode of the C interface: "?" where the flags mean none.
  pure character(len=1) function mode_of(flags)
    integer, intent(in) :: flags
    mode_of = "?"
    if (iand(flags, MPI_MODE_RDWR) /= 0) return
    if (iand(flags, MPI_MODE_RDONLY) /= 0) then
      if (flags == MPI_MODE_RDONLY) mode_of = "r"
    else if (iand(flags, MPI_MODE_WRONLY) /= 0) then
      if (iand(flags, MPI_MODE_APPEND) /= 0) then
        mode_of = "a"
      else if (iand(flags, MPI_MODE_CREATE) /= 0) then
        mode_of = merge("x", "w", iand(flags, MPI_MODE_EXCL) /= 0)
      end if
    end if
  end function

  subroutine dopen_integer(fp, name, mode, comm, options, stat, errmsg)
    type(fpio_file), intent(inout) :: fp
    character(len=*), intent(in) :: name
    integer, intent(in) :: mode, comm
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fpio_file) :: one(1)
    one(1) = fp
    call open_any(one, name, mode, options, stat, errmsg, comm)
    fp = one(1)
  end subroutine

  subroutine dopen_f08(fp, name, mode, comm, options, stat, errmsg)
    type(fpio_file), intent(inout) :: fp
    character(len=*), intent(in) :: name
    integer, intent(in) :: mode
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call dopen_integer(fp, name, mode, comm%MPI_VAL, options, stat, errmsg)
  end subroutine

  subroutine dopen_parts(fp, name, mode, options, stat, errmsg)
    type(fpio_file), intent(inout) :: fp(:)
    character(len=*), intent(in) :: name
    integer, intent(in) :: mode
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call open_any(fp, name, mode, options, stat, errmsg)
  end subroutine

  subroutine open_any(fp, name, mode, options, stat, errmsg, comm)
    type(fpio_file), intent(inout) :: fp(:)
    character(len=*), intent(in) :: name
    integer, intent(in) :: mode
    character(len=*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer, intent(in), optional :: comm
    type(c_ptr) :: records
    integer(c_int) :: code
    integer :: i
    character(len=1) :: word
    if (present(stat)) stat = 0
    do i = 1, size(fp)
      if (c_associated(fp(i)%records)) then
        call fail(wrong_state, "file_dopen " // trim(name) // ": this fpio_file is open already", &
          stat, errmsg)
        return
      end if
    end do
    word = mode_of(mode)
    if (word == "?") then
      call fail(invalid_argument, "file_dopen " // trim(name) // ": mode is none of " // &
        "MPI_MODE_RDONLY, MPI_MODE_WRONLY + MPI_MODE_CREATE and MPI_MODE_WRONLY + " // &
        "MPI_MODE_APPEND", stat, errmsg)
      return
    end if
    code = open_as(word)
    ! What is not there is not there for any rank.
    if (code == not_found .and. word == "a" .and. iand(mode, MPI_MODE_CREATE) /= 0) &
      code = open_as("w")
    if (code /= 0) then
      call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
      return
    end if
    code = c_count_from(records, 1_c_int32_t) ! of an open file it cannot fail
    do i = 1, size(fp)
      fp(i)%records = records
      fp(i)%part = c_part(records, int(i - 1, c_int))
      fp(i)%parts = int(size(fp), c_int32_t)
      fp(i)%number = int(i, c_int32_t)
    end do

  contains

    integer(c_int) function open_as(word)
      character(len=1), intent(in) :: word
      if (present(comm)) then
        open_as = c_open_f(int(comm, c_int), c_text(name), c_text(word), c_text(options), records)
      else
        open_as = c_open_parts(c_text(name), c_text(word), c_text(options), size(fp, kind=c_int), &
          records)
      end if
    end function
  end subroutine

  ! -- all together -------------------------------------------------------------------------------

  !> True, and the error reported, where `fp` is not all of an open file.
  logical function is_unusable(fp, call_name, stat, errmsg)
    type(fpio_file), intent(in) :: fp(:)
    character(len=*), intent(in) :: call_name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer :: i
    is_unusable = .true.
    if (present(stat)) stat = 0
    if (size(fp) == 0) then
      call fail(wrong_state, call_name // ": an array without elements", stat, errmsg)
      return
    end if
    if (.not. c_associated(fp(1)%records)) then
      call fail(wrong_state, call_name // ": this fpio_file is not open", stat, errmsg)
      return
    end if
    do i = 1, size(fp)
      if (fp(i)%number /= i .or. fp(i)%parts /= size(fp) .or. &
          .not. c_associated(fp(i)%records, fp(1)%records)) then
        call fail(invalid_argument, call_name // ": give the array with all parts, as it was " // &
          "opened", stat, errmsg)
        return
      end if
    end do
    is_unusable = .false.
  end function

  subroutine set_text_one(fp, name, text, stat, errmsg)
    type(fpio_file), intent(in) :: fp
    character(len=*), intent(in) :: name, text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call set_text_parts([fp], name, text, stat, errmsg)
  end subroutine

  subroutine set_text_parts(fp, name, text, stat, errmsg)
    type(fpio_file), intent(in) :: fp(:)
    character(len=*), intent(in) :: name, text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    if (is_unusable(fp, "file_set_text", stat, errmsg)) return
    code = c_set_text(fp(1)%records, c_text(name), c_text(text))
    call finish(code, stat, errmsg)
  end subroutine

  subroutine dwrite_one(fp, durable, stat, errmsg)
    type(fpio_file), intent(in) :: fp
    logical, intent(out), optional :: durable
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call dwrite_parts([fp], durable, stat, errmsg)
  end subroutine

  subroutine dwrite_parts(fp, durable, stat, errmsg)
    type(fpio_file), intent(in) :: fp(:)
    logical, intent(out), optional :: durable !< does it survive kill -9 and a power cut already?
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: yes
    integer(c_int) :: code
    if (present(durable)) durable = .false.
    if (is_unusable(fp, "file_dwrite", stat, errmsg)) return
    code = c_commit(fp(1)%records, yes)
    if (code /= 0) then
      call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
    else if (present(durable)) then
      durable = yes /= 0
    end if
  end subroutine

  subroutine drain_one(fp, seconds, all, stat, errmsg)
    type(fpio_file), intent(in) :: fp
    real(real64), intent(in) :: seconds
    logical, intent(out), optional :: all
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call drain_parts([fp], seconds, all, stat, errmsg)
  end subroutine

  subroutine drain_parts(fp, seconds, all, stat, errmsg)
    type(fpio_file), intent(in) :: fp(:)
    real(real64), intent(in) :: seconds
    logical, intent(out), optional :: all
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: yes
    integer(c_int) :: code
    if (present(all)) all = .false.
    if (is_unusable(fp, "file_drain", stat, errmsg)) return
    yes = 0
    code = c_drain(fp(1)%records, seconds, yes)
    if (present(all)) all = yes /= 0
    if (code /= 0) call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
  end subroutine

  subroutine dread_one(fp, group, stat, errmsg)
    type(fpio_file), intent(in) :: fp
    integer, intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call dread_parts([fp], group, stat, errmsg)
  end subroutine

  subroutine dread_parts(fp, group, stat, errmsg)
    type(fpio_file), intent(in) :: fp(:)
    integer, intent(in), optional :: group
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t), parameter :: next_group = -1
    integer(c_int64_t) :: wanted
    integer(c_int) :: code
    if (is_unusable(fp, "file_dread", stat, errmsg)) return
    wanted = next_group
    if (present(group)) wanted = int(group, c_int64_t) - merge(1, 2, group > 0)
    code = c_fetch(fp(1)%records, wanted) ! of a wrong one, too: the other ranks wait for it
    if (wanted < next_group) then
      call fail(invalid_argument, "file_dread: record groups are counted from 1", stat, errmsg)
      return
    end if
    if (code /= 0) call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
  end subroutine

  subroutine dclose_one(fp, stat, errmsg)
    type(fpio_file), intent(inout) :: fp
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fpio_file) :: one(1)
    one(1) = fp
    call dclose_parts(one, stat, errmsg)
    fp = one(1)
  end subroutine

  subroutine dclose_parts(fp, stat, errmsg)
    type(fpio_file), intent(inout) :: fp(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable :: message
    integer(c_int) :: code
    integer :: i
    if (is_unusable(fp, "file_dclose", stat, errmsg)) return
    code = c_close(fp(1)%records)
    message = ""
    if (code /= 0) message = f_text(c_last_error(c_null_ptr))
    call c_free(fp(1)%records)
    do i = 1, size(fp)
      fp(i) = fpio_file()
    end do
    if (code /= 0) call fail(code, message, stat, errmsg)
  end subroutine

  ! -- questions ----------------------------------------------------------------------------------

  !> The number of record groups in the file. Local.
  integer(int64) function file_groups(fp, stat)
    type(fpio_file), intent(in) :: fp
    integer, intent(out), optional :: stat
    integer(c_int64_t) :: groups
    file_groups = 0
    if (present(stat)) stat = 0
    if (.not. c_associated(fp%records)) then
      call fail(wrong_state, "file_groups: this fpio_file is not open", stat)
      return
    end if
    groups = 0
    call finish(c_groups(fp%records, groups), stat)
    file_groups = groups
  end function

  !> Whether everything of the record group has been read. Local. Where the file is damaged it stops
  !> with a message, or sets `stat` and is false.
  logical function file_at_end(fp, stat)
    type(fpio_file), intent(in) :: fp
    integer, intent(out), optional :: stat
    integer(c_int32_t) :: yes
    file_at_end = .true.
    if (present(stat)) stat = 0
    if (.not. c_associated(fp%part)) then
      call fail(wrong_state, "file_at_end: this fpio_file is not open", stat)
      return
    end if
    yes = 0
    call finish(c_at_end(fp%part, yes), stat)
    file_at_end = yes /= 0
  end function

  !> The message of the last failure. Local.
  function file_message() result(message)
    character(len=:), allocatable :: message
    message = f_text(c_kept_message())
  end function

  !> For fpio.c.
  subroutine failed(code, message, stat) bind(c, name="sluice_fpio_failed")
    integer(c_int), value :: code
    character(kind=c_char), target, intent(in) :: message(*)
    integer(c_int), intent(out), optional :: stat
    call fail(code, f_text(c_loc(message)), stat)
  end subroutine

  !> Also for file_message.
  subroutine fail(code, message, stat, errmsg)
    integer(c_int), intent(in) :: code
    character(len=*), intent(in) :: message
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call c_keep_message(c_text(message))
    call tell(code, message, stat, errmsg)
  end subroutine

  !> Sets stat and errmsg by the code of a call, or stops.
  subroutine finish(code, stat, errmsg)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (present(stat)) stat = 0
    if (code /= 0) call fail(code, f_text(c_last_error(c_null_ptr)), stat, errmsg)
  end subroutine
end module fpio

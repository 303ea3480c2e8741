! Arrays that an assignment from an array function has allocated, of which gfortran leaves a part of
! the descriptor unset: every call that takes data gives and takes their values.
module results
  use, intrinsic :: iso_fortran_env, only: int32, real64
  implicit none
  type :: cell
    real(real64), allocatable :: packed(:), grid(:, :)
  end type
  type :: site
    real(real64) :: x, y
  end type
  integer(int32), allocatable :: ids(:)
  real(real64), allocatable, target :: packed(:), shifted(:), ended(:), most(:), result_of(:)
  real(real64), allocatable, target :: grid(:, :), turned(:, :), wide(:, :), back(:, :), sevens(:)
  real(real64), allocatable, target :: cube(:, :, :), four(:, :, :, :), five(:, :, :, :, :)
  real(real64), allocatable, target :: six(:, :, :, :, :, :), seven(:, :, :, :, :, :, :)
  type(cell) :: inner
  type(site), allocatable :: sites(:)
  logical, allocatable :: flags(:)
  character(len=6), allocatable :: texts(:)

contains

  !> Every array anew. `n` is 4; a constant would be folded.
  subroutine assign_all(n, factor)
    integer, intent(in) :: n
    real(real64), intent(in) :: factor
    real(real64) :: w(n * n)
    type(site) :: all_sites(n)
    integer :: i
    w = [(factor * i, i=1, n * n)]
    all_sites = [(site(factor * i, -factor * i), i=1, n)]
    call drop_all()
    ids = pack([(i, i=1, 3 * n)], [(mod(i, 3) == 0, i=1, 3 * n)])
    packed = pack(w, w > 3 * factor)
    shifted = cshift(w, n)
    ended = eoshift(w, n - 1)
    grid = reshape(w, [n, n])
    most = maxval(grid, dim=1)
    result_of = from_function(n, factor)
    turned = cshift(grid, 1, 2)
    wide = spread(w(:n), 1, n - 1)
    back = unpack(w, grid > n * factor, -grid)
    cube = reshape(w, [2, n, n / 2])
    four = reshape(w, [2, 1, n, n / 2])
    five = reshape(w, [2, 1, n, 1, n / 2])
    six = reshape(w, [2, 1, 2, 1, n / 2, 2])
    seven = reshape(w, [2, 1, 2, 1, 2, 1, n / 2])
    sevens = sum(reshape(w, [n / 2, n * 2]), dim=2)
    inner%packed = pack(w, w > 2 * factor)
    inner%grid = reshape(w, [n / 2, n * 2])
    sites = pack(all_sites, all_sites%x > factor)
    flags = pack(w > 5 * factor, w > 2 * factor)
    texts = pack([character(len=6) :: "argon", "helium", "neon"], [.true., n < 4, .true.])
  end subroutine

  subroutine drop_all()
    if (.not. allocated(ids)) return
    deallocate (ids, packed, shifted, ended, most, result_of, grid, turned, wide, back, sevens)
    deallocate (cube, four, five, six, seven, sites, flags, texts, inner%packed, inner%grid)
  end subroutine

  function from_function(n, factor) result(values)
    integer, intent(in) :: n
    real(real64), intent(in) :: factor
    real(real64), allocatable :: values(:)
    integer :: i
    values = pack([(factor * i, i=1, n)], [(i > 1, i=1, n)])
  end function

  !> All reals, in the order of the calls below.
  function reals() result(values)
    real(real64), allocatable :: values(:)
    values = [packed, shifted, ended, most, result_of, [grid], [turned], [wide], [back], sevens, &
      [cube], [four], [five], [six], [seven], inner%packed, [inner%grid], sites%x, sites%y]
  end function
end module results

program assigned
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64, error_unit
  use mpi_f08
  use fpio
  use sluice
  use results
  implicit none
  character(len=500) :: path
  integer :: n

  call MPI_Init()
  call get_command_argument(1, path)
  n = 3 + command_argument_count()
  call write_records()
  call read_records()
  call write_arrays()
  call read_arrays()
  call checkpoint()
  call assign_all(n, 2.0_real64)
  call hand_on_any_rank(packed)
  call MPI_Finalize()

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    write (error_unit, "(2a)") "not so: ", what
    error stop 1
  end subroutine

  !> What follows was called with descriptors full of this.
  subroutine dirty_stack()
    integer(int64) :: junk(2000)
    junk = 777
    call look_at(junk)
  end subroutine

  subroutine look_at(junk)
    integer(int64), intent(in) :: junk(:)
    if (sum(junk) < 0) error stop "junk"
  end subroutine

  ! -- records --

  subroutine write_reals(fp)
    type(fpio_file), intent(inout) :: fp
    call file_bwrite(fp, packed); call file_bwrite(fp, shifted); call file_bwrite(fp, ended)
    call file_bwrite(fp, most); call file_bwrite(fp, result_of); call file_bwrite(fp, grid)
    call file_bwrite(fp, turned); call file_bwrite(fp, wide); call file_bwrite(fp, back)
    call file_bwrite(fp, sevens); call file_bwrite(fp, cube); call file_bwrite(fp, four)
    call file_bwrite(fp, five); call file_bwrite(fp, six); call file_bwrite(fp, seven)
    call file_bwrite(fp, inner%packed); call file_bwrite(fp, inner%grid)
    call file_bwrite(fp, sites%x); call file_bwrite(fp, sites%y)
  end subroutine

  subroutine write_others(fp)
    type(fpio_file), intent(inout) :: fp
    real(real64), allocatable :: w(:), local(:), plane(:, :)
    w = from_function(n, 1.0_real64)
    call file_bwrite(fp, ids)
    call file_bwrite(fp, flags)
    call file_bwrite(fp, texts)
    call file_bwrite(fp, ids(4:1:-1))
    call file_bwrite(fp, grid(2, :)); call file_bwrite(fp, cube(:, 4:1:-1, 2))
    call file_bwrite(fp, pack(w, w > 2)); call file_bwrite(fp, from_function(n, 2.0_real64))
    call file_bwrite(fp, reshape(w, [1, 3])); call file_bwrite(fp, transpose(grid))
    local = pack(w, w > 2)
    plane = reshape(w, [1, n - 1])
    call file_bwrite(fp, local); call file_bwrite(fp, plane)
    call write_dummies(fp, local, plane, grid)
  end subroutine

  subroutine write_dummies(fp, local, plane, shaped)
    type(fpio_file), intent(inout) :: fp
    real(real64), allocatable, intent(inout) :: local(:), plane(:, :)
    real(real64), intent(in) :: shaped(:, :)
    local = pack(local, local > 3)
    plane = reshape(local, [1, size(local)])
    call file_bwrite(fp, local); call file_bwrite(fp, plane); call file_bwrite(fp, shaped)
    call file_bwrite(fp, shaped(2:3, :))
  end subroutine

  !> Written from such arrays, read into others.
  subroutine write_records()
    type(fpio_file) :: fp
    real(real64), allocatable :: wanted(:), got(:)
    integer(int32) :: got_ids(8)
    logical, allocatable :: got_flags(:)
    character(len=6) :: got_texts(2)
    call assign_all(n, 1.0_real64)
    call dirty_stack()
    call file_dopen(fp, trim(path) // ".rec", MPI_MODE_WRONLY + MPI_MODE_CREATE, MPI_COMM_WORLD)
    call write_reals(fp)
    call write_others(fp)
    call file_dwrite(fp)
    call file_dclose(fp)
    wanted = reals()
    allocate (got(size(wanted)), got_flags(size(flags)))
    call file_dopen(fp, trim(path) // ".rec", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    call file_bread(fp, got)
    call require(all(got == wanted), "file_bwrite of reals")
    call file_bread(fp, got_ids(:4)); call file_bread(fp, got_flags); call file_bread(fp, got_texts)
    call file_bread(fp, got_ids(5:))
    call require(all(got_ids == [3, 6, 9, 12, 12, 9, 6, 3]), "file_bwrite of ids")
    call require(all(got_flags .eqv. flags), "file_bwrite of logicals")
    call require(all(got_texts == texts), "file_bwrite of texts")
    wanted = [real(real64) :: grid(2, :), [cube(:, 4:1:-1, 2)], 3, 4, 4, 6, 8, 2, 3, 4, &
      [transpose(grid)], 3, 4, 2, 3, 4, 4, 4, [grid], [grid(2:3, :)]]
    call file_bread(fp, got(:size(wanted)))
    call require(all(got(:size(wanted)) == wanted), "file_bwrite of sections and results")
    call require(file_at_end(fp), "as many values as were written")
    call file_dclose(fp)
  end subroutine

  subroutine read_records()
    type(fpio_file) :: fp
    real(real64), allocatable :: wanted(:)
    integer(int32), allocatable :: wanted_ids(:)
    integer :: i
    call assign_all(n, 5.0_real64)
    allocate (wanted, source=reals())
    allocate (wanted_ids, source=ids * 2)
    call file_dopen(fp, trim(path) // ".rec", MPI_MODE_WRONLY + MPI_MODE_CREATE, MPI_COMM_WORLD)
    call file_bwrite(fp, wanted * 2)
    call file_bwrite(fp, ids * 2)
    call file_bwrite(fp, [(mod(i, 2) == 1, i=1, 14)])
    call file_bwrite(fp, ["xenon ", "radon "])
    call file_bwrite(fp, [1.0_real64, 2.0_real64, 3.0_real64, 4.0_real64])
    call file_dwrite(fp)
    call file_dclose(fp)
    call assign_all(n, 5.0_real64)
    call dirty_stack()
    call file_dopen(fp, trim(path) // ".rec", MPI_MODE_RDONLY, MPI_COMM_WORLD)
    call file_dread(fp)
    call read_reals(fp)
    call require(all(reals() == 2 * wanted), "file_bread of reals")
    call file_bread(fp, ids)
    call require(all(ids == wanted_ids), "file_bread of ids")
    call file_bread(fp, flags)
    call require(all(flags .eqv. [(mod(i, 2) == 1, i=1, 14)]), "file_bread of logicals")
    call file_bread(fp, texts)
    call require(all(texts == ["xenon ", "radon "]), "file_bread of texts")
    call file_bread(fp, grid(2, :))
    call require(all(grid(2, :) == [1, 2, 3, 4]), "file_bread into a section")
    call require(all(grid(1, :) == [10, 50, 90, 130]), "beside the section")
    call file_dclose(fp)
  end subroutine

  !> What gfortran hands on of an allocatable dummy of any rank cannot be repaired. It may be right.
  subroutine hand_on_any_rank(values)
    real(real64), allocatable, intent(inout) :: values(..)
    type(fpio_file) :: fp
    type(sluice_file) :: file
    integer :: code
    character(len=300) :: message
    real(real64) :: got(size(values))
    call file_dopen(fp, trim(path) // ".rec", MPI_MODE_WRONLY + MPI_MODE_CREATE, MPI_COMM_WORLD)
    call file_bwrite(fp, values, code)
    if (code /= 0) call require(index(file_message(), "select rank") > 0, file_message())
    call file_dclose(fp)
    call file%open(trim(path), "w")
    call file%define("packed", sluice_real64, shape=shape(packed))
    call file%put("packed", values, stat=code, errmsg=message)
    if (code /= 0) then
      call require(index(message, "select rank") > 0, message)
      call file%flush(stat=code)
      select rank (values)
      rank (1)
        call file%put("packed", values)
      end select
    end if
    call file%close()
    call file%open(trim(path), "r")
    call file%get("packed", got)
    call require(all(got == packed), "what an allocatable dummy of any rank has")
    call file%close()
  end subroutine

  subroutine read_reals(fp)
    type(fpio_file), intent(inout) :: fp
    call file_bread(fp, packed); call file_bread(fp, shifted); call file_bread(fp, ended)
    call file_bread(fp, most); call file_bread(fp, result_of); call file_bread(fp, grid)
    call file_bread(fp, turned); call file_bread(fp, wide); call file_bread(fp, back)
    call file_bread(fp, sevens); call file_bread(fp, cube); call file_bread(fp, four)
    call file_bread(fp, five); call file_bread(fp, six); call file_bread(fp, seven)
    call file_bread(fp, inner%packed); call file_bread(fp, inner%grid)
    call file_bread(fp, sites%x); call file_bread(fp, sites%y)
  end subroutine

  ! -- arrays --

  subroutine write_arrays()
    type(sluice_file) :: file
    call assign_all(n, 3.0_real64)
    call dirty_stack()
    call file%open(trim(path), "w")
    call file%define("ids", sluice_int32, shape=shape(ids))
    call file%define("packed", sluice_real64, shape=shape(packed))
    call file%define("grid", sluice_real64, shape=shape(grid))
    call file%define("row", sluice_real64, shape=[n])
    call file%define("seven", sluice_real64, shape=shape(seven))
    call file%define("sites", sluice_real64, shape=shape(sites))
    call file%define("texts", sluice_character(6), shape=shape(texts))
    call file%define("rows", sluice_real64, shape=shape(turned))
    call file%define("joined", sluice_real64, shape=shape(cube), steps=.true., varying=.true.)
    call file%put("ids", ids)
    call file%put("packed", packed, in_place=.true.)
    call file%put("grid", grid, start=[1, 1])
    call file%put("row", grid(2, :))
    call file%put("seven", seven, start=[1_int64, 1_int64, 1_int64, 1_int64, 1_int64, 1_int64, &
      1_int64])
    call file%put("sites", sites%y)
    call file%put("texts", texts)
    call file%put_rows("rows", pack([4, 3, 2, 1], spread(n > 3, 1, 4)), turned)
    call file%set_attribute("", "ids", ids)
    call file%set_attribute("", "most", most)
    call file%begin_step()
    call file%put_joined("joined", cube)
    call file%end_step()
    call file%close()
  end subroutine

  !> Into arrays that an assignment has allocated anew, with other values.
  subroutine read_arrays()
    type(sluice_file) :: file
    real(real64), allocatable :: wanted(:)
    real(real64) :: wanted_y(size(sites)), wanted_grid(n, n), wanted_rows(n, n)
    allocate (wanted, source=reals())
    wanted_grid = grid
    wanted_rows = turned(:, 4:1:-1)
    wanted_y = sites%y
    call assign_all(n, 0.5_real64)
    call dirty_stack()
    call file%open(trim(path), "r")
    call file%get("packed", packed)
    call require(all(packed == wanted(:13)), "get of one dimension")
    call file%get("grid", grid, start=[1, 1])
    call require(all(grid == wanted_grid), "get of two dimensions")
    call file%get("row", grid(4, :))
    call require(all(grid(4, :) == wanted_grid(2, :)), "get into a section")
    call file%get("seven", seven, deferred=.true.)
    call file%perform_gets()
    call require(all([seven] == [wanted_grid]), "get of seven dimensions")
    call file%get("sites", sites%x)
    call require(all(sites%x == wanted_y), "get of a component")
    ids = spread(0, 1, n)
    call file%get("ids", ids)
    call require(all(ids == [3, 6, 9, 12]), "get of ids")
    call file%get("texts", texts)
    call require(all(texts == ["argon ", "neon  "]), "get of texts")
    call file%get("rows", turned)
    call require(all(turned == wanted_rows), "put_rows")
    call file%get_rows("rows", pack([4, 3, 2, 1], spread(n > 3, 1, 4)), turned)
    call require(all(turned == wanted_rows(:, 4:1:-1)), "get_rows")
    call file%get("joined", cube)
    call require(all([cube] == [wanted_grid]), "put_joined")
    ids = spread(0, 1, n)
    call file%get_attribute("", "ids", ids)
    call require(all(ids == [3, 6, 9, 12]), "an attribute of ids")
    call file%get_attribute("", "most", most)
    call require(all(most == maxval(wanted_grid, dim=1)), "an attribute of reals")
    call file%close()
  end subroutine

  ! -- checkpoints --

  subroutine register(state)
    type(sluice_checkpoint), intent(inout) :: state
    call state%array("packed", packed)
    call state%array("grid", grid, shape=[n, n], start=[1, 1])
    call state%array("seven", seven)
    call state%rows("turned", pack([4, 3, 2, 1], spread(n > 3, 1, 4)), turned, &
      shape=[n, n])
    call state%bytes("most", most)
  end subroutine

  function registered() result(values)
    real(real64), allocatable :: values(:)
    values = [packed, [grid], [seven], [turned], most]
  end function

  subroutine checkpoint()
    type(sluice_checkpoint) :: state
    real(real64), allocatable :: wanted(:)
    integer :: number
    call assign_all(n, 7.0_real64)
    call dirty_stack()
    call state%open(trim(path) // ".state.h5")
    call register(state)
    call state%save(time=1.0_real64)
    call state%close()
    allocate (wanted, source=registered())
    call assign_all(n, 0.5_real64)
    call dirty_stack()
    call state%open(trim(path) // ".state.h5")
    call register(state)
    call state%restore(number=number)
    call state%close()
    call require(number == 1, "the checkpoint is there")
    call require(all(registered() == wanted), "what was restored")
  end subroutine
end program assigned

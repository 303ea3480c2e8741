! Array sections of every shape, put and got: interiors of ghosted arrays, strides, backwards, parts
! of derived types and of text, nothing at all. What a section leaves out must stay untouched.
program sections
  use, intrinsic :: iso_fortran_env, only: int8, int64, real64, error_unit
  use, intrinsic :: iso_c_binding, only: c_bool
  use mpi
  use sluice
  implicit none
  type :: particle
    real(real64) :: mass
    integer :: charge
    logical :: is_free
    character(len=4) :: name
  end type particle
  integer, parameter :: nx = 6, ny = 5, nz = 4
  integer :: rank, ranks, error
  character(len=512) :: path
  real(real64) :: field(0:nx + 1, 0:ny + 1, 0:nz + 1), again(0:nx + 1, 0:ny + 1, 0:nz + 1)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  call write_file()
  call read_fields()
  call read_particles()
  call put_temporaries()
  if (rank == 0) print "(a)", "fortran sections: ok"
  call MPI_Finalize(error)

contains

  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      write (error_unit, "(a,i0,2a)") "rank ", rank, ": not so: ", what
      error stop 1
    end if
  end subroutine

  subroutine make_field()
    integer :: i, j, k
    field = -1
    do k = 1, nz
      do j = 1, ny
        do i = 1, nx
          field(i, j, k) = 10000 * rank + 100 * k + 10 * j + i
        end do
      end do
    end do
  end subroutine

  function make_particles() result(p)
    type(particle) :: p(nx)
    integer :: i
    do i = 1, nx
      p(i) = particle(1.5_real64 * i + rank, i - 3, mod(i, 2) == 0, achar(64 + i) // "xyz")
    end do
  end function

  subroutine write_file()
    type(sluice_file) :: out
    type(particle), target :: p(nx)
    integer(int64) :: ids(nx)
    logical(c_bool) :: bytes(2 * nx)
    integer :: i, base
    call make_field()
    p = make_particles()
    base = nx * rank
    call out%open(path, "w", MPI_COMM_WORLD)
    call out%define("interior", sluice_real64, shape=[nx, ny, nz, ranks])
    call out%define("turned", sluice_real64, shape=[nx, ny, nz * ranks])
    call out%define("every_other", sluice_real64, shape=[nx / 2, ny, 2 * ranks])
    call out%define("line", sluice_real64, shape=[nz * ranks])
    call out%define("mass", sluice_real64, shape=[nx * ranks])
    call out%define("charge", sluice_int8, shape=[nx * ranks])
    call out%define("is_free", sluice_logical, shape=[nx * ranks])
    call out%define("bytes", sluice_logical, shape=[nx * ranks])
    call out%define("letter", sluice_character(1), shape=[nx * ranks])
    call out%define("rows", sluice_real64, shape=[nx, ny * ranks])
    call out%put("interior", field(1:nx, 1:ny, 1:nz), start=[1, 1, 1, rank + 1], stat=error)
    call require(error == 10, "three dimensions are not four")
    call out%flush(stat=error)
    call require(error == 10, "and the flush says so")
    call out%put("interior", reshape_field(), start=[1, 1, 1, rank + 1])
    call out%put("turned", field(nx:1:-1, ny:1:-1, 1:nz), start=[1, 1, nz * rank + 1])
    call out%put("every_other", field(1:nx:2, 1:ny, 1:nz:2), start=[1, 1, 2 * rank + 1])
    call out%put("line", field(2, 3, 1:nz), start=[nz * rank + 1])
    call out%put("mass", p%mass, start=[base + 1])
    call out%put("mass", p(1:0)%mass, start=[base + 1])
    call out%put("charge", p%charge, start=[base + 1])
    call out%put("is_free", p%is_free, start=[base + 1])
    bytes = [(mod(i, 4) == 1, i=1, 2 * nx)]
    call out%put("bytes", bytes(1:2 * nx:2), start=[base + 1])
    call out%put("letter", p%name(1:1), start=[base + 1])
    ids = [(int(ny * ranks - (ny * rank + i) + 1, int64), i=1, nx)]
    call out%put_rows("rows", ids(1:ny), field(1:nx, 1:ny, 2))
    field(:, :, 3:) = -2 ! all sections were copied
    call out%close()
    call make_field()
  end subroutine

  !> The interior in an array that lives until the close, with a dimension for the ranks.
  function reshape_field() result(p)
    real(real64), pointer :: p(:, :, :, :)
    real(real64), target, save :: kept(nx, ny, nz, 1)
    kept(:, :, :, 1) = field(1:nx, 1:ny, 1:nz)
    p => kept
  end function

  subroutine read_fields()
    type(sluice_file) :: in
    real(real64) :: line(2 * nz), rows(nx, 2 * ny), whole(nx, ny, nz, 1)
    integer :: i
    call in%open(path, "r", MPI_COMM_WORLD)
    call in%get("interior", whole, start=[1, 1, 1, rank + 1])
    call require(all(whole(:, :, :, 1) == field(1:nx, 1:ny, 1:nz)), "interior")
    again = -1
    call in%get("turned", again(nx:1:-1, ny:1:-1, 1:nz), start=[1, 1, nz * rank + 1])
    call require(all(again == field), "turned back, and nothing beside it")
    again = -1
    call in%get("every_other", again(1:nx:2, 1:ny, 1:nz:2), start=[1, 1, 2 * rank + 1])
    call require(all(again(1:nx:2, 1:ny, 1:nz:2) == field(1:nx:2, 1:ny, 1:nz:2)), "every other")
    call require(all(again(2:nx:2, :, :) == -1) .and. all(again(:, :, 2:nz:2) == -1), "beside")
    line = -1
    call in%get("line", line(2 * nz:1:-2), start=[nz * rank + 1])
    call require(all(line(2 * nz:1:-2) == field(2, 3, 1:nz)), "a line backwards")
    call require(all(line(1:2 * nz:2) == -1), "beside the line")
    rows = -1
    call in%get_rows("rows", [(ny * ranks - (ny * rank + i) + 1, i=1, ny)], rows(:, 1:2 * ny:2))
    call require(all(rows(:, 1:2 * ny:2) == field(1:nx, 1:ny, 2)), "rows")
    call require(all(rows(:, 2:2 * ny:2) == -1), "beside the rows")
    call in%get("line", line(1:0))
    call in%close()
  end subroutine

  subroutine read_particles()
    type(sluice_file) :: in
    type(particle) :: p(nx), expected(nx)
    logical(c_bool) :: bytes(2 * nx)
    integer(int8) :: small(nx)
    integer :: base, i
    base = nx * rank
    expected = make_particles()
    p = particle(0, 0, .true., "abcd")
    call in%open(path, "r", MPI_COMM_WORLD)
    call in%get("mass", p%mass, start=[base + 1])
    call in%get("charge", p%charge, start=[base + 1])
    call in%get("is_free", p%is_free, start=[base + 1])
    call in%get("letter", p%name(1:1), start=[base + 1])
    call in%get("charge", small, start=[base + 1])
    bytes = .true.
    call in%get("bytes", bytes(2:2 * nx:2), start=[base + 1])
    call in%close()
    call require(all(p%mass == expected%mass), "masses")
    call require(all(p%charge == expected%charge) .and. all(small == p%charge), "charges")
    call require(all(p%is_free .eqv. expected%is_free), "logicals")
    call require(all(p%name(1:1) == expected%name(1:1)), "letters")
    call require(all(p%name(2:4) == "bcd"), "beside the letters")
    do i = 1, nx
      call require(logical(bytes(2 * i)) .eqv. mod(2 * i - 1, 4) == 1, "logicals of a byte")
      call require(logical(bytes(2 * i - 1)), "beside them")
    end do
  end subroutine

  !> What the compiler copies to hand it on is gone before the step ends.
  subroutine put_temporaries()
    integer, parameter :: many = 100000
    type(sluice_file) :: file
    type(particle), allocatable :: p(:)
    real(real64), allocatable :: mass(:), noise(:), twice(:, :), got(:)
    integer :: i
    allocate (p(many), mass(many), got(many))
    mass = [(real(i + many * rank, real64), i=1, many)]
    p%mass = mass
    twice = reshape(mass, [1, many])
    call file%open(path, "w", MPI_COMM_WORLD)
    do i = 1, 3
      call file%define("v" // achar(48 + i), sluice_real64, shape=[many * ranks])
    end do
    call file%define("rows", sluice_real64, shape=[1, many * ranks])
    call file%put("v1", p%mass, start=[many * rank + 1])
    call file%put("v2", 2 * mass, start=[many * rank + 1])
    call file%put("v3", mass, start=[many * rank + 1], in_place=.true.)
    call file%put_rows("rows", [(i + many * rank, i=1, many)], 2 * twice)
    do i = 1, 8
      allocate (noise(many))
      noise = -1 - i
      if (sum(noise) > 0) error stop "noise"
      deallocate (noise)
    end do
    call file%close()
    call file%open(path, "r", MPI_COMM_WORLD)
    call file%get("v1", got, start=[many * rank + 1])
    call require(all(got == mass), "a component")
    call file%get("v2", got, start=[many * rank + 1])
    call require(all(got == 2 * mass), "an expression")
    call file%get("v3", got, start=[many * rank + 1])
    call require(all(got == mass), "in place")
    call file%get("rows", twice, start=[1, many * rank + 1])
    call require(all(twice(1, :) == 2 * mass), "rows of an expression")
    call file%close()
  end subroutine
end program sections

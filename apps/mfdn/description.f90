! What makes a wave-function file readable without the program: the basis, and the Hamiltonian's
! structure, appended to the vectors.
!
!   /BASIS            attributes Protons, Neutrons, Nmax, Shells, Seed, Oscillator, Strength,
!                     ThreeBody
!   /BASIS/Orbits     n, l, 2j of each orbit
!   /BASIS/States     orbit (from 1) and 2m of each single-particle state
!   /BASIS/Protons    by many-body state: bit s - 1 says that state s has a proton; /BASIS/Neutrons
!   /STRUCTURE        Rows and Columns (from 1) of each pair of states that interact, each pair
!                     once, and their Values in MeV
!
! Invariant: written by the diagonal ranks; those of a row hand their elements to the row's diagonal
! rank first.
module description
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use basis, only: many_body_basis, nucleus
  use hamiltonian, only: sparse_block, which_h
  use mpi_f08
  use operators, only: interaction
  use sluice
  use triangle, only: triangle_layout
  implicit none
  private
  public :: append_basis, append_structure, read_problem

contains

  !> By the diagonal ranks; committed with the next flush or close.
  subroutine append_basis(file, layout, states, what, forces, three_body)
    type(sluice_file), intent(inout) :: file
    type(triangle_layout), intent(in) :: layout
    type(many_body_basis), intent(in) :: states
    type(nucleus), intent(in) :: what
    type(interaction), intent(in) :: forces
    character(len=*), intent(in) :: three_body
    integer(int64) :: first, last
    integer :: orbits, single
    orbits = states%orbits%orbits
    single = states%orbits%states
    call file%set_attribute("BASIS", "Protons", what%protons)
    call file%set_attribute("BASIS", "Neutrons", what%neutrons)
    call file%set_attribute("BASIS", "Nmax", what%nmax)
    call file%set_attribute("BASIS", "Shells", what%shells)
    call file%set_attribute("BASIS", "Seed", forces%seed)
    call file%set_attribute("BASIS", "Oscillator", forces%oscillator_mev)
    call file%set_attribute("BASIS", "Strength", forces%strength_mev)
    call file%set_text("BASIS", "ThreeBody", three_body)
    call file%define("BASIS/Orbits", sluice_int32, shape=[3, orbits])
    call file%define("BASIS/States", sluice_int32, shape=[2, single])
    call file%define("BASIS/Protons", sluice_int64, shape=[states%dimension])
    call file%define("BASIS/Neutrons", sluice_int64, shape=[states%dimension])
    if (layout%row == 0) then
      call file%put("BASIS/Orbits", reshape([states%orbits%n, states%orbits%l, states%orbits%j2], &
        [3, orbits], order=[2, 1]))
      call file%put("BASIS/States", reshape([states%orbits%orbit, states%orbits%m2], [2, single], &
        order=[2, 1]))
    end if
    first = layout%first(layout%row) + 1
    last = first + layout%elements(layout%row) - 1
    call file%put("BASIS/Protons", states%protons(first:last), start=[first])
    call file%put("BASIS/Neutrons", states%neutrons(first:last), start=[first])
  end subroutine

  !> Collective over all ranks; `file` is used by the diagonal ones.
  subroutine append_structure(file, layout, block)
    type(sluice_file), intent(inout) :: file
    type(triangle_layout), intent(in) :: layout
    type(sparse_block), intent(in) :: block
    integer(int64), allocatable :: rows(:), columns(:), all_rows(:), all_columns(:)
    real(real64), allocatable :: values(:), all_values(:)
    integer(int64) :: row, first, total
    allocate (rows(block%elements))
    do row = 1, block%rows
      rows(block%first(row):block%first(row + 1) - 1) = layout%first(layout%row) + row
    end do
    columns = block%column + layout%first(layout%column)
    values = block%value(which_h, :)
    call gather_row(layout, rows, all_rows)
    call gather_row(layout, columns, all_columns)
    call gather_row_values(layout, values, all_values)
    if (.not. layout%is_diagonal) return
    call MPI_Allreduce(size(all_rows, kind=int64), total, 1, MPI_INTEGER8, MPI_SUM, &
      layout%diagonal)
    call MPI_Exscan(size(all_rows, kind=int64), first, 1, MPI_INTEGER8, MPI_SUM, layout%diagonal)
    if (layout%row == 0) first = 0
    call file%define("STRUCTURE/Rows", sluice_int64, shape=[total])
    call file%define("STRUCTURE/Columns", sluice_int64, shape=[total])
    call file%define("STRUCTURE/Values", sluice_real64, shape=[total])
    call file%put("STRUCTURE/Rows", all_rows, start=[first + 1])
    call file%put("STRUCTURE/Columns", all_columns, start=[first + 1])
    call file%put("STRUCTURE/Values", all_values, start=[first + 1])
  end subroutine

  !> Where the ranks of a row have their parts of a gathered list.
  subroutine count_row(layout, own, counts, places)
    type(triangle_layout), intent(in) :: layout
    integer, intent(in) :: own
    integer, allocatable, intent(out) :: counts(:), places(:)
    integer :: ranks, i
    call MPI_Comm_size(layout%in_row, ranks)
    allocate (counts(ranks), places(ranks))
    call MPI_Allgather(own, 1, MPI_INTEGER, counts, 1, MPI_INTEGER, layout%in_row)
    places = [(sum(counts(:i - 1)), i=1, ranks)]
  end subroutine

  subroutine gather_row(layout, own, all)
    type(triangle_layout), intent(in) :: layout
    integer(int64), intent(in) :: own(:)
    integer(int64), allocatable, intent(out) :: all(:)
    integer, allocatable :: counts(:), places(:)
    call count_row(layout, size(own), counts, places)
    allocate (all(merge(sum(counts), 0, layout%is_diagonal)))
    call MPI_Gatherv(own, size(own), MPI_INTEGER8, all, counts, places, MPI_INTEGER8, 0, &
      layout%in_row)
  end subroutine

  subroutine gather_row_values(layout, own, all)
    type(triangle_layout), intent(in) :: layout
    real(real64), intent(in) :: own(:)
    real(real64), allocatable, intent(out) :: all(:)
    integer, allocatable :: counts(:), places(:)
    call count_row(layout, size(own), counts, places)
    allocate (all(merge(sum(counts), 0, layout%is_diagonal)))
    call MPI_Gatherv(own, size(own), MPI_DOUBLE_PRECISION, all, counts, places, &
      MPI_DOUBLE_PRECISION, 0, layout%in_row)
  end subroutine

  !> What a file's vectors are of. Any rank for itself.
  subroutine read_problem(path, what, forces, three_body, states)
    character(len=*), intent(in) :: path
    type(nucleus), intent(out) :: what
    type(interaction), intent(out) :: forces
    character(len=:), allocatable, intent(out) :: three_body
    integer, intent(out) :: states
    type(sluice_file) :: in
    character(len=16) :: group
    call in%open(path, "r")
    call in%get_attribute("BASIS", "Protons", what%protons)
    call in%get_attribute("BASIS", "Neutrons", what%neutrons)
    call in%get_attribute("BASIS", "Nmax", what%nmax)
    call in%get_attribute("BASIS", "Shells", what%shells)
    call in%get_attribute("BASIS", "Seed", forces%seed)
    call in%get_attribute("BASIS", "Oscillator", forces%oscillator_mev)
    call in%get_attribute("BASIS", "Strength", forces%strength_mev)
    call in%get_text("BASIS", "ThreeBody", three_body)
    states = 0
    do
      write (group, "(i0.2)") states + 1
      if (.not. in%has("GRP" // trim(group) // "/EigenVector" // trim(group))) exit
      states = states + 1
    end do
    call in%close()
  end subroutine
end module description

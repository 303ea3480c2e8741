! Where the particles come from and go to between runs: init_bin.dat or conf, records of any number
! of parts; and the files 1.fort, 2.fort, ..., a part each, as text.
module init_file
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use fpio
  use mpi_f08, only: MPI_Comm
  use particles
  implicit none
  private
  public :: write_part, write_part_text, read_part, read_part_text, write_template
  public :: part_line, molecule_line, init_line, conf_line, init_template, conf_template

  !> Lines of text: of a part, of a molecule, of a particle; of that six decimals for what a
  !> preprocessor makes, every digit for restarts.
  character(len=*), parameter :: part_line = "(3f12.6,i10)"
  character(len=*), parameter :: molecule_line = "(2i10)"
  character(len=*), parameter :: init_line = "(i10,i4,6f12.6,4i10)"
  character(len=*), parameter :: conf_line = "(i10,i4,6es25.16e3,4i10)"

  character(len=*), parameter :: newline = new_line("a")
  character(len=*), parameter :: header = part_line // " box_nm:float64(3) molecules:int32" // &
    newline // "*" // molecule_line // " molecule:int32 particles:int32" // newline
  character(len=*), parameter :: partners = " id:int32 type:int32 position_nm:float64(3) " // &
    "velocity_nm_ps:float64(3) partners:int32(4)" // newline

  !> How `sluice convert` makes the text of the records.
  character(len=*), parameter :: init_template = "files %d.fort" // newline // header // "**" // &
    init_line // partners
  character(len=*), parameter :: conf_template = "files %d.conf" // newline // header // "**" // &
    conf_line // partners

contains

  !> Into the buffer of fp alone.
  subroutine write_part(fp, part)
    type(fpio_file), intent(inout) :: fp
    type(particle_part), intent(in) :: part
    integer :: m, p, i
    do i = 1, 3
      call file_bwrite(fp, part%box_nm(i))
    end do
    call file_bwrite(fp, part%molecules)
    do m = 1, part%molecules
      call file_bwrite(fp, part%molecule(m))
      call file_bwrite(fp, part%first(m + 1) - part%first(m))
      do p = part%first(m), part%first(m + 1) - 1
        call file_bwrite(fp, part%id(p))
        call file_bwrite(fp, part%type(p))
        do i = 1, 3
          call file_bwrite(fp, part%x_nm(i, p))
        end do
        do i = 1, 3
          call file_bwrite(fp, part%v_nm_ps(i, p))
        end do
        do i = 1, most_partners
          call file_bwrite(fp, part%partners(i, p))
        end do
      end do
    end do
  end subroutine

  subroutine write_part_text(unit, part, line)
    integer, intent(in) :: unit
    type(particle_part), intent(in) :: part
    character(len=*), intent(in) :: line !< init_line or conf_line
    integer :: m, p
    write (unit, part_line) part%box_nm, part%molecules
    do m = 1, part%molecules
      write (unit, molecule_line) part%molecule(m), part%first(m + 1) - part%first(m)
      do p = part%first(m), part%first(m + 1) - 1
        write (unit, line) part%id(p), part%type(p), part%x_nm(:, p), part%v_nm_ps(:, p), &
          part%partners(:, p)
      end do
    end do
  end subroutine

  !> For the texts of a folder what the attribute is for a file of records.
  subroutine write_template(path, template)
    character(len=*), intent(in) :: path, template
    integer :: unit
    open (newunit=unit, file=path, access="stream", form="unformatted", status="replace", &
      action="write")
    write (unit) template
    close (unit)
  end subroutine

  !> This rank's parts of the last record group, one after the other. Collective over comm.
  function read_part(path, comm) result(part)
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    type(particle_part) :: part
    type(fpio_file) :: fp
    real(real64) :: box_nm(3)
    integer :: molecules
    call file_dopen(fp, path, MPI_MODE_RDONLY, comm)
    call file_dread(fp, int(file_groups(fp)))
    part = make_part(0, 0, [0.0_real64, 0.0_real64, 0.0_real64])
    do while (.not. file_at_end(fp))
      call file_bread(fp, box_nm)
      call file_bread(fp, molecules)
      part%box_nm = box_nm
      call read_molecules(fp, molecules, part)
    end do
    call file_dclose(fp)
    call trim_part(part)
  end function

  subroutine read_molecules(fp, molecules, part)
    type(fpio_file), intent(inout) :: fp
    integer, intent(in) :: molecules
    type(particle_part), intent(inout) :: part
    integer :: i, p, number, particles, j
    do i = 1, molecules
      call file_bread(fp, number)
      call file_bread(fp, particles)
      call add_molecule(part, number, particles)
      do p = part%first(part%molecules), part%particles
        call file_bread(fp, part%id(p))
        call file_bread(fp, part%type(p))
        do j = 1, 3
          call file_bread(fp, part%x_nm(j, p))
        end do
        do j = 1, 3
          call file_bread(fp, part%v_nm_ps(j, p))
        end do
        do j = 1, most_partners
          call file_bread(fp, part%partners(j, p))
        end do
      end do
    end do
  end subroutine

  !> One part from its file of text; error stop where it cannot be read.
  function read_part_text(path) result(part)
    character(len=*), intent(in) :: path
    type(particle_part) :: part
    integer :: unit, status, m, p, molecules, number, particles
    character(len=200) :: why
    real(real64) :: box_nm(3)
    open (newunit=unit, file=path, status="old", action="read", iostat=status, iomsg=why)
    if (status == 0) read (unit, part_line, iostat=status, iomsg=why) box_nm, molecules
    if (status == 0) part = make_part(0, 0, box_nm)
    do m = 1, molecules
      if (status /= 0) exit
      read (unit, molecule_line, iostat=status, iomsg=why) number, particles
      if (status /= 0) exit
      call add_molecule(part, number, particles)
      do p = part%first(m), part%particles
        if (status == 0) read (unit, init_line, iostat=status, iomsg=why) &
          part%id(p), part%type(p), part%x_nm(:, p), part%v_nm_ps(:, p), part%partners(:, p)
      end do
    end do
    if (status /= 0) then
      write (error_unit, "(4a)") "occam: ", path, ": ", trim(why)
      error stop 2
    end if
    close (unit)
    call trim_part(part)
  end function

  !> Room for one more molecule; what is there is kept, the new values are not set.
  subroutine add_molecule(part, number, particles)
    type(particle_part), intent(inout) :: part
    integer, intent(in) :: number, particles
    integer :: wanted
    if (particles < 1) then
      write (error_unit, "(a,i0,a)") "occam: molecule ", number, " has no particles"
      error stop 2
    end if
    if (part%molecules == size(part%molecule)) then
      wanted = 2 * part%molecules + 16
      part%molecule = resized(part%molecule, wanted)
      part%first = resized(part%first, wanted + 1)
    end if
    if (part%particles + particles > size(part%id)) then
      call set_room(part, 2 * (part%particles + particles))
    end if
    part%molecules = part%molecules + 1
    part%molecule(part%molecules) = number
    part%first(part%molecules) = part%particles + 1
    part%particles = part%particles + particles
    part%first(part%molecules + 1) = part%particles + 1
  end subroutine

  subroutine set_room(part, wanted)
    type(particle_part), intent(inout) :: part
    integer, intent(in) :: wanted
    integer, allocatable :: more(:, :)
    part%id = resized(part%id, wanted)
    part%type = resized(part%type, wanted)
    allocate (more(most_partners, wanted), source=0)
    more(:, :part%particles) = part%partners(:, :part%particles)
    call move_alloc(more, part%partners)
    call resize_vectors(part%x_nm, part%particles, wanted)
    call resize_vectors(part%v_nm_ps, part%particles, wanted)
  end subroutine

  subroutine trim_part(part)
    type(particle_part), intent(inout) :: part
    part%molecule = part%molecule(:part%molecules)
    part%first = part%first(:part%molecules + 1)
    call set_room(part, part%particles)
  end subroutine

  pure function resized(values, wanted)
    integer, intent(in) :: values(:), wanted
    integer :: resized(wanted), kept
    kept = min(size(values), wanted)
    resized(:kept) = values(:kept)
    resized(kept + 1:) = 0
  end function

  subroutine resize_vectors(values, used, wanted)
    real(real64), allocatable, intent(inout) :: values(:, :)
    integer, intent(in) :: used, wanted
    real(real64), allocatable :: more(:, :)
    allocate (more(3, wanted), source=0.0_real64)
    more(:, :used) = values(:, :used)
    call move_alloc(more, values)
  end subroutine
end module init_file

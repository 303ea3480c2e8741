! iopc: the preprocessor. One process makes the parts of P ranks: one init_bin.dat, or, as it was
! done before, the files 1.fort to P.fort; and params.nml beside them. The macro ASCII_FILE makes
! text the default, as in occam.
program iopc
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use fpio
  use generator
  use hymd
  use init_file
  use mpi_f08, only: MPI_Init, MPI_Finalize
  use parameters
  use particles
  implicit none
  character(len=16) :: job
  integer :: parts, blocks, seed
  logical :: ascii
  character(len=256) :: folder, toml, hdf5, frame
  character(len=512) :: options
  type(run_parameters) :: run
  type(model_parameters) :: model
  type(particle_part) :: all
  real(real64) :: box_nm(3), seconds

  call MPI_Init()
  call read_words()
  if (job == "hymd") then
    call read_hymd_settings(trim(toml), run, model, box_nm)
    all = read_hymd_system(trim(hdf5), trim(frame), model, box_nm, seed, run%temperature_k)
  else
    model = surfactant_model(blocks)
    ! Parts are whole blocks, each made when it is written; or, of few blocks, whole molecules.
    if (parts > blocks) all = make_surfactant(blocks, 1, 1, seed, run%temperature_k)
  end if
  if (allocated(all%molecule) .and. parts > all%molecules) call refuse("more parts than molecules")
  seconds = 0
  if (ascii) then
    call write_text_files()
  else
    call write_records()
  end if
  call write_parameters()
  print "(a,i0,a,f0.4,a)", "iopc: ", parts, " parts, written in ", seconds, " s"
  call MPI_Finalize()

contains

  subroutine read_words()
    character(len=600) :: word
    character(len=620) :: text(3)
    integer :: i, status
    namelist /iopc/ parts, blocks, seed, ascii, folder, toml, hdf5, frame, options
    parts = 1; blocks = 10; seed = 1; ascii = .false.
#ifdef ASCII_FILE
    ascii = .true.
#endif
    folder = "."; toml = ""; hdf5 = ""; frame = ""; options = ""
    job = ""
    if (command_argument_count() > 0) call get_command_argument(1, job)
    if (job /= "generate" .and. job /= "hymd") then
      call refuse("iopc generate|hymd [KEY=VALUE...]: parts, ascii, folder, options; " // &
        "generate: blocks (of 400 particles), seed; hymd: toml, hdf5, frame")
    end if
    do i = 2, command_argument_count()
      call get_command_argument(i, word)
      text = [character(len=620) :: "&iopc", word, "/"]
      read (text, nml=iopc, iostat=status)
      if (status /= 0 .or. parts < 1 .or. blocks < 1) then
        call refuse(trim(word) // ": is no KEY=VALUE of iopc, as in a Fortran namelist")
      end if
    end do
  end subroutine

  function part_of(number) result(part)
    integer, intent(in) :: number
    type(particle_part) :: part
    if (allocated(all%molecule)) then
      part = take_share(all, number, parts)
    else
      part = make_surfactant(blocks, number, parts, seed, run%temperature_k)
    end if
  end function

  !> Adds what passed since `began` to the seconds of writing.
  subroutine count_since(began)
    integer(int64), intent(in) :: began
    integer(int64) :: now, rate
    call system_clock(now, rate)
    seconds = seconds + real(now - began, real64) / rate
  end subroutine

  subroutine write_records()
    type(fpio_file), allocatable :: fp(:)
    type(particle_part) :: part
    integer(int64) :: began
    integer :: p
    allocate (fp(parts))
    call file_dopen(fp, trim(folder) // "/init_bin.dat", MPI_MODE_WRONLY + MPI_MODE_CREATE, &
      toml_lines(options))
    call file_set_text(fp, "sluice_template", init_template)
    do p = 1, parts
      part = part_of(p)
      call system_clock(began)
      call write_part(fp(p), part)
      call count_since(began)
    end do
    call system_clock(began)
    call file_dwrite(fp)
    call file_dclose(fp)
    call count_since(began)
  end subroutine

  subroutine write_text_files()
    type(particle_part) :: part
    character(len=12) :: number
    integer(int64) :: began
    integer :: p, unit, status
    do p = 1, parts
      part = part_of(p)
      call system_clock(began)
      write (number, "(i0)") p
      open (newunit=unit, file=trim(folder) // "/" // trim(number) // ".fort", status="replace", &
        action="write", iostat=status)
      if (status /= 0) call refuse(trim(folder) // ": no file can be made there")
      call write_part_text(unit, part, init_line)
      close (unit)
      call count_since(began)
    end do
    call write_template(trim(folder) // "/init.template", init_template)
  end subroutine

  subroutine write_parameters()
    integer :: unit
    run%input = trim(folder) // merge("             ", "/init_bin.dat", ascii)
    open (newunit=unit, file=trim(folder) // "/params.nml", status="replace", action="write")
    call write_run(unit, run)
    call write_model(unit, model)
    close (unit)
  end subroutine

  subroutine refuse(what)
    character(len=*), intent(in) :: what
    write (error_unit, "(2a)") "iopc: ", what
    error stop 2
  end subroutine
end program iopc

! An input file that one rank reads for all: by mpi_f08's communicator, by an integer, alone.
program read_text
  use mpi_f08
  use sluice
  implicit none
  character(len=*), parameter :: content = "sim:time-step = 1" // new_line("a") // "42 7.5"
  character(len=512) :: path
  character(len=600) :: message
  character(len=:), allocatable :: text
  integer :: rank, code, unit, first
  real :: second

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call get_command_argument(1, path)
  if (rank == 0) then
    open (newunit=unit, file=trim(path), access="stream", form="unformatted", action="write")
    write (unit) content
    close (unit)
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  call sluice_read_text(path, MPI_COMM_WORLD, text)
  call expect(text == content .and. len(text) == len(content))
  call sluice_read_text(path, MPI_COMM_WORLD%MPI_VAL, text)
  call expect(text == content)
  call sluice_read_text(path, text)
  call expect(text == content)
  read (text(index(text, new_line("a")) + 1:), *) first, second
  call expect(first == 42 .and. second == 7.5)
  call sluice_read_text("/no/such/file", MPI_COMM_WORLD, text, stat=code, errmsg=message)
  call expect(code == sluice_error_not_found .and. index(message, "/no/such/file") > 0)
  call MPI_Finalize(code)

contains

  subroutine expect(is_right)
    logical, intent(in) :: is_right
    if (.not. is_right) error stop "fortran read_text: not as it should be"
  end subroutine
end program read_text

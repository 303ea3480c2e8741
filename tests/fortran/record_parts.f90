! One process in place of very many ranks: four files with the parts of as many ranks as the second
! argument says, written, read back and compared. Run with few file descriptors allowed.
program record_parts
  use, intrinsic :: iso_fortran_env, only: real64, error_unit, output_unit
  use fpio
  implicit none
  character(len=8), parameter :: names(4) = [character(len=8) :: ".traj", ".conf", ".wvalues", &
    ".init"]
  type(fpio_file), allocatable :: fp(:, :)
  character(len=512) :: path, word
  integer :: parts, part, file, group, i, number
  real(real64) :: x(3)

  call get_command_argument(1, path)
  call get_command_argument(2, word)
  read (word, *) parts
  allocate (fp(parts, size(names)))
  do file = 1, size(names)
    call file_dopen(fp(:, file), trim(path) // names(file), MPI_MODE_WRONLY + MPI_MODE_CREATE)
  end do
  do group = 1, 2
    do file = 1, size(names)
      do part = 1, parts
        do i = 1, mod(part, 5)
          call file_bwrite(fp(part, file), part * 10 + i)
          call file_bwrite(fp(part, file), [group, file, i] + 0.5_real64)
        end do
      end do
      call file_dwrite(fp(:, file))
    end do
  end do
  do file = 1, size(names)
    call file_dclose(fp(:, file))
    call file_dopen(fp(:, file), trim(path) // names(file), MPI_MODE_RDONLY)
  end do
  do group = 1, 2
    do file = 1, size(names)
      call file_dread(fp(:, file))
      do part = 1, parts
        do i = 1, mod(part, 5)
          call file_bread(fp(part, file), number)
          call file_bread(fp(part, file), x)
          if (number /= part * 10 + i .or. any(x /= [group, file, i] + 0.5_real64)) then
            write (error_unit, "(a,i0)") "wrong values in part ", part
            error stop 1
          end if
        end do
        if (.not. file_at_end(fp(part, file))) error stop "values left"
      end do
    end do
  end do
  do file = 1, size(names)
    call file_dclose(fp(:, file))
  end do
  write (output_unit, "(a,i0,a)") "fortran record parts: ", parts, " ok"
end program record_parts

! The two calls by which the rest of the program writes and reads wave functions, whatever the way
! in which they are kept.
module wave_functions
  use, intrinsic :: iso_fortran_env, only: real32
  use flat_stores, only: raw_store, root_store
  use mpiio_store, only: flat_mpiio_store
  use record_store, only: process_store
  use sluice_store, only: hdf5_store
  use stores, only: wave_store, store_settings, describe
  implicit none
  private
  public :: make_store, write_wave_function, read_wave_function
  public :: wave_store, store_settings, describe

contains

  !> hdf5: Sluice, one HDF5 file (hdf5-mpiio: through MPI-IO, with the settings' hints). mpiio, raw,
  !> root: one flat file. processes: a file a rank. Error stop for other names.
  function make_store(backend) result(store)
    character(len=*), intent(in) :: backend
    class(wave_store), allocatable :: store
    select case (backend)
    case ("hdf5", "hdf5-mpiio")
      allocate (hdf5_store :: store)
    case ("mpiio")
      allocate (flat_mpiio_store :: store)
    case ("raw")
      allocate (raw_store :: store)
    case ("root")
      allocate (root_store :: store)
    case ("processes")
      allocate (process_store :: store)
    case default
      error stop "mfdn: no such backend: use hdf5, hdf5-mpiio, mpiio, raw, root or processes"
    end select
    if (backend /= "hdf5-mpiio") return
    select type (store)
    type is (hdf5_store)
      store%storage = "mpiio"
    end select
  end function

  !> This rank's part of the vector of state `number`, which must stay as it is until the store is
  !> closed. Collective over the diagonal ranks.
  subroutine write_wave_function(store, number, vector)
    class(wave_store), intent(inout) :: store
    integer, intent(in) :: number
    real(real32), intent(in), target, contiguous :: vector(:)
    call store%write(number, vector)
  end subroutine

  !> The same part back, when the store is closed. Collective over the diagonal ranks.
  subroutine read_wave_function(store, number, vector)
    class(wave_store), intent(inout) :: store
    integer, intent(in) :: number
    real(real32), intent(out), target, contiguous :: vector(:)
    call store%read(number, vector)
  end subroutine
end module wave_functions

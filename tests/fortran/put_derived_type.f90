! Must not compile: derived types, class(*) and type(*) are no data of put and get.
program put_derived_type
  use sluice
  implicit none
  type :: particle
    integer :: id
    real :: x(3)
  end type
  type(sluice_file) :: file
  class(*), allocatable :: anything
  call file%put("p", particle(1, 0.0))
  call file%get("p", anything)
end program put_derived_type

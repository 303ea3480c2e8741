! Not to be compiled: records have values of intrinsic types only.
program record_derived_type
  use fpio
  implicit none
  type :: pair
    integer :: a
    real :: b
  end type
  type(fpio_file) :: fp
  call file_bwrite(fp, 1)
  call file_bwrite(fp, pair(1, 2.0))
end program record_derived_type

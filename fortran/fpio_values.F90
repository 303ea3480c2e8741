! The values of records: file_bwrite and file_bread of every kind. Part of the module fpio.
!
! A procedure for each kind, because of gfortran. To a procedure of C it hands an array that an
! assignment has allocated, such as `ids = pack(...)`, with strides of chance; to one of Fortran,
! right ones. But of a dummy of any type, type(*), that one could not tell the real kinds of 16
! bytes apart.
module fpio_values
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  private
  public :: fpio_file, file_bwrite, file_bread

  !> An open file, or one of the parts of one. Its components are the library's.
  type, bind(c) :: fpio_file
    type(c_ptr) :: part = c_null_ptr
    type(c_ptr) :: records = c_null_ptr
    integer(c_int32_t) :: parts = 0
    integer(c_int32_t) :: number = 0
  end type fpio_file

  !> Writes values: copies them into memory, without I/O. Local.
  !>
  !> - `values`: a scalar or an array of any integer, real, complex, logical or character kind
  !> - errors: `over_budget` (there is no memory)
  interface file_bwrite
    procedure bwrite_int8
    procedure bwrite_int16
    procedure bwrite_int32
    procedure bwrite_int64
#ifdef __GFC_INT_16__
    procedure bwrite_int128
#endif
    procedure bwrite_real32
    procedure bwrite_real64
#ifdef __GFC_REAL_10__
    procedure bwrite_real80
#endif
#ifdef __GFC_REAL_16__
    procedure bwrite_real128
#endif
    procedure bwrite_complex32
    procedure bwrite_complex64
#ifdef __GFC_REAL_10__
    procedure bwrite_complex80
#endif
#ifdef __GFC_REAL_16__
    procedure bwrite_complex128
#endif
    procedure bwrite_logical8
    procedure bwrite_logical16
    procedure bwrite_logical32
    procedure bwrite_logical64
    procedure bwrite_text
  end interface
  !> Copies the next values of the record group out. Local.
  !>
  !> - `values`: a scalar or an array, of the type in which they were written
  !> - errors: `type_mismatch` (names both types), `out_of_bounds` (there are no more)
  interface file_bread
    procedure bread_int8
    procedure bread_int16
    procedure bread_int32
    procedure bread_int64
#ifdef __GFC_INT_16__
    procedure bread_int128
#endif
    procedure bread_real32
    procedure bread_real64
#ifdef __GFC_REAL_10__
    procedure bread_real80
#endif
#ifdef __GFC_REAL_16__
    procedure bread_real128
#endif
    procedure bread_complex32
    procedure bread_complex64
#ifdef __GFC_REAL_10__
    procedure bread_complex80
#endif
#ifdef __GFC_REAL_16__
    procedure bread_complex128
#endif
    procedure bread_logical8
    procedure bread_logical16
    procedure bread_logical32
    procedure bread_logical64
    procedure bread_text
  end interface

  interface
    subroutine c_bwrite(fp, values, stat) bind(c, name="sluice_fpio_bwrite")
      import
      type(fpio_file), intent(inout) :: fp
      type(*), dimension(..), intent(in) :: values
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_bread(fp, values, stat) bind(c, name="sluice_fpio_bread")
      import
      type(fpio_file), intent(inout) :: fp
      type(*), dimension(..), intent(inout) :: values
      integer(c_int), intent(out), optional :: stat
    end subroutine
  end interface

contains

  subroutine bwrite_int8(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int8), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_int16(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int16), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_int32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int32), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_int64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int64), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

#ifdef __GFC_INT_16__
  subroutine bwrite_int128(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(16), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine
#endif

  subroutine bwrite_real32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(real32), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_real64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(real64), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

#ifdef __GFC_REAL_10__
  subroutine bwrite_real80(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(10), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine
#endif

#ifdef __GFC_REAL_16__
  subroutine bwrite_real128(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(16), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine
#endif

  subroutine bwrite_complex32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(real32), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_complex64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(real64), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

#ifdef __GFC_REAL_10__
  subroutine bwrite_complex80(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(10), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine
#endif

#ifdef __GFC_REAL_16__
  subroutine bwrite_complex128(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(16), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine
#endif

  subroutine bwrite_logical8(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(1), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_logical16(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(2), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_logical32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(4), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_logical64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(8), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bwrite_text(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    character(len=*), dimension(..), intent(in) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bwrite(fp, values, stat)
  end subroutine

  subroutine bread_int8(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int8), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_int16(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int16), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_int32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int32), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_int64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(int64), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

#ifdef __GFC_INT_16__
  subroutine bread_int128(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    integer(16), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine
#endif

  subroutine bread_real32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(real32), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_real64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(real64), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

#ifdef __GFC_REAL_10__
  subroutine bread_real80(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(10), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine
#endif

#ifdef __GFC_REAL_16__
  subroutine bread_real128(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    real(16), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine
#endif

  subroutine bread_complex32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(real32), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_complex64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(real64), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

#ifdef __GFC_REAL_10__
  subroutine bread_complex80(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(10), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine
#endif

#ifdef __GFC_REAL_16__
  subroutine bread_complex128(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    complex(16), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine
#endif

  subroutine bread_logical8(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(1), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_logical16(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(2), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_logical32(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(4), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_logical64(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    logical(8), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine

  subroutine bread_text(fp, values, stat)
    type(fpio_file), intent(inout) :: fp
    character(len=*), dimension(..), intent(inout) :: values
    integer(c_int), intent(out), optional :: stat
    call c_bread(fp, values, stat)
  end subroutine
end module fpio_values

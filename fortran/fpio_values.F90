! The values of records: file_bwrite and file_bread of every kind. Part of the module fpio.
!
! A procedure for each kind, because of gfortran. To a procedure of C it hands an array that an
! assignment has allocated, such as `ids = pack(...)`, with strides of chance; to one of Fortran,
! right ones. But of a dummy of any type, type(*), that one could not tell the real kinds of 16
! bytes apart. fpio_values.inc has the two of one kind.
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
    ! One scalar, by its address: without a descriptor a call costs less.
    subroutine c_write_int32(fp, value, stat) bind(c, name="sluice_fpio_write_int32")
      import
      type(fpio_file), intent(inout) :: fp
      integer(c_int32_t), intent(in) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_read_int32(fp, value, stat) bind(c, name="sluice_fpio_read_int32")
      import
      type(fpio_file), intent(inout) :: fp
      integer(c_int32_t), intent(inout) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_write_int64(fp, value, stat) bind(c, name="sluice_fpio_write_int64")
      import
      type(fpio_file), intent(inout) :: fp
      integer(c_int64_t), intent(in) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_read_int64(fp, value, stat) bind(c, name="sluice_fpio_read_int64")
      import
      type(fpio_file), intent(inout) :: fp
      integer(c_int64_t), intent(inout) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_write_real32(fp, value, stat) bind(c, name="sluice_fpio_write_real32")
      import
      type(fpio_file), intent(inout) :: fp
      real(c_float), intent(in) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_read_real32(fp, value, stat) bind(c, name="sluice_fpio_read_real32")
      import
      type(fpio_file), intent(inout) :: fp
      real(c_float), intent(inout) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_write_real64(fp, value, stat) bind(c, name="sluice_fpio_write_real64")
      import
      type(fpio_file), intent(inout) :: fp
      real(c_double), intent(in) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
    subroutine c_read_real64(fp, value, stat) bind(c, name="sluice_fpio_read_real64")
      import
      type(fpio_file), intent(inout) :: fp
      real(c_double), intent(inout) :: value
      integer(c_int), intent(out), optional :: stat
    end subroutine
  end interface

contains

#define BWRITE bwrite_int8
#define BREAD bread_int8
#define VALUES integer(int8)
#include "fpio_values.inc"

#define BWRITE bwrite_int16
#define BREAD bread_int16
#define VALUES integer(int16)
#include "fpio_values.inc"

#define BWRITE bwrite_int32
#define BREAD bread_int32
#define VALUES integer(int32)
#define WRITE_ONE c_write_int32
#define READ_ONE c_read_int32
#include "fpio_values.inc"

#define BWRITE bwrite_int64
#define BREAD bread_int64
#define VALUES integer(int64)
#define WRITE_ONE c_write_int64
#define READ_ONE c_read_int64
#include "fpio_values.inc"

#ifdef __GFC_INT_16__
#define BWRITE bwrite_int128
#define BREAD bread_int128
#define VALUES integer(16)
#include "fpio_values.inc"
#endif

#define BWRITE bwrite_real32
#define BREAD bread_real32
#define VALUES real(real32)
#define WRITE_ONE c_write_real32
#define READ_ONE c_read_real32
#include "fpio_values.inc"

#define BWRITE bwrite_real64
#define BREAD bread_real64
#define VALUES real(real64)
#define WRITE_ONE c_write_real64
#define READ_ONE c_read_real64
#include "fpio_values.inc"

#ifdef __GFC_REAL_10__
#define BWRITE bwrite_real80
#define BREAD bread_real80
#define VALUES real(10)
#include "fpio_values.inc"
#endif

#ifdef __GFC_REAL_16__
#define BWRITE bwrite_real128
#define BREAD bread_real128
#define VALUES real(16)
#include "fpio_values.inc"
#endif

#define BWRITE bwrite_complex32
#define BREAD bread_complex32
#define VALUES complex(real32)
#include "fpio_values.inc"

#define BWRITE bwrite_complex64
#define BREAD bread_complex64
#define VALUES complex(real64)
#include "fpio_values.inc"

#ifdef __GFC_REAL_10__
#define BWRITE bwrite_complex80
#define BREAD bread_complex80
#define VALUES complex(10)
#include "fpio_values.inc"
#endif

#ifdef __GFC_REAL_16__
#define BWRITE bwrite_complex128
#define BREAD bread_complex128
#define VALUES complex(16)
#include "fpio_values.inc"
#endif

#define BWRITE bwrite_logical8
#define BREAD bread_logical8
#define VALUES logical(1)
#include "fpio_values.inc"

#define BWRITE bwrite_logical16
#define BREAD bread_logical16
#define VALUES logical(2)
#include "fpio_values.inc"

#define BWRITE bwrite_logical32
#define BREAD bread_logical32
#define VALUES logical(4)
#include "fpio_values.inc"

#define BWRITE bwrite_logical64
#define BREAD bread_logical64
#define VALUES logical(8)
#include "fpio_values.inc"

#define BWRITE bwrite_text
#define BREAD bread_text
#define VALUES character(len=*)
#include "fpio_values.inc"
end module fpio_values

! Random numbers by counting: a number depends on the seed and on what it is for, not on which rank
! asks or when, so that runs on any number of ranks draw the same.
module noise
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: uniform, normal

  real(real64), parameter :: pi = acos(-1.0_real64)
  integer(int64), parameter :: low_32 = int(z'ffffffff', int64)

contains

  !> Mixes 32 bits; products stay below 2**63.
  pure integer(int64) function mixed(bits)
    integer(int64), intent(in) :: bits
    integer(int64), parameter :: first = int(z'7feb352d', int64), second = int(z'297a2d39', int64)
    mixed = iand(bits, low_32)
    mixed = ieor(mixed, ishft(mixed, -16))
    mixed = iand(mixed * first, low_32)
    mixed = ieor(mixed, ishft(mixed, -15))
    mixed = iand(mixed * second, low_32)
    mixed = ieor(mixed, ishft(mixed, -16))
  end function

  !> In (0, 1), for number `which` of particle `id` at `time`.
  pure real(real64) function uniform(seed, time, id, which)
    integer, intent(in) :: seed, time, id, which
    integer(int64) :: bits
    bits = mixed(int(seed, int64) + 1)
    bits = mixed(bits + 2654435769_int64 * iand(int(time, int64), int(z'3fffffff', int64)))
    bits = mixed(bits + id)
    bits = mixed(ieor(bits, int(which, int64) * 40503))
    uniform = (bits + 0.5_real64) / 4294967296.0_real64
  end function

  !> Three of mean 0 and deviation 1; takes the numbers which to which + 3.
  pure function normal(seed, time, id, which)
    integer, intent(in) :: seed, time, id, which
    real(real64) :: normal(3), u(4)
    integer :: i
    u = [(uniform(seed, time, id, which + i), i=0, 3)]
    normal(1) = sqrt(-2 * log(u(1))) * cos(2 * pi * u(2))
    normal(2) = sqrt(-2 * log(u(1))) * sin(2 * pi * u(2))
    normal(3) = sqrt(-2 * log(u(3))) * cos(2 * pi * u(4))
  end function
end module noise

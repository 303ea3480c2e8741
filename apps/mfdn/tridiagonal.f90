! Eigenvalues and eigenvectors of a symmetric tridiagonal matrix, by implicit QL steps.
module tridiagonal
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: solve_tridiagonal

  integer, parameter :: most_steps = 60

contains

  !> `diagonal` has k elements, `beside` the k - 1 next to them. Eigenvalues in rising order; the
  !> vectors are the columns. Error stop where a value does not settle in most_steps.
  subroutine solve_tridiagonal(diagonal, beside, values, vectors)
    real(real64), intent(in) :: diagonal(:), beside(:)
    real(real64), intent(out) :: values(:), vectors(:, :)
    real(real64) :: e(size(diagonal))
    integer :: k, l, m, step
    k = size(diagonal)
    values = diagonal
    e = 0
    e(:k - 1) = beside(:k - 1)
    vectors = 0
    do l = 1, k
      vectors(l, l) = 1
    end do
    do l = 1, k
      do step = 1, most_steps
        do m = l, k - 1
          if (abs(e(m)) <= epsilon(e) * (abs(values(m)) + abs(values(m + 1)))) exit
        end do
        if (m == l) exit
        call step_ql(values, e, vectors, l, m)
      end do
      if (m /= l) error stop "mfdn: a tridiagonal matrix has no eigenvalues in 60 steps"
    end do
    call sort(values, vectors)
  end subroutine

  !> One step on the rows l to m.
  subroutine step_ql(d, e, vectors, l, m)
    real(real64), intent(inout) :: d(:), e(:), vectors(:, :)
    integer, intent(in) :: l, m
    real(real64) :: g, r, s, c, p, f, b, column(size(d))
    integer :: i
    g = (d(l + 1) - d(l)) / (2 * e(l))
    r = hypot(g, 1.0_real64)
    g = d(m) - d(l) + e(l) / (g + sign(r, g))
    s = 1
    c = 1
    p = 0
    do i = m - 1, l, -1
      f = s * e(i)
      b = c * e(i)
      r = hypot(f, g)
      e(i + 1) = r
      if (r == 0) then
        d(i + 1) = d(i + 1) - p
        e(m) = 0
        return
      end if
      s = f / r
      c = g / r
      g = d(i + 1) - p
      r = (d(i) - g) * s + 2 * c * b
      p = s * r
      d(i + 1) = g + p
      g = c * r - b
      column = vectors(:, i + 1)
      vectors(:, i + 1) = s * vectors(:, i) + c * column
      vectors(:, i) = c * vectors(:, i) - s * column
    end do
    d(l) = d(l) - p
    e(l) = g
    e(m) = 0
  end subroutine

  subroutine sort(values, vectors)
    real(real64), intent(inout) :: values(:), vectors(:, :)
    real(real64) :: value, column(size(values))
    integer :: i, least
    do i = 1, size(values) - 1
      least = i - 1 + minloc(values(i:), 1)
      if (least == i) cycle
      value = values(i)
      column = vectors(:, i)
      values(i) = values(least)
      vectors(:, i) = vectors(:, least)
      values(least) = value
      vectors(:, least) = column
    end do
  end subroutine
end module tridiagonal

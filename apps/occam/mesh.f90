! The field: densities of all types on a mesh that every rank has whole, by cloud-in-cell; from them
! each type's potential; forces by the gradient of the potential at a particle.
!
! With chi, kappa and the density rho0 of the undisturbed fluid the energy is
!   1/rho0 * integral of (1/2 sum chi(a, b) phi(a) phi(b) + (sum phi - rho0)^2 / (2 kappa))
! and a type's potential its derivative by phi(type). Densities are spread and forces gathered with
! the same weights, and the gradient is a central difference: the forces of one density on all
! particles sum to zero. The only message is the sum of the densities over the ranks.
module mesh
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use parameters, only: model_parameters, chi_matrix
  use particles, only: particle_part
  implicit none
  private
  public :: field_mesh, make_mesh

  type :: field_mesh
    integer :: n(3) = 0
    real(real64) :: cell_nm(3) = 0
    real(real64) :: rho0_nm3 = 0
    real(real64) :: kappa_mol_kj = 1
    real(real64), allocatable :: chi_kj_mol(:, :)
    real(real64), allocatable :: phi_nm3(:, :, :, :)        !< x, y, z, type; x from 0
    real(real64), allocatable :: potential_kj_mol(:, :, :, :)
    real(real64), allocatable :: filter(:, :)               !< weights by distance, dimension
    real(real64) :: energy_kj_mol = 0                       !< of the whole field
  contains
    procedure :: update
    procedure :: add_forces
    procedure :: potential_at
  end type field_mesh

contains

  !> Collective over comm: the mean density is of all ranks' particles.
  function make_mesh(model, part, comm) result(mesh)
    type(model_parameters), intent(in) :: model
    type(particle_part), intent(in) :: part
    type(MPI_Comm), intent(in) :: comm
    type(field_mesh) :: mesh
    real(real64) :: all
    mesh%n = model%mesh
    mesh%cell_nm = part%box_nm / mesh%n
    mesh%kappa_mol_kj = model%kappa_mol_kj
    allocate (mesh%chi_kj_mol, source=chi_matrix(model))
    mesh%rho0_nm3 = model%density_nm3
    if (mesh%rho0_nm3 <= 0) then
      call MPI_Allreduce(real(part%particles, real64), all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm)
      mesh%rho0_nm3 = all / product(part%box_nm)
    end if
    associate (n => mesh%n)
      allocate (mesh%phi_nm3(0:n(1) - 1, 0:n(2) - 1, 0:n(3) - 1, model%types), source=0.0_real64)
      allocate (mesh%potential_kj_mol, mold=mesh%phi_nm3)
    end associate
    if (model%filter_nm > 0) mesh%filter = gaussian(mesh%n, mesh%cell_nm, model%filter_nm)
  end function

  !> Weights of a periodic Gaussian: (distance in cells, from 0; dimension).
  pure function gaussian(n, cell_nm, width_nm)
    integer, intent(in) :: n(3)
    real(real64), intent(in) :: cell_nm(3), width_nm
    real(real64) :: gaussian(0:maxval(n) - 1, 3)
    integer :: d, i, image
    gaussian = 0
    do d = 1, 3
      do i = 0, n(d) - 1
        do image = -2, 2
          gaussian(i, d) = gaussian(i, d) + &
            exp(-((i + image * n(d)) * cell_nm(d) / width_nm)**2 / 2)
        end do
      end do
      gaussian(:, d) = gaussian(:, d) / sum(gaussian(:, d))
    end do
  end function

  !> The cell of a position, in 0 to n - 1, and how far into it; the neighbours -1 to 2.
  pure subroutine locate(mesh, x_nm, at, into)
    class(field_mesh), intent(in) :: mesh
    real(real64), intent(in) :: x_nm(3)
    integer, intent(out) :: at(-1:2, 3)
    real(real64), intent(out) :: into(3)
    real(real64) :: scaled
    integer :: d, i, whole
    do d = 1, 3
      scaled = x_nm(d) / mesh%cell_nm(d)
      whole = floor(scaled)
      into(d) = scaled - whole
      whole = modulo(whole, mesh%n(d))
      do i = -1, 2
        at(i, d) = whole + i
        if (at(i, d) < 0) at(i, d) = at(i, d) + mesh%n(d)
        if (at(i, d) >= mesh%n(d)) at(i, d) = at(i, d) - mesh%n(d)
      end do
    end do
  end subroutine

  !> Densities of all particles, and what follows. Collective over comm.
  subroutine update(self, part, comm)
    class(field_mesh), intent(inout) :: self
    type(particle_part), intent(in) :: part
    type(MPI_Comm), intent(in) :: comm
    real(real64) :: into(3), w(0:1, 3)
    integer :: at(-1:2, 3), p, i, j, k
    self%phi_nm3 = 0
    do p = 1, part%particles
      call locate(self, part%x_nm(:, p), at, into)
      w(0, :) = 1 - into
      w(1, :) = into
      associate (phi => self%phi_nm3(:, :, :, part%type(p)))
        do k = 0, 1
          do j = 0, 1
            do i = 0, 1
              phi(at(i, 1) + 1, at(j, 2) + 1, at(k, 3) + 1) = w(i, 1) * w(j, 2) * w(k, 3) + &
                phi(at(i, 1) + 1, at(j, 2) + 1, at(k, 3) + 1)
            end do
          end do
        end do
      end associate
    end do
    self%phi_nm3 = self%phi_nm3 / product(self%cell_nm)
    call MPI_Allreduce(MPI_IN_PLACE, self%phi_nm3, size(self%phi_nm3), MPI_DOUBLE_PRECISION, &
      MPI_SUM, comm)
    if (allocated(self%filter)) call smooth(self, self%phi_nm3)
    call find_potential(self)
    if (allocated(self%filter)) call smooth(self, self%potential_kj_mol)
  end subroutine

  subroutine find_potential(self)
    class(field_mesh), intent(inout) :: self
    real(real64) :: phi(size(self%chi_kj_mol, 1)), mixing(size(phi)), excess, energy
    integer :: i, j, k
    energy = 0
    do k = 0, self%n(3) - 1
      do j = 0, self%n(2) - 1
        do i = 0, self%n(1) - 1
          phi = self%phi_nm3(i, j, k, :)
          excess = sum(phi) - self%rho0_nm3
          mixing = matmul(self%chi_kj_mol, phi)
          energy = energy + dot_product(phi, mixing) / 2 + excess**2 / (2 * self%kappa_mol_kj)
          self%potential_kj_mol(i, j, k, :) = (mixing + excess / self%kappa_mol_kj) / self%rho0_nm3
        end do
      end do
    end do
    self%energy_kj_mol = energy * product(self%cell_nm) / self%rho0_nm3
  end subroutine

  !> Convolves every type's values with the filter, one dimension after the other.
  subroutine smooth(self, values)
    class(field_mesh), intent(in) :: self
    real(real64), intent(inout) :: values(0:, 0:, 0:, :)
    integer :: t, i, j
    do t = 1, size(values, 4)
      do j = 0, self%n(3) - 1
        do i = 0, self%n(2) - 1
          call smooth_line(values(:, i, j, t), self%filter(:, 1))
        end do
        do i = 0, self%n(1) - 1
          call smooth_line(values(i, :, j, t), self%filter(:, 2))
        end do
      end do
      do j = 0, self%n(2) - 1
        do i = 0, self%n(1) - 1
          call smooth_line(values(i, j, :, t), self%filter(:, 3))
        end do
      end do
    end do
  end subroutine

  pure subroutine smooth_line(line, weights)
    real(real64), intent(inout) :: line(0:)
    real(real64), intent(in) :: weights(0:)
    real(real64) :: before(0:2 * size(line) - 1)
    integer :: i, n
    n = size(line)
    before(:n - 1) = line
    before(n:) = line
    do i = 0, n - 1
      line(i) = dot_product(weights(:n - 1), before(i:i + n - 1))
    end do
  end subroutine

  !> Adds minus the gradient of its type's potential to every particle's force.
  subroutine add_forces(self, part, force)
    class(field_mesh), intent(in) :: self
    type(particle_part), intent(in) :: part
    real(real64), intent(inout) :: force(:, :) !< kJ/mol/nm, (3, particle)
    real(real64) :: into(3), w(-1:2, 3), g(-1:2, 3), v, sums(3)
    integer :: at(-1:2, 3), p, i, j, k
    w = 0
    do p = 1, part%particles
      call locate(self, part%x_nm(:, p), at, into)
      w(0, :) = 1 - into
      w(1, :) = into
      ! The difference of a point's neighbours, weighted with the point: by neighbour.
      g(-1, :) = -w(0, :)
      g(0, :) = -w(1, :)
      g(1, :) = w(0, :)
      g(2, :) = w(1, :)
      sums = 0
      do k = -1, 2
        do j = -1, 2
          if ((k < 0 .or. k > 1) .and. (j < 0 .or. j > 1)) cycle
          do i = -1, 2
            v = self%potential_kj_mol(at(i, 1), at(j, 2), at(k, 3), part%type(p))
            sums(1) = sums(1) + v * g(i, 1) * w(j, 2) * w(k, 3)
            sums(2) = sums(2) + v * w(i, 1) * g(j, 2) * w(k, 3)
            sums(3) = sums(3) + v * w(i, 1) * w(j, 2) * g(k, 3)
          end do
        end do
      end do
      force(:, p) = force(:, p) - sums / (2 * self%cell_nm)
    end do
  end subroutine

  !> The potential of a type at a place, kJ/mol.
  pure real(real64) function potential_at(self, x_nm, type) result(value)
    class(field_mesh), intent(in) :: self
    real(real64), intent(in) :: x_nm(3)
    integer, intent(in) :: type
    real(real64) :: scaled, w(0:1, 3)
    integer :: at(0:1, 3), whole, d, i, j, k
    do d = 1, 3 ! as in locate, without the outer neighbours
      scaled = x_nm(d) / self%cell_nm(d)
      whole = floor(scaled)
      w(1, d) = scaled - whole
      w(0, d) = 1 - w(1, d)
      if (whole < 0 .or. whole >= self%n(d)) whole = modulo(whole, self%n(d))
      at(0, d) = whole
      at(1, d) = merge(0, whole + 1, whole + 1 == self%n(d))
    end do
    value = 0
    do k = 0, 1
      do j = 0, 1
        do i = 0, 1
          value = value + w(i, 1) * w(j, 2) * w(k, 3) * &
            self%potential_kj_mol(at(i, 1), at(j, 2), at(k, 3), type)
        end do
      end do
    end do
  end function
end module mesh

/* Particles that fall in a viscous fluid, so many for each rank. */
#include <math.h>
#include <mpi.h>
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>

enum { total = 1003, steps = 40, between = 25 };

struct particle {
  double radius, position, velocity;
};

static void stop(const char *why) {
  fprintf(stderr, "fall: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Gravity against Stokes' friction; what reaches the ground lies there. */
static void move(struct particle *p, double dt) {
  const double friction = 0.02 / (p->radius * p->radius);
  p->velocity += dt * (-9.81 - friction * p->velocity);
  p->position += dt * p->velocity;
  if (p->position < 0) {
    p->position = 0;
    p->velocity = 0;
  }
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long first = (long)total * rank / ranks;
  const long n = (long)total * (rank + 1) / ranks - first;
  struct particle *particles = malloc(n * sizeof *particles);
  double *height = malloc(n * sizeof *height);
  if (particles == NULL || height == NULL) stop("out of memory");
  for (long i = 0; i < n; ++i) {
    particles[i] = (struct particle){0.05 + 0.01 * ((first + i) % 7), 10 + sin(first + i), 0};
  }

  sluice_file *out; sluice_variable x;
  sluice_variable_options stepped = {.size = sizeof stepped, .steps = 1};
  if (sluice_open(MPI_COMM_WORLD, "fall.h5", "w", NULL, &out)) stop(sluice_last_error(NULL));
  sluice_define(out, "height", SLUICE_FLOAT64, 1, (int64_t[]){total}, &stepped, &x);
  for (int step = 0; step < steps; ++step) {
    for (int inner = 0; inner < between; ++inner) {
      for (long i = 0; i < n; ++i) move(&particles[i], 0.001);
    }
    for (long i = 0; i < n; ++i) height[i] = particles[i].position;
    sluice_begin_step(out, 0.001 * between * (step + 1));
    sluice_put(out, x, SLUICE_FLOAT64, height, 1, (int64_t[]){first}, (int64_t[]){n});
    if (sluice_end_step(out, NULL)) stop(sluice_last_error(out));
  }
  if (sluice_close(out)) stop(sluice_last_error(out));
  sluice_free(out);
  free(height);
  free(particles);
  MPI_Finalize();
}

// What simulations do with PnetCDF: fixed and record variables, collective and independent, blocks
// that interleave, nonblocking puts; then everything is read back by the next rank.
// pnetcdf_program FILE; exits with 1 where a value is wrong.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 24, records = 5 };

static int rank, ranks, wrong;

static void need(int result, const char* what) {
  if (result != NC_NOERR) {
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerror(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static double value_of(int variable, int x, int y, int z) {
  return variable * 1e6 + x * 1e4 + y * 1e2 + z;
}

// Of a rank: columns of y.
static void part_of(int part, MPI_Offset* start, MPI_Offset* count) {
  start[0] = 0, start[1] = side / ranks * part, start[2] = 0;
  count[0] = side, count[2] = side;
  count[1] = part == ranks - 1 ? side - start[1] : side / ranks;
}

static double* values_of(int variable, const MPI_Offset* start, const MPI_Offset* count) {
  double* values = malloc((size_t)(count[0] * count[1] * count[2]) * sizeof *values);
  size_t at = 0;
  for (MPI_Offset x = 0; x < count[0]; ++x) {
    for (MPI_Offset y = 0; y < count[1]; ++y) {
      for (MPI_Offset z = 0; z < count[2]; ++z) {
        values[at++] =
            value_of(variable, (int)(start[0] + x), (int)(start[1] + y), (int)(start[2] + z));
      }
    }
  }
  return values;
}

static void write_all(int file, const int* variables) {
  MPI_Offset start[3], count[3];
  part_of(rank, start, count);
  double* fixed = values_of(0, start, count);
  need(ncmpi_put_vara_double_all(file, variables[0], start, count, fixed), "put_vara_all");
  need(ncmpi_begin_indep_data(file), "begin_indep_data");
  double* alone = values_of(1, start, count);
  need(ncmpi_put_vara_double(file, variables[1], start, count, alone), "put_vara");
  need(ncmpi_end_indep_data(file), "end_indep_data");
  double* recorded[2 * records];
  int requests[2 * records], statuses[2 * records];
  for (int record = 0; record < records; ++record) {
    for (int i = 0; i < 2; ++i) {
      MPI_Offset from[3] = {record, start[1], 0}, size[3] = {1, count[1], side};
      recorded[2 * record + i] = values_of(2 + i, from, size);
      need(ncmpi_iput_vara_double(file, variables[2 + i], from, size, recorded[2 * record + i],
                                  &requests[2 * record + i]),
           "iput_vara");
    }
  }
  need(ncmpi_wait_all(file, 2 * records, requests, statuses), "wait_all");
  for (int i = 0; i < 2 * records; ++i) {
    free(recorded[i]);
  }
  free(fixed);
  free(alone);
}

static void check(int file, int variable, int number, int depth) {
  MPI_Offset start[3], count[3];
  part_of((rank + 1) % ranks, start, count);
  count[0] = depth;
  double* right = values_of(number, start, count);
  const MPI_Offset values = count[0] * count[1] * count[2];
  double* read = calloc((size_t)values, sizeof *read);
  need(ncmpi_get_vara_double_all(file, variable, start, count, read), "get_vara_all");
  for (MPI_Offset i = 0; i < values; ++i) {
    wrong += read[i] != right[i];
  }
  free(right);
  free(read);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* name = argv[argc - 1];
  int file, dims[4], variables[4];
  need(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
       "creating");
  need(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]), "def_dim");
  need(ncmpi_def_dim(file, "x", side, &dims[1]), "def_dim");
  need(ncmpi_def_dim(file, "y", side, &dims[2]), "def_dim");
  need(ncmpi_def_dim(file, "z", side, &dims[3]), "def_dim");
  const int record_dims[3] = {dims[0], dims[2], dims[3]};
  need(ncmpi_def_var(file, "fixed", NC_DOUBLE, 3, dims + 1, &variables[0]), "def_var");
  need(ncmpi_def_var(file, "alone", NC_DOUBLE, 3, dims + 1, &variables[1]), "def_var");
  need(ncmpi_def_var(file, "first", NC_DOUBLE, 3, record_dims, &variables[2]), "def_var");
  need(ncmpi_def_var(file, "second", NC_DOUBLE, 3, record_dims, &variables[3]), "def_var");
  need(ncmpi_enddef(file), "enddef");
  write_all(file, variables);
  // The header grows: what is there moves.
  need(ncmpi_redef(file), "redef");
  char text[600] = "";
  for (int i = 0; i < 599; ++i) {
    text[i] = (char)('a' + i % 26);
  }
  need(ncmpi_put_att_text(file, NC_GLOBAL, "history", 599, text), "put_att");
  need(ncmpi_enddef(file), "enddef");
  need(ncmpi_close(file), "closing");
  need(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &file), "opening");
  for (int i = 0; i < 4; ++i) {
    check(file, variables[i], i, i < 2 ? side : records);
  }
  need(ncmpi_close(file), "closing");
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

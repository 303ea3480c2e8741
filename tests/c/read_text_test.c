/* An input file that one rank reads for all: by the communicator, by Fortran's handle, alone. */
#include <mpi.h>
#include <sluice/sluice.h>

#include "check.h"

static const char content[] = "sim:time-step = 1\0 a byte of 0 in it\n";
static const int64_t length = sizeof content - 1;

static void check_content(char* text, int64_t bytes) {
  CHECK(bytes == length);
  CHECK(memcmp(text, content, sizeof content) == 0); /* the NUL behind it too */
  sluice_free_text(text);
}

int main(void) {
  MPI_Init(NULL, NULL);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("input"));
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(content, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  char* text = NULL;
  int64_t bytes = -1;
  OK(sluice_read_text(MPI_COMM_WORLD, path, &text, &bytes));
  check_content(text, bytes);
  OK(sluice_read_text_f((int)MPI_Comm_c2f(MPI_COMM_WORLD), path, &text, &bytes));
  check_content(text, bytes);
  OK(sluice_read_text_serial(path, &text, NULL));
  check_content(text, length);

  text = path;
  CHECK(sluice_read_text(MPI_COMM_WORLD, "/no/such/file", &text, &bytes) == SLUICE_ERROR_NOT_FOUND);
  CHECK(text == NULL && strstr(sluice_last_error(NULL), "/no/such/file") != NULL);
  CHECK(sluice_read_text_serial(NULL, &text, &bytes) == SLUICE_ERROR_INVALID_ARGUMENT);
  CHECK(sluice_read_text_serial(path, NULL, &bytes) == SLUICE_ERROR_INVALID_ARGUMENT);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

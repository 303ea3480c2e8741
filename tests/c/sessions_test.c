/* Sessions through the C interface: writing from every rank, callbacks, reading back, errors; and
 * poll and drain of an ordinary file. */
#include <sluice/sluice.h>

#include "check.h"

enum { each = 1000 };
static int rank = 0, ranks = 1;
static const char* const options = "tile_bytes = 4096\ntimeout_s = 60";

static void count(void* user) { ++*(int*)user; }

static int last_code = -1;
static void note(int code, const char* message, void* user) {
  CHECK(code == SLUICE_OK || strlen(message) > 0);
  last_code = code;
  count(user);
}

static int64_t bytes_of_all(void) { return (int64_t)ranks * each * (int64_t)sizeof(double); }
static int64_t first_byte(void) { return (int64_t)rank * each * (int64_t)sizeof(double); }

static void write_all(const char* path) {
  sluice_session_file* out = NULL;
  OK(sluice_session_file_open(MPI_COMM_WORLD, path, "w", options, &out));
  int completed = 0;
  sluice_session session = {-1, 0, 0, 0};
  const char late[8] = "the last";
  if (rank == 0) {
    sluice_session_options wanted = SLUICE_SESSION_OPTIONS_INIT;
    wanted.complete = note;
    wanted.user = &completed;
    wanted.after = late;
    wanted.after_bytes = sizeof late;
    wanted.after_offset = bytes_of_all();
    OK(sluice_session_start(out, 0, bytes_of_all(), &wanted, &session));
  }
  MPI_Bcast(&session, sizeof session, MPI_BYTE, 0, MPI_COMM_WORLD);
  double data[each];
  for (int i = 0; i < each; ++i) {
    data[i] = rank + i / 1024.0;
  }
  FAILS(sluice_session_write(out, &session, data, 8, bytes_of_all()), SLUICE_ERROR_OUT_OF_BOUNDS,
        "not inside the session");
  FAILS(sluice_session_write(out, &session, data, -1, 0), SLUICE_ERROR_INVALID_ARGUMENT, "bytes");
  OK(sluice_session_write(out, &session, data, sizeof data, first_byte()));
  OK(sluice_session_file_poll(out));
  OK(sluice_session_file_close(out));
  FAILS(sluice_session_file_close(out), SLUICE_ERROR_WRONG_STATE, "closed already");
  sluice_session_file_free(out);
  CHECK(completed == (rank == 0 ? 1 : 0));
  CHECK(rank != 0 || last_code == SLUICE_OK);
}

static void read_all(const char* path) {
  sluice_session_file* in = NULL;
  OK(sluice_session_file_open(MPI_COMM_WORLD, path, "r", "readers = 1\ntimeout_s = 60", &in));
  int ready = 0, answered = 0;
  sluice_session session = {-1, 0, 0, 0};
  if (rank == 0) {
    sluice_session_options wanted = SLUICE_SESSION_OPTIONS_INIT;
    wanted.ready = count;
    wanted.user = &ready;
    OK(sluice_session_start(in, 0, bytes_of_all() + 8, &wanted, &session));
    OK(sluice_session_wait(in, &session));
    CHECK(ready == 1);
  }
  MPI_Bcast(&session, sizeof session, MPI_BYTE, 0, MPI_COMM_WORLD);
  double got[each] = {0};
  char late[8] = {0};
  OK(sluice_session_read(in, &session, got, sizeof got, first_byte(), note, &answered));
  OK(sluice_session_read(in, &session, late, sizeof late, bytes_of_all(), note, &answered));
  OK(sluice_session_file_wait_for_reads(in));
  CHECK(answered == 2);
  for (int i = 0; i < each; ++i) {
    CHECK(got[i] == rank + i / 1024.0);
  }
  CHECK(memcmp(late, "the last", sizeof late) == 0);
  OK(sluice_session_file_close(in));
  sluice_session_file_free(in);
}

static void fail_short(const char* path) {
  sluice_session_file* out = NULL;
  OK(sluice_session_file_open(MPI_COMM_WORLD, path, "w", options, &out));
  sluice_session session = {-1, 0, 0, 0};
  if (rank == 0) {
    OK(sluice_session_start(out, 0, 10, NULL, &session));
    OK(sluice_session_write(out, &session, "abcd", 4, 0));
  }
  MPI_Bcast(&session, sizeof session, MPI_BYTE, 0, MPI_COMM_WORLD);
  FAILS(sluice_session_close(out, &session), SLUICE_ERROR_HOLE, "closed short");
  FAILS(sluice_session_file_close(out), SLUICE_ERROR_HOLE, "closed short");
  sluice_session_file_free(out);
}

static void poll_and_drain(const char* path) {
  sluice_file* out = NULL;
  sluice_variable v = -1;
  sluice_variable_options steps = SLUICE_VARIABLE_OPTIONS_INIT;
  steps.steps = 1;
  const int64_t shape[1] = {ranks}, start[1] = {rank}, one[1] = {1};
  const double value = rank;
  int32_t all = 0;
  OK(sluice_open(MPI_COMM_WORLD, path, "w", "strategy = \"forward\"", &out));
  OK(sluice_define(out, "v", SLUICE_FLOAT64, 1, shape, &steps, &v));
  OK(sluice_begin_step(out, 0));
  OK(sluice_put(out, v, SLUICE_FLOAT64, &value, 1, start, one));
  OK(sluice_end_step(out, NULL));
  OK(sluice_poll(out));
  OK(sluice_drain(out, 60, &all));
  CHECK(all == 1);
  OK(sluice_close(out));
  sluice_free(out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    make_folder();
  }
  MPI_Bcast(check_folder, (int)sizeof check_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("sessions.bin"));
  write_all(path);
  read_all(path);
  fail_short(path);
  snprintf(path, sizeof path, "%s", in_folder("steps.h5"));
  poll_and_drain(path);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    remove_folder();
  }
  MPI_Finalize();
  return check_failures != 0;
}

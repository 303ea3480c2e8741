/* Records through the C interface, without communicator: one process in place of several ranks,
 * and what may be done wrong. */
#define SLUICE_NO_MPI_H
#include <sluice/records.h>

#include "check.h"

enum { parts = 5, groups = 3 };
static const char* const options = "durability = \"none\"";

static void write_groups(const char* path) {
  sluice_records* out = NULL;
  OK(sluice_records_open_parts(path, "w", options, parts, &out));
  CHECK(sluice_records_parts(out) == parts);
  CHECK(sluice_records_part(out, parts) == NULL);
  CHECK(sluice_records_part(out, -1) == NULL);
  for (int32_t g = 0; g < groups; ++g) {
    for (int32_t p = parts - 1; p >= 0; --p) {
      sluice_part* part = sluice_records_part(out, p);
      for (int32_t i = 0; i < p; ++i) { /* part 0 has none */
        const double x[3] = {g, p, i};
        OK(sluice_part_write(part, SLUICE_INT32, &i, 1));
        OK(sluice_part_write(part, SLUICE_FLOAT64, x, 3));
        OK(sluice_part_write(part, SLUICE_STRING(4), "abcd", 1));
      }
    }
    int32_t durable = 1;
    OK(sluice_records_commit(out, &durable));
    CHECK(durable == 0);
  }
  OK(sluice_records_close(out));
  FAILS(sluice_records_close(out), SLUICE_ERROR_WRONG_STATE, "closed");
  const int32_t late = 1;
  FAILS(sluice_part_write(sluice_records_part(out, 0), SLUICE_INT32, &late, 1),
        SLUICE_ERROR_WRONG_STATE, "closed");
  sluice_records_free(out);
}

/* By as many handles as there are, each its parts. */
static void read_groups(const char* path, int handles) {
  sluice_records* in = NULL;
  int64_t number = 0;
  OK(sluice_records_open_parts(path, "r", NULL, handles, &in));
  OK(sluice_records_groups(in, &number));
  CHECK(number == groups);
  for (int32_t g = 0; g < groups; ++g) {
    OK(sluice_records_fetch(in, g == 1 ? 1 : -1));
    for (int h = 0; h < handles; ++h) {
      sluice_part* part = sluice_records_part(in, h);
      for (int32_t p = h * parts / handles; p < (h + 1) * parts / handles; ++p) {
        for (int32_t i = 0; i < p; ++i) {
          int32_t got = -1;
          double x[3] = {-1, -1, -1};
          char text[5] = "";
          OK(sluice_part_read(part, SLUICE_INT32, &got, 1));
          OK(sluice_part_read(part, SLUICE_FLOAT64, x, 1));
          OK(sluice_part_read(part, SLUICE_FLOAT64, x + 1, 2));
          OK(sluice_part_read(part, SLUICE_STRING(4), text, 1));
          CHECK(got == i && x[0] == g && x[1] == p && x[2] == i && strcmp(text, "abcd") == 0);
        }
      }
      int32_t yes = 0;
      OK(sluice_part_at_end(part, &yes));
      CHECK(yes == 1);
    }
  }
  FAILS(sluice_records_fetch(in, -1), SLUICE_ERROR_OUT_OF_BOUNDS, "no further record group");
  FAILS(sluice_records_fetch(in, groups), SLUICE_ERROR_OUT_OF_BOUNDS, "group 3 of 3");
  OK(sluice_records_close(in));
  sluice_records_free(in);
}

static void check_refusals(const char* path) {
  sluice_records *in = NULL, *out = NULL;
  int32_t value = 0;
  FAILS(sluice_records_open_parts(path, "r", NULL, 0, &in), SLUICE_ERROR_INVALID_ARGUMENT,
        "0 parts");
  FAILS(sluice_records_open_parts(path, "rw", NULL, 1, &in), SLUICE_ERROR_INVALID_ARGUMENT,
        "r, w, x, a");
  FAILS(sluice_records_open_parts(in_folder("none"), "r", NULL, 1, &in), SLUICE_ERROR_NOT_FOUND,
        "none");
  CHECK(in == NULL);
  FAILS(sluice_records_commit(NULL, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  FAILS(sluice_part_write(NULL, SLUICE_INT32, &value, 1), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  OK(sluice_records_open_parts(path, "r", NULL, parts, &in));
  OK(sluice_records_fetch(in, -1));
  sluice_part* part = sluice_records_part(in, 1);
  FAILS(sluice_part_read(part, SLUICE_INT64, &value, 1), SLUICE_ERROR_TYPE_MISMATCH,
        "int32, but int64");
  FAILS(sluice_part_read(part, 99, &value, 1), SLUICE_ERROR_INVALID_ARGUMENT, "99");
  FAILS(sluice_part_read(part, SLUICE_INT32, NULL, 1), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  FAILS(sluice_part_read(part, SLUICE_INT32, &value, -1), SLUICE_ERROR_INVALID_ARGUMENT, "-1");
  FAILS(sluice_part_write(part, SLUICE_INT32, &value, 1), SLUICE_ERROR_WRONG_STATE, "reading");
  FAILS(sluice_part_refuse(part, SLUICE_ERROR_IO, "why"), SLUICE_ERROR_WRONG_STATE, "reading");
  FAILS(sluice_part_refuse(NULL, SLUICE_ERROR_IO, "why"), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  sluice_records_free(in); /* without closing */
  sluice_records_free(NULL);

  /* A value that is refused makes the group fail. */
  OK(sluice_records_open_parts(in_folder("refused"), "w", options, 1, &out));
  FAILS(sluice_part_write(sluice_records_part(out, 0), 0, &value, 1), SLUICE_ERROR_INVALID_ARGUMENT,
        "not a type");
  FAILS(sluice_records_commit(out, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "not a type");
  OK(sluice_part_refuse(sluice_records_part(out, 0), SLUICE_ERROR_UNSUPPORTED, "no such value"));
  OK(sluice_part_refuse(sluice_records_part(out, 0), SLUICE_ERROR_IO, "another reason"));
  FAILS(sluice_records_commit(out, NULL), SLUICE_ERROR_UNSUPPORTED, "refused: no such value");
  OK(sluice_records_commit(out, NULL));
  int32_t all = 0;
  OK(sluice_records_drain(out, 60, &all));
  CHECK(all == 1);
  FAILS(sluice_records_drain(out, 60, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "answer");
  OK(sluice_records_close(out));
  FAILS(sluice_records_drain(out, 60, &all), SLUICE_ERROR_WRONG_STATE, "closed");
  sluice_records_free(out);
}

int main(void) {
  char path[512];
  make_folder();
  snprintf(path, sizeof path, "%s", in_folder("groups"));
  write_groups(path);
  read_groups(path, parts);
  read_groups(path, 2);
  read_groups(path, 7);
  check_refusals(path);
  remove_folder();
  return check_failures != 0;
}

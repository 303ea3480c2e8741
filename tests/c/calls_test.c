/* Every call of the C interface on some ranks: what is written is read back the same. */
#include <math.h>
#include <sluice/sluice.h>

#include "check.h"

enum { rows_each = 5, columns = 3 };
static const char* const options = "durability = \"none\"";
static int rank, ranks;
static int64_t shape[2], start[2], count[2] = {rows_each, columns};

static double value(int64_t row, int64_t column, int64_t step) {
  return (double)(1000 * step + 10 * row) + (double)column;
}

static void describe(sluice_file* out, sluice_variable* spins, sluice_variable* mass) {
  static const char* const names[2] = {"atom", "axis"};
  sluice_variable_options wanted = SLUICE_VARIABLE_OPTIONS_INIT;
  wanted.steps = 1;
  wanted.unit = "1";
  wanted.description = "spin directions";
  wanted.dimensions = names;
  OK(sluice_define(out, "spins", SLUICE_FLOAT64, 2, shape, &wanted, spins));
  OK(sluice_define(out, "mass", SLUICE_FLOAT32, 1, shape, NULL, mass));
  int32_t number = 0;
  OK(sluice_variable_count(out, &number));
  CHECK(number == 2);
  sluice_variable again = -1;
  OK(sluice_define(out, "mass", SLUICE_FLOAT32, 1, shape, NULL, &again));
  CHECK(again == *mass);
}

static void set_attributes(sluice_file* out) {
  const int8_t i8 = -8;
  const uint16_t u16 = 65535;
  const int32_t i32s[3] = {1, -2, 3};
  const uint32_t u32 = 4294967295U;
  const int64_t i64 = INT64_MIN;
  const float f32s[2] = {0.5F, -1.5F};
  const double f64 = 0.1;
  const uint8_t yes = 1;
  const char slots[2][8] = {"eightlen", "ab"};
  const char* const texts[3] = {"Fe", "", "Gd"};
  OK(sluice_set_attribute(out, "", "i8", SLUICE_INT8, SLUICE_SCALAR, &i8));
  OK(sluice_set_attribute(out, "", "u16", SLUICE_UINT16, SLUICE_SCALAR, &u16));
  OK(sluice_set_attribute(out, "", "i32s", SLUICE_INT32, 3, i32s));
  OK(sluice_set_attribute(out, "", "u32", SLUICE_UINT32, SLUICE_SCALAR, &u32));
  OK(sluice_set_attribute(out, "", "i64", SLUICE_INT64, SLUICE_SCALAR, &i64));
  OK(sluice_set_attribute(out, "", "f32s", SLUICE_FLOAT32, 2, f32s));
  OK(sluice_set_attribute(out, "spins", "f64", SLUICE_FLOAT64, SLUICE_SCALAR, &f64));
  OK(sluice_set_attribute(out, "", "yes", SLUICE_BOOL, SLUICE_SCALAR, &yes));
  OK(sluice_set_attribute(out, "", "slots", SLUICE_STRING(8), 2, slots));
  OK(sluice_set_text(out, "", "code", "magnet"));
  OK(sluice_set_text(out, "time", "units", "ps"));
  OK(sluice_set_texts(out, "mass", "elements", 3, texts));
}

static void write_step(sluice_file* out, sluice_variable spins, int64_t step) {
  double mine[rows_each][columns];
  for (int64_t i = 0; i < rows_each; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      mine[i][c] = value(start[0] + i, c, step);
    }
  }
  OK(sluice_begin_step(out, step == 2 ? (double)NAN : 0.25 * (double)step));
  if (step == 0) {
    OK(sluice_put(out, spins, SLUICE_FLOAT64, mine, 2, start, count));
  } else if (step == 1) { /* every element by itself */
    for (int64_t i = 0; i < rows_each; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at[2] = {start[0] + i, c};
        OK(sluice_put_value(out, spins, SLUICE_FLOAT64, &mine[i][c], 2, at));
        mine[i][c] = -1; /* was copied */
      }
    }
  } else { /* the reverse order of rows, from another rank */
    int64_t ids[rows_each];
    for (int64_t i = 0; i < rows_each; ++i) {
      ids[i] = (int64_t)(ranks - 1 - rank) * rows_each + rows_each - 1 - i;
      for (int64_t c = 0; c < columns; ++c) {
        mine[i][c] = value(ids[i], c, step);
      }
    }
    OK(sluice_put_rows(out, spins, SLUICE_FLOAT64, mine, rows_each, ids));
    OK(sluice_end_step(out, NULL));
    return;
  }
  sluice_ticket* ticket = NULL;
  int64_t number = -1;
  int32_t durable = -1;
  OK(sluice_end_step(out, &ticket));
  OK(sluice_ticket_wait(ticket));
  OK(sluice_ticket_step(ticket, &number));
  OK(sluice_ticket_durable(ticket, &durable));
  CHECK(number == step && durable == 0);
  sluice_ticket_free(ticket);
}

static void put_mass(sluice_file* out, sluice_variable mass) {
  /* Every second element of a longer array, backwards, in double: strided and converted. */
  double wide[2 * rows_each];
  for (int i = 0; i < rows_each; ++i) {
    wide[2 * i] = (double)(start[0] + rows_each - 1 - i);
    wide[2 * i + 1] = -1;
  }
  const int64_t stride_bytes[1] = {-2 * (int64_t)sizeof(double)};
  sluice_selection part = SLUICE_SELECTION_INIT;
  part.start = start;
  part.count = count;
  part.stride_bytes = stride_bytes;
  OK(sluice_put_selection(out, mass, SLUICE_FLOAT64, &wide[2 * rows_each - 2], 1, &part));
  sluice_ticket* ticket = NULL;
  OK(sluice_flush(out, &ticket));
  CHECK(ticket != NULL);
  sluice_ticket_free(ticket);
}

static void write_file(const char* path) {
  sluice_file* out = NULL;
  OK(sluice_open(MPI_COMM_WORLD, path, "w", options, &out));
  int32_t reading = 1;
  OK(sluice_is_reading(out, &reading));
  CHECK(reading == 0);
  sluice_variable spins = -1, mass = -1;
  describe(out, &spins, &mass);
  set_attributes(out);
  put_mass(out, mass);
  for (int64_t step = 0; step < 2; ++step) {
    write_step(out, spins, step);
  }
  OK(sluice_close(out));
  sluice_free(out);

  /* One more step, through the handle that Fortran would hand over. */
  OK(sluice_open_f((int)MPI_Comm_c2f(MPI_COMM_WORLD), path, "a", options, &out));
  int64_t steps = 0;
  OK(sluice_steps(out, &steps));
  CHECK(steps == 2);
  OK(sluice_find(out, "spins", &spins));
  write_step(out, spins, 2);
  OK(sluice_close(out));
  sluice_free(out);
}

/* Rank r joins r + step rows, one call a row; their values tell which rank put them. */
static void check_joined(const char* path) {
  sluice_variable_options wanted = SLUICE_VARIABLE_OPTIONS_INIT;
  wanted.steps = 1;
  wanted.varying = 1;
  sluice_file* file = NULL;
  sluice_variable pairs = -1;
  const int64_t most[2] = {(int64_t)ranks * (ranks + 1), 2};
  OK(sluice_open(MPI_COMM_WORLD, path, "w", options, &file));
  OK(sluice_define(file, "pairs", SLUICE_FLOAT64, 2, most, &wanted, &pairs));
  for (int step = 0; step < 2; ++step) {
    const float row[2] = {(float)rank, (float)step};
    OK(sluice_begin_step(file, 0));
    for (int i = 0; i < rank + step; ++i) {
      OK(sluice_put_joined(file, pairs, SLUICE_FLOAT32, row, 1));
    }
    OK(sluice_put_joined(file, pairs, SLUICE_FLOAT32, NULL, 0));
    OK(sluice_end_step(file, NULL));
  }
  OK(sluice_close(file));
  sluice_free(file);
  OK(sluice_open(MPI_COMM_WORLD, path, "r", NULL, &file));
  OK(sluice_find(file, "pairs", &pairs));
  int64_t there[2] = {-1, -1};
  OK(sluice_shape(file, pairs, 1, 2, there));
  CHECK(there[0] == ranks * (ranks + 1) / 2 && there[1] == 2);
  double last[2] = {-1, -1};
  const int64_t at[2] = {there[0] - 1, 0}, one[2] = {1, 2};
  OK(sluice_get(file, pairs, SLUICE_FLOAT64, last, 2, at, one, 1));
  CHECK(last[0] == ranks - 1 && last[1] == 1);
  OK(sluice_close(file));
  sluice_free(file);
}

static void check_infos(sluice_file* in) {
  int32_t number = 0, reading = 0;
  int64_t steps = 0;
  double time = 0;
  sluice_variable spins = -1;
  OK(sluice_variable_count(in, &number));
  OK(sluice_is_reading(in, &reading));
  OK(sluice_steps(in, &steps));
  CHECK(number == 3 && reading == 1 && steps == 3); /* `time` is one */
  int64_t good = 7;
  OK(sluice_latest_good(in, &good));
  CHECK(good == 2);
  FAILS(sluice_latest_good(in, NULL), SLUICE_ERROR_INVALID_ARGUMENT, "NULL");
  OK(sluice_time(in, 1, &time));
  CHECK(time == 0.25);
  OK(sluice_time(in, SLUICE_LAST_STEP, &time));
  CHECK(isnan(time));
  OK(sluice_find(in, "spins", &spins));
  sluice_variable_info info = SLUICE_VARIABLE_INFO_INIT;
  OK(sluice_info(in, spins, &info));
  CHECK(strcmp(info.name, "spins") == 0 && info.type == SLUICE_FLOAT64 && info.rank == 2);
  CHECK(info.steps == 1 && info.partial == 0 && info.varying == 0);
  CHECK(info.shape[0] == shape[0] && info.shape[1] == columns);
  CHECK(strcmp(info.dimensions[0], "atom") == 0 && strcmp(info.dimensions[1], "axis") == 0);
  CHECK(info.dimensions[2] == NULL);
  int64_t one[2] = {0, 0};
  OK(sluice_shape(in, spins, 0, 2, one));
  CHECK(one[0] == shape[0] && one[1] == columns);
}

static void check_numbers(sluice_file* in) {
  int8_t i8 = 0;
  int32_t u16 = 0, i32s[3] = {0, 0, 0}, has = 0;
  int64_t u32 = 0, i64 = 0, number = 0;
  double f32s[2] = {0, 0}, f64 = 0;
  uint8_t yes = 0;
  sluice_type type = 0;
  OK(sluice_get_attribute(in, "", "i8", SLUICE_INT8, 1, &i8));
  OK(sluice_get_attribute(in, "", "u16", SLUICE_INT32, 1, &u16));
  OK(sluice_get_attribute(in, "", "i32s", SLUICE_INT32, 3, i32s));
  OK(sluice_get_attribute(in, "", "u32", SLUICE_INT64, 1, &u32));
  OK(sluice_get_attribute(in, "", "i64", SLUICE_INT64, 1, &i64));
  OK(sluice_get_attribute(in, "", "f32s", SLUICE_FLOAT64, 2, f32s));
  OK(sluice_get_attribute(in, "spins", "f64", SLUICE_FLOAT64, 1, &f64));
  OK(sluice_get_attribute(in, "", "yes", SLUICE_BOOL, 1, &yes));
  CHECK(i8 == -8 && u16 == 65535 && u32 == 4294967295 && i64 == INT64_MIN && yes == 1);
  CHECK(i32s[0] == 1 && i32s[1] == -2 && i32s[2] == 3);
  CHECK(f32s[0] == 0.5 && f32s[1] == -1.5 && f64 == 0.1);
  FAILS(sluice_get_attribute(in, "", "i64", SLUICE_INT32, 1, &u16), SLUICE_ERROR_OVERFLOW, "i64");
  FAILS(sluice_get_attribute(in, "spins", "f64", SLUICE_INT32, 1, &u16), SLUICE_ERROR_OVERFLOW,
        "f64");
  FAILS(sluice_get_attribute(in, "", "i32s", SLUICE_INT32, 2, i32s), SLUICE_ERROR_OVERFLOW,
        "space for 2");
  OK(sluice_attribute_info(in, "", "i32s", &type, &number));
  CHECK(type == SLUICE_INT32 && number == 3);
  OK(sluice_has_attribute(in, "", "nothing", &has));
  CHECK(has == 0);
  OK(sluice_has_attribute(in, "spins", "units", &has));
  CHECK(has == 1);
}

static void check_texts(sluice_file* in) {
  const char* text = NULL;
  char slots[2][9];
  int64_t number = 0;
  sluice_type type = 0;
  OK(sluice_get_text(in, "", "code", 0, &text));
  CHECK(strcmp(text, "magnet") == 0);
  OK(sluice_get_text(in, "time", "units", 0, &text));
  CHECK(strcmp(text, "ps") == 0);
  OK(sluice_get_text(in, "spins", "long_name", 0, &text));
  CHECK(strcmp(text, "spin directions") == 0);
  OK(sluice_attribute_info(in, "mass", "elements", &type, &number));
  CHECK(type == SLUICE_STRING(2) && number == 3);
  OK(sluice_get_text(in, "mass", "elements", 2, &text));
  CHECK(strcmp(text, "Gd") == 0);
  OK(sluice_get_attribute(in, "", "slots", SLUICE_STRING(9), 2, slots));
  CHECK(strcmp(slots[0], "eightlen") == 0 && strcmp(slots[1], "ab") == 0);
  FAILS(sluice_get_attribute(in, "", "slots", SLUICE_STRING(7), 2, slots), SLUICE_ERROR_OVERFLOW,
        "slots");
  FAILS(sluice_get_attribute(in, "", "code", SLUICE_INT32, 1, slots), SLUICE_ERROR_TYPE_MISMATCH,
        "code");
  FAILS(sluice_get_text(in, "mass", "elements", 3, &text), SLUICE_ERROR_OUT_OF_BOUNDS, "of 3");
  FAILS(sluice_get_text(in, "", "none", 0, &text), SLUICE_ERROR_NOT_FOUND, "none");
  OK(sluice_attribute_count(in, "mass", &number));
  CHECK(number >= 1);
  int found = 0;
  for (int64_t i = 0; i < number; ++i) {
    OK(sluice_attribute_name(in, "mass", i, &text));
    found += strcmp(text, "elements") == 0;
  }
  CHECK(found == 1);
  FAILS(sluice_attribute_name(in, "mass", number, &text), SLUICE_ERROR_OUT_OF_BOUNDS, "mass");
}

static void check_data(sluice_file* in) {
  sluice_variable spins = -1, mass = -1;
  OK(sluice_find(in, "spins", &spins));
  OK(sluice_find(in, "mass", &mass));
  for (int64_t step = 0; step < 3; ++step) {
    double block[rows_each][columns];
    OK(sluice_get(in, spins, SLUICE_FLOAT64, block, 2, start, count, step));
    int wrong = 0;
    for (int64_t i = 0; i < rows_each; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        wrong += block[i][c] != value(start[0] + i, c, step);
      }
    }
    CHECK(wrong == 0);
  }
  /* One column, into every second element of an array: strided, as float, the last step. */
  float column[2 * rows_each] = {0};
  const int64_t from[2] = {start[0], 1}, size[2] = {rows_each, 1};
  const int64_t stride_bytes[2] = {2 * (int64_t)sizeof(float), 0};
  sluice_selection part = SLUICE_SELECTION_INIT;
  part.start = from;
  part.count = size;
  part.stride_bytes = stride_bytes;
  OK(sluice_get_selection(in, spins, SLUICE_FLOAT32, column, 2, &part, SLUICE_LAST_STEP));
  for (int64_t i = 0; i < rows_each; ++i) {
    CHECK(column[2 * i] == (float)value(start[0] + i, 1, 2) && column[2 * i + 1] == 0);
  }
  const int64_t ids[4] = {shape[0] - 1, 0, 0, 2};
  float masses[4];
  OK(sluice_get_rows(in, mass, SLUICE_FLOAT32, masses, 4, ids, 0));
  for (int i = 0; i < 4; ++i) {
    CHECK(masses[i] == (float)ids[i]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  shape[0] = (int64_t)ranks * rows_each;
  shape[1] = columns;
  start[0] = (int64_t)rank * rows_each;
  if (rank == 0) {
    make_folder();
  }
  MPI_Bcast(check_folder, (int)sizeof check_folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  char path[512];
  snprintf(path, sizeof path, "%s", in_folder("calls.h5"));

  CHECK(strcmp(sluice_code_name(SLUICE_ERROR_HOLE), "hole") == 0);
  CHECK(strcmp(sluice_type_name(SLUICE_STRING(16)), "string[16]") == 0);
  CHECK(sluice_type_bytes(SLUICE_COMPLEX128) == 16 && sluice_type_bytes(99) == 0);
  CHECK(strchr(sluice_version(), '.') != NULL && strlen(sluice_mpi_library()) > 3);

  check_joined(path);
  write_file(path);
  sluice_file* in = NULL;
  OK(sluice_open(MPI_COMM_WORLD, path, "r", NULL, &in));
  check_infos(in);
  check_numbers(in);
  check_texts(in);
  check_data(in);
  OK(sluice_close(in));
  sluice_free(in);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    remove_folder();
  }
  MPI_Finalize();
  return check_failures != 0;
}

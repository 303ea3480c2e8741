/* What the C tests need: checks that count failures, and a folder of their own for files. */
#ifndef SLUICE_TESTS_CHECK_H
#define SLUICE_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      ++check_failures;                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)

/* The call succeeds; its message is printed where it does not. */
#define OK(call)                                                         \
  do {                                                                   \
    const int check_code = (call);                                       \
    if (check_code != SLUICE_OK) {                                       \
      ++check_failures;                                                  \
      fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, \
              sluice_code_name(check_code), sluice_last_error(NULL));    \
    }                                                                    \
  } while (0)

/* The call fails with the code, and its message holds the words. */
#define FAILS(call, code, words)                                                                  \
  do {                                                                                            \
    const int check_code = (call);                                                                \
    if (check_code != (code) || strstr(sluice_last_error(NULL), words) == NULL) {                 \
      ++check_failures;                                                                           \
      fprintf(stderr, "%s:%d: %s: %s (%s), expected %s with \"%s\"\n", __FILE__, __LINE__, #call, \
              sluice_code_name(check_code), sluice_last_error(NULL), sluice_code_name(code),      \
              words);                                                                             \
    }                                                                                             \
  } while (0)

/* A path in the folder that `make_folder` made. */
static char check_folder[256];

static inline void make_folder(void) {
  snprintf(check_folder, sizeof check_folder, "/tmp/sluice-c-XXXXXX");
  if (mkdtemp(check_folder) == NULL) {
    perror("mkdtemp");
    exit(1);
  }
}

static inline const char* in_folder(const char* name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", check_folder, name);
  return path;
}

static inline void remove_folder(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -r %s", check_folder);
  if (system(command) != 0) {
    fprintf(stderr, "%s could not be removed\n", check_folder);
  }
}

#endif

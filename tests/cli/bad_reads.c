/* Loaded in front of the C library: the read of a file named victim* does what libhdf5 does on some
 * damaged files. SLUICE_BAD_READ: crash, loop, killed or grow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_victim(int file) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) {
    return 0;
  }
  path[length] = '\0';
  const char* name = strrchr(path, '/');
  return name != NULL && strncmp(name, "/victim", 7) == 0;
}

static void misbehave(const char* how) {
  if (strcmp(how, "crash") == 0) {
    raise(SIGSEGV);
  } else if (strcmp(how, "loop") == 0) {
    for (volatile int i = 0;; ++i) {
    }
  } else if (strcmp(how, "killed") == 0) {
    raise(SIGKILL);
  } else if (strcmp(how, "grow") == 0) {
    const size_t most = (size_t)1 << 30; /* of the machine's, should nobody stop it */
    const size_t step = (size_t)8 << 20;
    for (size_t taken = 0; taken < most; taken += step) {
      void* more = malloc(step);
      if (more != NULL) {
        memset(more, 1, step);
      }
      usleep(2000);
    }
    for (;;) {
      pause();
    }
  }
}

ssize_t pread(int file, void* into, size_t bytes, off_t offset) {
  typedef ssize_t (*Pread)(int, void*, size_t, off_t);
  const char* how = getenv("SLUICE_BAD_READ");
  const size_t least = 128; /* smaller ones, and those of the beginning, look at signatures */
  if (how != NULL && bytes >= least && offset > 0 && is_victim(file)) {
    misbehave(how);
  }
  return ((Pread)dlsym(RTLD_NEXT, "pread"))(file, into, bytes, offset);
}

/* Loaded in front of the C library: the path of everything that is synced, a line each, in the file
 * SLUICE_SYNCS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void tell(int file) {
  char link[64];
  char path[4097];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  const char* told = getenv("SLUICE_SYNCS");
  if (length <= 0 || told == NULL) {
    return;
  }
  path[length] = '\n';
  const int log = open(told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0 || write(log, path, (size_t)length + 1) < 0) {
    abort();
  }
  close(log);
}

int fsync(int file) {
  typedef int (*Sync)(int);
  tell(file);
  return ((Sync)dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  typedef int (*Sync)(int);
  tell(file);
  return ((Sync)dlsym(RTLD_NEXT, "fdatasync"))(file);
}

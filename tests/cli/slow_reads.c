/* Loaded in front of the C library: reads of large pieces take half a second; large are those of
   1 MiB, or of SLUICE_SLOW_READ_BYTES. With SLUICE_SLOW_WRITES every write does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t pread(int file, void* into, size_t bytes, off_t offset) {
  typedef ssize_t (*Pread)(int, void*, size_t, off_t);
  const char* least = getenv("SLUICE_SLOW_READ_BYTES");
  if (bytes >= (least == NULL ? 1U << 20 : strtoul(least, NULL, 10))) {
    usleep(500000);
  }
  return ((Pread)dlsym(RTLD_NEXT, "pread"))(file, into, bytes, offset);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  typedef ssize_t (*Pwrite)(int, const void*, size_t, off_t);
  if (getenv("SLUICE_SLOW_WRITES") != NULL) {
    usleep(500000);
  }
  return ((Pwrite)dlsym(RTLD_NEXT, "pwrite"))(file, from, bytes, offset);
}

/* The few calls of the system that Fortran has no words for. Each returns 0, or errno. */
#define _GNU_SOURCE  // NOLINT(bugprone-reserved-identifier): glibc reads it
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { request_bytes = 4 << 20 };

int mfdn_open(const char* path, int writes, int makes, int* descriptor) {
  *descriptor =
      open(path, (writes ? O_RDWR : O_RDONLY) | (makes ? O_CREAT | O_TRUNC : 0) | O_CLOEXEC, 0644);
  return *descriptor < 0 ? errno : 0;
}

int mfdn_write_at(int descriptor, const char* data, int64_t bytes, int64_t offset) {
  while (bytes > 0) {
    const ssize_t done =
        pwrite(descriptor, data, bytes < request_bytes ? (size_t)bytes : request_bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : ENOSPC;
    data += done;
    offset += done;
    bytes -= done;
  }
  return 0;
}

int mfdn_read_at(int descriptor, char* data, int64_t bytes, int64_t offset) {
  while (bytes > 0) {
    const ssize_t done =
        pread(descriptor, data, bytes < request_bytes ? (size_t)bytes : request_bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO; /* EIO: the file ends before */
    data += done;
    offset += done;
    bytes -= done;
  }
  return 0;
}

int mfdn_sync(int descriptor) { return fsync(descriptor) != 0 ? errno : 0; }

int mfdn_close(int descriptor) { return close(descriptor) != 0 ? errno : 0; }

/* Of a file that another handle has written. */
int mfdn_sync_path(const char* path) {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int status = mfdn_sync(descriptor);
  close(descriptor);
  return status;
}

int mfdn_make_folder(const char* path) {
  return mkdir(path, 0755) != 0 && errno != EEXIST ? errno : 0;
}

/* Bytes that this process has got by read calls so far; -1 where the system does not count. */
int64_t mfdn_bytes_read(void) {
  FILE* const facts = fopen("/proc/self/io", "r");
  long long bytes = -1;
  if (facts == NULL) return -1;
  if (fscanf(facts, "rchar: %lld", &bytes) != 1) bytes = -1;
  fclose(facts);
  return bytes;
}

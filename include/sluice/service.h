/* Sessions for C programs whose own runtime carries messages, such as Charm++'s; the conventions of
 * sluice.h hold here, but messages of failures are those of the thread: sluice_last_error(NULL).
 *
 * A service is a file of sessions on one rank, with a thread of the library that advances it. It
 * does not communicate: the program takes its outgoing messages, sends them by whatever means it
 * has, in any order, and delivers each once to the service of its destination rank. No call waits
 * for another rank. sluice_service_next() returns what has happened. Any thread may call, one at a
 * time.
 *
 *   sluice_service_open(rank, ranks, "forces.bin", "w", "writers = 2", &service);
 *   while (1) {                                        // now and then, beside all else
 *     while (sluice_service_next_outgoing(service, &to, &message, &bytes) == 0 && bytes != 0)
 *       send(to, message, bytes);                       // there: sluice_service_deliver()
 *     while (sluice_service_next(service, &event) == 0 && event.kind != SLUICE_EVENT_NONE) ...
 *   }
 */
#ifndef SLUICE_SERVICE_H
#define SLUICE_SERVICE_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_service sluice_service;
enum {
  SLUICE_EVENT_NONE = 0,
  SLUICE_EVENT_OPENED = 1,   /* the file, on all ranks; or why not: free the service then */
  SLUICE_EVENT_READY = 2,    /* a session that reads: its beginning is in memory */
  SLUICE_EVENT_COMPLETE = 3, /* a session that writes: every byte is on disk; or why not */
  SLUICE_EVENT_READ = 4,     /* `number` as it was given to sluice_service_read() */
  SLUICE_EVENT_CLOSED = 5    /* the file; with the failure of any session of it */
};
typedef struct sluice_event {
  int kind;
  int code;            /* SLUICE_OK, or why it failed */
  int64_t number;      /* of the session, or of the read */
  const char* message; /* of the failure; valid until the next call of sluice_service_next() */
} sluice_event;

/* Begins to open; returns at once. Every rank of 0 .. size-1 does the same, and
 * delivers messages.
 * path, mode and options: as of sluice_session_file_open(). */
SLUICE_API int sluice_service_open(int rank, int size, const char* path, const char* mode,
                                   const char* options, sluice_service** service);
/* The next outgoing message: its destination rank and its bytes, valid until the next call of this
 * function. *bytes = 0: there is none. */
SLUICE_API int sluice_service_next_outgoing(sluice_service* service, int* to, const void** message,
                                            int64_t* bytes);
/* A message that another rank's sluice_service_next_outgoing() gave for this one; each once. */
SLUICE_API int sluice_service_deliver(sluice_service* service, const void* message, int64_t bytes);
/* After SLUICE_EVENT_OPENED. As sluice_session_start(); of the options count after, after_bytes and
 * after_offset, NULL for none. */
SLUICE_API int sluice_service_start(sluice_service* service, int64_t offset, int64_t bytes,
                                    const sluice_session_options* options, sluice_session* session);
/* Copies as many of the first bytes as the budget has room for, and says how many: the others are
 * to be given again after messages were delivered. */
SLUICE_API int sluice_service_write(sluice_service* service, const sluice_session* session,
                                    const void* data, int64_t bytes, int64_t offset,
                                    int64_t* taken);
/* As sluice_session_read(). `data` must stay until SLUICE_EVENT_READ with `number`. */
SLUICE_API int sluice_service_read(sluice_service* service, const sluice_session* session,
                                   void* data, int64_t bytes, int64_t offset, int64_t number);
/* Begins to close; returns at once. Every rank does so, when nobody writes any more; messages
 * must be delivered until all ranks have SLUICE_EVENT_CLOSED. */
SLUICE_API int sluice_service_close(sluice_service* service);
/* The next thing that happened; SLUICE_EVENT_NONE where nothing did. */
SLUICE_API int sluice_service_next(sluice_service* service, sluice_event* event);
/* Gives it back, in whatever state; NULL is fine. */
SLUICE_API void sluice_service_free(sluice_service* service);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_SERVICE_H */

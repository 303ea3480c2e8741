/** @file
 * Sessions for C programs whose own runtime carries messages, such as Charm++'s.
 *
 * A service is a file of sessions on one rank, with a thread of the library that advances it. It
 * does not communicate: the program takes its outgoing messages, sends them by its own means in any
 * order, and delivers each once to the service of its destination rank. No call waits for another
 * rank. sluice_service_next() returns what has happened.
 *
 *     sluice_service_open(rank, ranks, "forces.bin", "w", "writers = 2", &service);
 *     while (1) {                                        // now and then, beside all else
 *       while (sluice_service_next_outgoing(service, &to, &message, &bytes) == 0 && bytes != 0)
 *         send(to, message, bytes);                       // there: sluice_service_deliver()
 *       while (sluice_service_next(service, &event) == 0 && event.kind != SLUICE_EVENT_NONE) ...
 *     }
 *
 * The conventions of sluice.h apply, with two differences. Messages of failures are those of the
 * thread: sluice_last_error(NULL). Any thread may call, one at a time.
 */
#ifndef SLUICE_SERVICE_H
#define SLUICE_SERVICE_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup c_service Sessions by a program's own messages
 * @{ */

/** A file of sessions on one rank. */
typedef struct sluice_service sluice_service;
/** What can happen: sluice_event::kind. */
enum {
  SLUICE_EVENT_NONE = 0,   /**< Nothing. */
  SLUICE_EVENT_OPENED = 1, /**< The file is open on all ranks; or why not: free the service then. */
  SLUICE_EVENT_READY = 2,  /**< A session that reads: its beginning is in memory. */
  SLUICE_EVENT_COMPLETE = 3, /**< A session that writes: every byte is on disk; or why not. */
  SLUICE_EVENT_READ = 4,     /**< A read is done, or failed. */
  SLUICE_EVENT_CLOSED = 5    /**< The file is closed; with the failure of any session of it. */
};
/** Something that happened. */
typedef struct sluice_event {
  int kind;            /**< SLUICE_EVENT_... */
  int code;            /**< SLUICE_OK, or why it failed. */
  int64_t number;      /**< Of the session, or what sluice_service_read() got. */
  const char* message; /**< Of the failure; valid until the next sluice_service_next(). */
} sluice_event;

/** Begins to open a file; SLUICE_EVENT_OPENED reports when it is open.
 *
 * Every rank of 0 to size - 1 makes the same call, and delivers messages. Returns at once.
 * @param rank     number of this rank
 * @param size     number of ranks
 * @param path     as for sluice_session_file_open()
 * @param mode     as for sluice_session_file_open()
 * @param options  as for sluice_session_file_open()
 * @param service  receives the service, to be given to sluice_service_free(); NULL on failure
 * @return as sluice_session_file_open(); failures of other ranks come with the event */
SLUICE_API int sluice_service_open(int rank, int size, const char* path, const char* mode,
                                   const char* options, sluice_service** service);
/** Takes the next outgoing message.
 *
 * Local.
 * @param service  a service
 * @param to       receives the rank to which it goes; -1 where there is none
 * @param message  receives its bytes; valid until the next call of this function
 * @param bytes    receives their number; 0 where there is no message
 * @return SLUICE_OK */
SLUICE_API int sluice_service_next_outgoing(sluice_service* service, int* to, const void** message,
                                            int64_t* bytes);
/** Delivers a message that another rank's sluice_service_next_outgoing() gave for this rank.
 *
 * Local. Each message is delivered once.
 * @param service  a service
 * @param message  its bytes; copied
 * @param bytes    their number
 * @return SLUICE_OK */
SLUICE_API int sluice_service_deliver(sluice_service* service, const void* message, int64_t bytes);
/** Starts a session, after SLUICE_EVENT_OPENED.
 *
 * Local; this rank becomes its home, and gets its events.
 * @param service  an open service
 * @param offset   first byte in the file
 * @param bytes    length in bytes, 0 too
 * @param options  `after`, `after_bytes` and `after_offset` count, others are ignored; NULL: none
 * @param session  receives the session
 * @return as sluice_session_start() */
SLUICE_API int sluice_service_start(sluice_service* service, int64_t offset, int64_t bytes,
                                    const sluice_session_options* options, sluice_session* session);
/** Writes the first bytes of `data` for which the budget has room.
 *
 * Local; does not wait. The rest is to be given again after messages were delivered.
 * @param service  a service opened for writing
 * @param session  a session of the file
 * @param data     `bytes` bytes; those that are taken are copied
 * @param bytes    number of bytes, 0 too
 * @param offset   place in the file of the first one, inside the session
 * @param taken    receives how many were taken
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  not inside the session */
SLUICE_API int sluice_service_write(sluice_service* service, const sluice_session* session,
                                    const void* data, int64_t bytes, int64_t offset,
                                    int64_t* taken);
/** Reads bytes of a session; SLUICE_EVENT_READ reports when they are read.
 *
 * Local.
 * @param service  a service opened for reading
 * @param session  a session of the file
 * @param data     room for `bytes` bytes; it must stay until the event
 * @param bytes    number of bytes, 0 too
 * @param offset   place in the file, inside the session
 * @param number   any number, by which the event is known
 * @retval SLUICE_OK                   success
 * @retval SLUICE_ERROR_OUT_OF_BOUNDS  not inside the session */
SLUICE_API int sluice_service_read(sluice_service* service, const sluice_session* session,
                                   void* data, int64_t bytes, int64_t offset, int64_t number);
/** Begins to close the file; SLUICE_EVENT_CLOSED reports when it is closed.
 *
 * Every rank does so when nobody writes any more. Returns at once; messages must be delivered until
 * all ranks have the event.
 * @param service  an open service
 * @return SLUICE_OK */
SLUICE_API int sluice_service_close(sluice_service* service);
/** Takes the next event.
 *
 * Local.
 * @param service  a service
 * @param event    receives what happened; kind SLUICE_EVENT_NONE where nothing did
 * @return SLUICE_OK */
SLUICE_API int sluice_service_next(sluice_service* service, sluice_event* event);
/** Frees a service, in whatever state.
 *
 * Local.
 * @param service  a service; NULL is fine */
SLUICE_API void sluice_service_free(sluice_service* service);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_SERVICE_H */

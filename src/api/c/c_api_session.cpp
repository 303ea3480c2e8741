// The C interface: sessions.
#include "api/c/c_api_session.hpp"

#include "api/c/c_api_handle.hpp"
#include "api/c/opening.hpp"
#include "api/session/session_impl.hpp"

using sluice::Error;
using sluice::Session;
using sluice::SessionFile;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

namespace sluice::c_api {

std::uint64_t count_of(std::int64_t number, const char* what) {
  if (number < 0) {
    throw Error(Code::invalid_argument,
                std::string(what) + ": " + std::to_string(number) + ": it must not be negative");
  }
  return static_cast<std::uint64_t>(number);
}

Session session_of(const sluice_session* session) {
  require(session, "the session");
  return {session->home, session->number, count_of(session->offset, "offset of the session"),
          count_of(session->bytes, "bytes of the session")};
}

}  // namespace sluice::c_api

struct sluice_session_file {
  explicit sluice_session_file(std::unique_ptr<sluice::detail::SessionImpl> opened)
      : impl(opened.get()), file(std::move(opened)) {}

  sluice::detail::SessionImpl* impl;  ///< of `file`
  SessionFile file;
};

namespace {

std::function<void(const Error*)> call_of(sluice_done done, void* user) {
  if (done == nullptr) {
    return {};
  }
  return [done, user](const Error* failure) {
    failure == nullptr ? done(SLUICE_OK, "", user)
                       : done(static_cast<int>(failure->code()), failure->what(), user);
  };
}

template <class Where>
int open_on(const Where& where, const char* path, const char* mode, const char* options,
            sluice_session_file** file) noexcept {
  return guarded([&] {
    if (file != nullptr) {
      *file = nullptr;
    }
    const Opening opening = where.parse(static_cast<void*>(file), path, mode, options);
    auto made = std::make_unique<sluice_session_file>(std::make_unique<sluice::detail::SessionImpl>(
        where.context(opening), opening.path, opening.mode));
    *file = made.release();
  });
}

}  // namespace

int sluice_session_file_open_comm(sluice_comm comm, const char* path, const char* mode,
                                  const char* options, sluice_session_file** file) {
  return open_on(OnComm(comm), path, mode, options, file);
}

int sluice_session_file_open_f(int comm, const char* path, const char* mode, const char* options,
                               sluice_session_file** file) {
  return open_on(OnComm(comm_of_fortran(comm)), path, mode, options, file);
}

int sluice_session_file_open_serial(const char* path, const char* mode, const char* options,
                                    sluice_session_file** file) {
  return open_on(OnSelf(), path, mode, options, file);
}

int sluice_session_start(sluice_session_file* file, int64_t offset, int64_t bytes,
                         const sluice_session_options* options, sluice_session* session) {
  return guarded_on(file, [&] {
    require(session, "the place for the session");
    const auto wanted = sized<sluice_session_options>(options, SLUICE_SESSION_OPTIONS_INIT);
    sluice::SessionHandlers handlers;
    if (wanted.ready != nullptr) {
      handlers.ready = [ready = wanted.ready, user = wanted.user] { ready(user); };
    }
    handlers.complete = call_of(wanted.complete, wanted.user);
    if (wanted.after_bytes != 0) {
      require(wanted.after, "the bytes after all others");
      const auto* first = static_cast<const std::byte*>(wanted.after);
      handlers.after.assign(first, first + count_of(wanted.after_bytes, "after_bytes"));
      handlers.after_offset = count_of(wanted.after_offset, "after_offset");
    }
    const Session begun =
        file->file.start(count_of(offset, "offset"), count_of(bytes, "bytes"), std::move(handlers));
    *session = {begun.home, begun.number, offset, bytes};
  });
}

int sluice_session_write(sluice_session_file* file, const sluice_session* session, const void* data,
                         int64_t bytes, int64_t offset) {
  return guarded_on(file, [&] {
    if (bytes != 0) {
      require(data, "the data");
    }
    file->file.write(session_of(session), data, count_of(bytes, "bytes"),
                     count_of(offset, "offset"));
  });
}

int sluice_session_read(sluice_session_file* file, const sluice_session* session, void* data,
                        int64_t bytes, int64_t offset, sluice_done done, void* user) {
  return guarded_on(file, [&] {
    if (bytes != 0) {
      require(data, "the place for the data");
    }
    file->file.read(session_of(session), data, count_of(bytes, "bytes"), count_of(offset, "offset"),
                    call_of(done, user));
  });
}

int sluice_session_end(sluice_session_file* file, const sluice_session* session) {
  return guarded_on(file, [&] { file->file.end(session_of(session)); });
}

int sluice_session_wait(sluice_session_file* file, const sluice_session* session) {
  return guarded_on(file, [&] { file->file.wait(session_of(session)); });
}

int sluice_session_close(sluice_session_file* file, const sluice_session* session) {
  return guarded_on(file, [&] { file->file.close(session_of(session)); });
}

int sluice_session_file_poll(sluice_session_file* file) {
  return guarded_on(file, [&] { file->file.poll(); });
}

int sluice_session_file_wait_for_reads(sluice_session_file* file) {
  return guarded_on(file, [&] { file->file.wait_for_reads(); });
}

int sluice_session_file_close(sluice_session_file* file) {
  return guarded_on(file, [&] { file->file.close(); });
}

void sluice_session_file_free(sluice_session_file* file) {
  const auto why = take_reason_to_free(file);
  if (file != nullptr && why) {
    file->impl->leave(*why);
  }
  delete file;
}

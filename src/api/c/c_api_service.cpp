// The C interface: sessions of programs whose runtime carries messages.
#include "api/c/c_api_handle.hpp"
#include "api/c/c_api_session.hpp"
#include "api/session/session_service.hpp"
#include "sluice/service.h"

using sluice::Session;
using sluice::detail::SessionService;
using namespace sluice::c_api;  // NOLINT: C functions belong to no namespace

struct sluice_service {
  SessionService service;
  std::vector<std::byte> outgoing = {};  ///< given out last
  std::string event_text = {};           ///< of the event given out last
};

namespace {

template <class Work>
int guarded_service(const sluice_service* service, Work&& work) noexcept {
  return guarded([&] {
    require(service, "the service");
    service->service.require_here();
    work();
  });
}

}  // namespace

int sluice_service_open(int rank, int size, const char* path, const char* mode, const char* options,
                        sluice_service** service) {
  return guarded([&] {
    require(service, "the place for the service");
    *service = nullptr;
    const std::string name = text_of(path, "path");
    *service = new sluice_service{{rank, size, name, mode_of(mode),
                                   sluice::parse_options(options == nullptr ? "" : options)}};
  });
}

int sluice_service_next_outgoing(sluice_service* service, int* to, const void** message,
                                 int64_t* bytes) {
  return guarded_service(service, [&] {
    require(to, "the place for the rank");
    require(message, "the place for the message");
    require(bytes, "the place for its length");
    auto parcel = service->service.carrier().next_outgoing();
    service->outgoing = parcel ? std::move(parcel->bytes) : std::vector<std::byte>();
    *to = parcel ? parcel->rank : -1;
    *message = service->outgoing.data();
    *bytes = static_cast<int64_t>(service->outgoing.size());
  });
}

int sluice_service_deliver(sluice_service* service, const void* message, int64_t bytes) {
  return guarded_service(service, [&] {
    require(message, "the message");
    service->service.carrier().deliver(
        {static_cast<const std::byte*>(message), count_of(bytes, "bytes of the message")});
  });
}

int sluice_service_start(sluice_service* service, int64_t offset, int64_t bytes,
                         const sluice_session_options* options, sluice_session* session) {
  return guarded_service(service, [&] {
    require(session, "the place for the session");
    const auto wanted = sized<sluice_session_options>(options, SLUICE_SESSION_OPTIONS_INIT);
    std::vector<std::byte> after;
    if (wanted.after_bytes != 0) {
      require(wanted.after, "the bytes after all others");
      const auto* first = static_cast<const std::byte*>(wanted.after);
      after.assign(first, first + count_of(wanted.after_bytes, "after_bytes"));
    }
    const Session begun =
        service->service.start(count_of(offset, "offset"), count_of(bytes, "bytes"),
                               std::move(after), count_of(wanted.after_offset, "after_offset"));
    *session = {begun.home, begun.number, offset, bytes};
  });
}

int sluice_service_write(sluice_service* service, const sluice_session* session, const void* data,
                         int64_t bytes, int64_t offset, int64_t* taken) {
  return guarded_service(service, [&] {
    require(taken, "the place for what was taken");
    *taken = 0;
    if (bytes != 0) {
      require(data, "the data");
    }
    *taken = static_cast<int64_t>(service->service.write_some(
        session_of(session), count_of(offset, "offset"),
        {static_cast<const std::byte*>(data), count_of(bytes, "bytes")}));
  });
}

int sluice_service_read(sluice_service* service, const sluice_session* session, void* data,
                        int64_t bytes, int64_t offset, int64_t number) {
  return guarded_service(service, [&] {
    if (bytes != 0) {
      require(data, "the place for the data");
    }
    service->service.read(session_of(session), count_of(offset, "offset"),
                          {static_cast<std::byte*>(data), count_of(bytes, "bytes")}, number);
  });
}

int sluice_service_close(sluice_service* service) {
  return guarded_service(service, [&] { service->service.close(); });
}

int sluice_service_next(sluice_service* service, sluice_event* event) {
  return guarded_service(service, [&] {
    require(event, "the place for the event");
    const auto next = service->service.next();
    service->event_text = next ? next->message : std::string();
    *event = {next ? static_cast<int>(next->kind) : SLUICE_EVENT_NONE,
              next ? static_cast<int>(next->code) : SLUICE_OK, next ? next->number : 0,
              service->event_text.c_str()};
  });
}

void sluice_service_free(sluice_service* service) {
  if (service != nullptr && service->service.is_here()) {
    delete service;
  }
}

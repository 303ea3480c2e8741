// The part of one ABI: messages and requests.
#include <vector>

#include "mpi/bound.hpp"

namespace sluice::mpi::SLUICE_MPI_PART {

namespace {

/// Requests as MPI stores them. If its handles are as long as words they are used in place.
class NativeRequests {
 public:
  explicit NativeRequests(std::span<Request> words) : words_(words) {
    if constexpr (!is_same_size) {
      copies().resize(words.size());
      for (std::size_t i = 0; i < words.size(); ++i) {
        copies()[i] = native_of<MPI_Request>(words[i]);
      }
    }
  }
  NativeRequests(const NativeRequests&) = delete;
  NativeRequests& operator=(const NativeRequests&) = delete;
  ~NativeRequests() {
    if constexpr (!is_same_size) {
      for (std::size_t i = 0; i < words_.size(); ++i) {
        words_[i].word = word_of(copies()[i]);
      }
    }
  }
  MPI_Request* data() {
    if constexpr (is_same_size) {
      return words_.empty() ? nullptr : place_of<MPI_Request>(words_[0]);
    } else {
      return copies().data();
    }
  }

 private:
  static constexpr bool is_same_size = sizeof(MPI_Request) == sizeof(Request);
  /// One in use at a time in a thread; kept, because requests are tested in tight loops.
  static std::vector<MPI_Request>& copies() {
    thread_local std::vector<MPI_Request> kept;
    return kept;
  }

  std::span<Request> words_;
};

Status status_of(const MPI_Status& native) {
  int bytes = -1;
  const bool is_known = f.Get_count(&native, MPI_BYTE, &bytes) == MPI_SUCCESS;
  return {native.MPI_SOURCE, native.MPI_ERROR, is_known ? bytes : -1};
}

class BoundMessages final : public Messages {
 public:
  Request null_request() override { return {word_of(MPI_REQUEST_NULL)}; }
  int start_send(std::span<const std::byte> bytes, int to, int tag, Comm comm, bool synchronous,
                 Request& request) override {
    return (synchronous ? f.Issend : f.Isend)(bytes.data(), static_cast<int>(bytes.size()),
                                              MPI_BYTE, to, tag, native_of<MPI_Comm>(comm),
                                              place_of<MPI_Request>(request));
  }
  int start_receive(std::span<std::byte> into, int from, int tag, Comm comm,
                    Request& request) override {
    return f.Irecv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from, tag,
                   native_of<MPI_Comm>(comm), place_of<MPI_Request>(request));
  }
  int take(int tag, Comm comm, bool& is_there, Message& message, Status& status) override {
    int flag = 0;
    MPI_Status native;
    const int result = f.Improbe(MPI_ANY_SOURCE, tag, native_of<MPI_Comm>(comm), &flag,
                                 place_of<MPI_Message>(message), &native);
    is_there = result == MPI_SUCCESS && flag != 0;
    status = is_there ? status_of(native) : Status{};
    return result;
  }
  int start_taken(std::span<std::byte> into, Message& message, Request& request) override {
    return f.Imrecv(into.data(), static_cast<int>(into.size()), MPI_BYTE,
                    place_of<MPI_Message>(message), place_of<MPI_Request>(request));
  }
  int probe(int tag, Comm comm, bool& is_there, Status& status) override {
    int flag = 0;
    MPI_Status native;
    const int result = f.Iprobe(MPI_ANY_SOURCE, tag, native_of<MPI_Comm>(comm), &flag, &native);
    is_there = result == MPI_SUCCESS && flag != 0;
    status = is_there ? status_of(native) : Status{};
    return result;
  }
  int receive(std::span<std::byte> into, int from, int tag, Comm comm) override {
    return f.Recv(into.data(), static_cast<int>(into.size()), MPI_BYTE, from, tag,
                  native_of<MPI_Comm>(comm), MPI_STATUS_IGNORE);
  }

  int test_all(std::span<Request> requests, bool& is_done, std::span<Status> statuses) override {
    thread_local std::vector<MPI_Status> kept;
    kept.resize(statuses.size());
    int flag = 0;
    NativeRequests natives(requests);
    const int result = f.Testall(static_cast<int>(requests.size()), natives.data(), &flag,
                                 statuses.empty() ? MPI_STATUSES_IGNORE : kept.data());
    is_done = flag != 0;
    if (result != MPI_SUCCESS || is_done) {
      for (std::size_t i = 0; i < statuses.size(); ++i) {
        statuses[i] = result == MPI_SUCCESS ? status_of(kept[i])
                                            : Status{kept[i].MPI_SOURCE, kept[i].MPI_ERROR, -1};
      }
    }
    return result;
  }
  int test(Request& request, bool& is_done) override {
    int flag = 0;
    const int result = f.Test(place_of<MPI_Request>(request), &flag, MPI_STATUS_IGNORE);
    is_done = flag != 0;
    return result;
  }
  int look(Request request, bool& is_done) override {
    int flag = 0;
    const int result =
        f.Request_get_status(native_of<MPI_Request>(request), &flag, MPI_STATUS_IGNORE);
    is_done = flag != 0;
    return result;
  }
  int cancel(Request& request) override { return f.Cancel(place_of<MPI_Request>(request)); }

  Fault fault(int result) override;
  std::string error_text(int result) override {
    char text[MPI_MAX_ERROR_STRING + 1] = "unknown";
    int length = 0;
    f.Error_string(result, text, &length);
    return text;
  }
};

Fault BoundMessages::fault(int result) {
  if (result == MPI_SUCCESS) {
    return Fault::none;
  }
  int error_class = MPI_ERR_OTHER;
  f.Error_class(result, &error_class);
  switch (error_class) {
    case MPI_ERR_TRUNCATE:
      return Fault::truncate;
    case MPI_ERR_PENDING:
      return Fault::pending;
    case MPI_ERR_IN_STATUS:
      return Fault::in_status;
    case MPI_ERR_NO_SUCH_FILE:
      return Fault::no_such_file;
    case MPI_ERR_FILE_EXISTS:
      return Fault::file_exists;
    case MPI_ERR_ACCESS:
    case MPI_ERR_READ_ONLY:
      return Fault::no_access;
    case MPI_ERR_NO_SPACE:
    case MPI_ERR_QUOTA:
      return Fault::no_space;
    default:
      return Fault::other;
  }
}

}  // namespace

Messages& messages() {
  static BoundMessages one;
  return one;
}

}  // namespace sluice::mpi::SLUICE_MPI_PART

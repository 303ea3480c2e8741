// The C interface: files that one rank reads for all; and the C++ function for the same.
#include <cstdlib>
#include <cstring>
#include <new>

#include "api/c/c_api_handle.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "exec/transport/read_text.hpp"
#include "exec/transport/solo_transport.hpp"
#include "sluice/text.hpp"

namespace sluice {

std::string read_on_root(const Comm& comm, const std::string& path) {
  c_api::refuse_null(comm, path + ": read");
  const auto transport = exec::make_mpi(comm, exec::MpiOptions{});
  return exec::read_on_root(*transport, *storage::make_posix(), path);
}

}  // namespace sluice

namespace {

/// A NUL-terminated copy that sluice_free_text() frees.
char* copy_of(const std::string& bytes) {
  auto* text = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (text == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(text, bytes.c_str(), bytes.size() + 1);
  return text;
}

/// `read` is given what it is to run before it reads.
template <class Read>
int read_text(const char* path, char** text, std::int64_t* bytes, Read&& read) noexcept {
  return sluice::c_api::guarded([&] {
    const auto check = [&] {
      sluice::c_api::require(path, "path");
      sluice::c_api::require(text, "text");
      *text = nullptr;
    };
    const std::string found = read(check);
    *text = copy_of(found);
    if (bytes != nullptr) {
      *bytes = static_cast<std::int64_t>(found.size());
    }
  });
}

}  // namespace

int sluice_read_text_comm(sluice_comm comm, const char* path, char** text, int64_t* bytes) {
  return read_text(path, text, bytes, [&](auto&& check) {
    sluice::exec::before_open(comm, check);  // its error is that of every rank
    return sluice::read_on_root(comm, path);
  });
}

int sluice_read_text_f(int comm, const char* path, char** text, int64_t* bytes) {
  return sluice_read_text_comm(sluice::c_api::comm_of_fortran(comm).raw(), path, text, bytes);
}

int sluice_read_text_serial(const char* path, char** text, int64_t* bytes) {
  return read_text(path, text, bytes, [&](auto&& check) {
    check();
    const auto alone = sluice::exec::make_solo();
    return sluice::exec::read_on_root(*alone, *sluice::storage::make_posix(), path);
  });
}

void sluice_free_text(char* text) { std::free(text); }

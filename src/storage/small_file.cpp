#include "storage/small_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "storage/calls.hpp"
#include "storage/posix_file.hpp"

namespace sluice::storage {

namespace {

/// By which environments say that there is no such file.
bool is_null_device(const struct stat& status) {
  struct stat null = {};
  return S_ISCHR(status.st_mode) && ::stat("/dev/null", &null) == 0 && S_ISCHR(null.st_mode) &&
         null.st_rdev == status.st_rdev;
}

/// Checks the open file: between a check of its name and the reading, the file could be replaced.
void check_small_file(int fd, const std::string& path, std::uint64_t most_bytes, Trust trust) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) throw system_error(path, describe(Call::size), errno);
  if (!S_ISREG(status.st_mode) && !is_null_device(status)) {
    throw system_error(path, describe(Call::open), S_ISDIR(status.st_mode) ? EISDIR : ESPIPE);
  }
  if (trust == Trust::own_files && status.st_uid != ::geteuid() && status.st_uid != 0) {
    throw Error(Code::permission,
                path + ": belongs to user " + std::to_string(status.st_uid) +
                    ", who is neither you nor root, so its settings are not used. To use it "
                    "anyway, set SLUICE_CONFIG=" +
                    path + "; to ignore it, set SLUICE_CONFIG=");
  }
  if (static_cast<std::uint64_t>(status.st_size) > most_bytes) {
    throw Error(Code::format, path + ": " + std::to_string(status.st_size) +
                                  " bytes are too large for a settings file");
  }
}

}  // namespace

LookUp look_for_unnamed(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0) return {true, {}};
  const int problem = errno;
  if (problem == ENOENT || problem == ENOTDIR) return {};
  if (problem == EACCES || problem == ESTALE) {
    return {false, std::generic_category().message(problem)};
  }
  throw system_error(path, describe(Call::exists), problem);
}

std::string read_small_file(const std::string& path, std::uint64_t most_bytes, Trust trust) {
  const int fd = open_descriptor(real_system_calls(), Place(AT_FDCWD, path), O_RDONLY);
  if (fd < 0) throw system_error(path, describe(Call::open), errno);
  try {
    check_small_file(fd, path, most_bytes, trust);
    std::string text(most_bytes, '\0');
    std::size_t done = 0;
    for (int idle = 0; done < text.size();) {
      const ssize_t got = ::read(fd, text.data() + done, text.size() - done);
      if (got == 0) break;
      if (got < 0 && (errno != EINTR || ++idle >= max_idle_calls)) {
        throw system_error(path, describe(Call::read, text.size()), errno);
      }
      done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    text.resize(done);
    ::close(fd);
    return text;
  } catch (...) {
    ::close(fd);
    throw;
  }
}

}  // namespace sluice::storage

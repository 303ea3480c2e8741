#include "storage/small_file.hpp"

#include <cerrno>
#include <cstdlib>
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

/// Looks for a file that nobody named, which is none of the program's where its folder is closed to
/// it, or stale.
void look_for(SettingsFile& file) {
  struct stat status = {};
  file.was_found = ::lstat(file.name.c_str(), &status) == 0;
  const int problem = file.was_found ? ENOENT : errno;
  if (problem == EACCES || problem == ESTALE) {
    file.notice = "the current folder was not searched for " + file.name + ": " +
                  std::generic_category().message(problem);
  } else if (problem != ENOENT && problem != ENOTDIR) {
    throw system_error(file.name, describe(Call::exists), problem);
  }
}

}  // namespace

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

SettingsFile settings_file() {
  // A settings file has a few lines; a larger file is not one.
  constexpr std::uint64_t most_bytes = 1 << 20;
  const char* const told = std::getenv(settings_variable);
  SettingsFile file;
  file.name = told != nullptr ? told : default_settings;
  if (told == nullptr) {
    look_for(file);
  }
  if (file.was_found || (told != nullptr && !file.name.empty())) {
    const Trust trust = file.was_found ? Trust::own_files : Trust::anybody;
    file.text = read_small_file(file.name, most_bytes, trust);
  }
  return file;
}

}  // namespace sluice::storage

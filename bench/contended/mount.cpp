// Invariants: every file is opened past the page cache, so each request of a process comes here
// under its own number, one MiB at most, and only when its turn is over does the call return. The
// kernel lets processes write one file at the same time, but for writes beyond its end.
#define FUSE_USE_VERSION 312
#include "mount.hpp"

#include <cstdio>
#include <cstring>
#include <fuse3/fuse_lowlevel.h>
#include <memory>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <system_error>

#include "operations.hpp"

namespace sluice::contended {

namespace {

struct EndSession {
  void operator()(fuse_session* session) const {
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
  }
};

/// One descriptor a node.
void raise_descriptor_limit() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int fail(const char* what, const std::string& where) {
  std::fprintf(stderr, "contended: %s %s\n", what, where.c_str());
  return 1;
}

}  // namespace

int serve(const Parameters& parameters) try {
  raise_descriptor_limit();
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // threads wake when they are due, not 50 us later
  FileSystem system(parameters);
  const std::string options = "fsname=contended,subtype=contended,default_permissions";
  const char* words[] = {"contended", "-o", options.c_str()};
  fuse_args arguments = FUSE_ARGS_INIT(3, const_cast<char**>(words));
  const fuse_lowlevel_ops operations = make_operations();
  std::unique_ptr<fuse_session, EndSession> session(
      fuse_session_new(&arguments, &operations, sizeof operations, &system));
  if (!session || fuse_set_signal_handlers(session.get()) != 0) {
    return fail("cannot begin a session for", parameters.mount);
  }
  if (fuse_session_mount(session.get(), parameters.mount.c_str()) != 0) {
    return fail("cannot mount at", parameters.mount);
  }
  std::printf("contended: %s\n", parameters.mount.c_str());
  std::fflush(stdout);
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, parameters.threads);
  fuse_loop_cfg_set_idle_threads(config, parameters.threads);
  const int status = fuse_session_loop_mt(session.get(), config);
  fuse_loop_cfg_destroy(config);
  return status < 0 ? fail("the session ended:", std::strerror(-status)) : 0;
} catch (const std::system_error& error) {
  return fail("cannot open", error.what());
}

}  // namespace sluice::contended

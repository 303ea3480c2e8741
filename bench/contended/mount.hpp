// The file system as FUSE sees it: data goes to the backing folder, time to the physics.
#pragma once

#include "parameters.hpp"

namespace sluice::contended {

/// Mounts and serves until SIGTERM, SIGINT or an unmount; returns the program's exit code. Prints
/// one line to stdout when the mount can be used, one to stderr where it cannot be made.
int serve(const Parameters& parameters);

}  // namespace sluice::contended

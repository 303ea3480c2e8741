// What the kernel may ask of the mount.
#pragma once

#include <fuse3/fuse_lowlevel.h>

#include "nodes.hpp"
#include "physics.hpp"

namespace sluice::contended {

/// All that lives as long as the mount.
struct FileSystem {
  explicit FileSystem(const Parameters& wanted)
      : parameters(wanted), physics(wanted), nodes(wanted.backing, physics) {}

  const Parameters parameters;
  Physics physics;
  Nodes nodes;
  /// The file `.contended` in the root, whose text is made when it is opened.
  Node statistics;
};

constexpr const char* statistics_name = ".contended";

/// The counters as JSON.
std::string statistics_text(const FileSystem& system);

/// Their user data is a FileSystem.
fuse_lowlevel_ops make_operations();

/// Those of files that are open (data.cpp), entered into the table.
void add_data_operations(fuse_lowlevel_ops& operations);

FileSystem& system_of(fuse_req_t request);
Node& node_of(fuse_req_t request, fuse_ino_t number);

}  // namespace sluice::contended

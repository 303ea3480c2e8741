// What a file that is read consists of, for those who read from it.
#pragma once

#include "commit/read/file_view.hpp"
#include "commit/read/root_catalog.hpp"
#include "commit/read/source_file.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class PartsInput;

/// The sources; all must outlive a reader.
struct ReadContext {
  exec::Transport& transport;
  storage::Storage& storage;
  const Options& options;
  const FileView& view;
  SourceFile& source;
  RootCatalog* root = nullptr;  ///< on rank 0
  PartsInput* parts = nullptr;  ///< of the index of a set of parts
};

}  // namespace sluice::commit

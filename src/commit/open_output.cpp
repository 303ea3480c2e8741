#include "commit/output/single_output.hpp"
#include "commit/parts/parts_output.hpp"
#include "commit/write/choice.hpp"
#include "exec/transport/agree.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "plan/groups.hpp"

namespace sluice::commit {

namespace {

/// Collective. How the existing set of parts was written; "" if it is not a set.
std::string strategy_of_set(exec::Transport& transport, storage::Storage& storage,
                            const std::string& path) {
  auto message = exec::on_root(transport, [&](model::ByteWriter& out) {
    std::string strategy;
    try {
      const auto file = layout::open_data(storage, path, storage::Access::read);
      const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
      strategy = catalog->set() != nullptr ? catalog->set()->strategy : strategy;
    } catch (const Error&) {
      // errors are reported when it is opened for writing, after its recovery
    }
    out.put(strategy);
  });
  return message.get_string();
}

bool may_be_several(const exec::Transport& transport, const std::string& path,
                    const Options& options) {
  return options.files == Files::allow_multiple && plan::chooses(options.strategy) &&
         transport.size() > 1 && layout::format_of(path, options).index;
}

}  // namespace

std::unique_ptr<Output> open_output(exec::Transport& transport, storage::Storage& storage,
                                    const std::string& given_path, Opening opening,
                                    const Options& options) {
  const FilePlace place = agreed_place(transport, storage, given_path);
  const std::string& path = place.path;
  Options chosen = options;
  if (storage.whole_files(path) != nullptr) {
    chosen.durability = Durability::step;  // what is put is on stable storage
  }
  if (opening != Opening::append && path != given_path && options.format == "auto") {
    chosen.format = layout::format_of(given_path, options).option;  // the name determines the
                                                                    // format
  }
  if (opening != Opening::append && place.names_folder) {
    layout::require_folder_format(given_path, layout::format_of(given_path, options));
  }
  bool has_parts = options.keep_last != 0 || options.split_steps != 0 || options.split_bytes != 0;
  if (opening == Opening::append) {
    const std::string strategy = strategy_of_set(transport, storage, path);
    if (!strategy.empty() && plan::chooses(options.strategy)) {
      chosen.strategy = strategy;  // continues in its format
    }
    has_parts = has_parts || (!strategy.empty() && !plan::writes_parts(strategy));
  }
  std::string reason;
  if (!has_parts && opening != Opening::append && may_be_several(transport, path, chosen)) {
    FilesChoice files = choose_files(transport, chosen, place.facts);
    chosen.strategy = files.strategy;
    reason = std::move(files.reason);
  }
  std::unique_ptr<Output> output;
  exec::for_file(path, [&] {
    if (has_parts || plan::writes_parts(chosen.strategy)) {
      output = std::make_unique<PartsOutput>(transport, storage, path, opening, chosen);
    } else {
      output = std::make_unique<SingleOutput>(transport, storage, place, opening, chosen);
    }
  });
  output->report().explain_files(std::move(reason));
  return output;
}

}  // namespace sluice::commit

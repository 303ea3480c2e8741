#include "commit/parts_output.hpp"
#include "commit/single_output.hpp"
#include "exec/agree.hpp"
#include "layout/formats.hpp"
#include "plan/groups.hpp"

namespace sluice::commit {

namespace {

/// Collective. With strategy auto a set of parts goes on as it began.
std::string strategy_for(exec::Transport& transport, storage::Storage& storage,
                         const std::string& path, Opening opening, const Options& options) {
  if (opening != Opening::append || options.strategy != "auto") {
    return options.strategy;
  }
  const auto message = exec::on_root(transport, 0, [&] {
    std::string strategy = options.strategy;
    try {
      const auto file = storage.open(path, storage::Access::read);
      const auto catalog = layout::open_catalog(layout::format_in(*file, "auto"), *file);
      strategy = catalog->set() != nullptr ? catalog->set()->strategy : strategy;
    } catch (const Error&) {
      // what is wrong with it is said by those who open it for writing, after they recovered it
    }
    model::ByteWriter out;
    out.put(strategy);
    return out.take();
  });
  return model::ByteReader(message).get_string();
}

}  // namespace

std::unique_ptr<Output> open_output(exec::Transport& transport, storage::Storage& storage,
                                    const std::string& path, Opening opening,
                                    const Options& options) {
  Options chosen = options;
  chosen.strategy = strategy_for(transport, storage, path, opening, options);
  if (plan::writes_parts(chosen.strategy)) {
    return std::make_unique<PartsOutput>(transport, storage, path, opening, chosen);
  }
  return std::make_unique<SingleOutput>(transport, storage, path, opening, chosen);
}

}  // namespace sluice::commit

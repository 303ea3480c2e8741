#include "api/open_context.hpp"

#include <mutex>
#include <set>

#include "api/config/option_table.hpp"
#include "api/messages.hpp"
#include "codec/checksum.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/disagree.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "model/bytes.hpp"
#include "model/name.hpp"
#include "storage/mpiio.hpp"

namespace sluice::detail {

namespace {

/// Null: the path is one of the operating system. Collective.
std::shared_ptr<storage::Storage> object_store(exec::Transport& transport, const std::string& path,
                                               const Options& options) {
  if (!storage::is_object_path(path)) {
    return nullptr;
  }
  std::shared_ptr<storage::Storage> store;
  exec::together(transport, [&] {
    if (options.storage == "mpiio") {
      throw Error(Code::unsupported, model::escaped(path, model::Shown::line) +
                                         ": storage mpiio opens files, not objects: leave out the "
                                         "setting storage");
    }
    store = storage::make_object_store(path, options.timeout_s, options.budget_bytes);
  });
  return store;
}

/// Of what a rank opens and how, with the settings that are known of it.
std::uint64_t digest_of(const OpenRequest& request, const settings::Settings& settings) {
  model::ByteWriter out;
  out.put(std::string(request.purpose));
  out.put(settings::explain_options(request.path, settings));
  return codec::checksum(out.take());
}

}  // namespace

OpenContext context_on(const Comm& comm, const OpenRequest& request, const Options& options) {
  OpenContext context;
  const std::uint64_t digest = exec::before_open(comm, [&] {
    settings::Settings given;
    given.options = options;
    return digest_of(request, given);
  });
  bool are_alike = false;
  auto connect = [&](const Options& wanted) {
    exec::MpiOptions mpi;
    mpi.timeout_s = wanted.timeout_s;
    mpi.ranks_per_node = wanted.ranks_per_node;
    mpi.name = request.path;
    if (wanted.log == Log::off) {
      mpi.say_after_s = 0;
    }
    exec::OpenedTransport opened = exec::open_mpi(comm, mpi, digest);
    context.transport = std::move(opened.transport);
    are_alike = opened.are_alike;
  };
  context.uses_mpi = true;
  connect(options);
  context.settings = same_settings(*context.transport, request, options, are_alike);
  const Options& wanted = context.settings.options;
  // Ranks that gave others may all want the same now: all of them connect again, or none.
  if (!are_alike || wanted.timeout_s != options.timeout_s ||
      wanted.ranks_per_node != options.ranks_per_node) {
    context.transport.reset();
    connect(wanted);
  }
  context.storage = object_store(*context.transport, request.path, wanted);
  if (context.storage == nullptr) {
    context.storage = wanted.storage == "mpiio" ? storage::make_mpiio(comm, wanted.hints)
                                                : storage::make(wanted.storage);
  }
  return context;
}

OpenContext context_on(std::unique_ptr<exec::Transport> transport, const OpenRequest& request,
                       const Options& options) {
  OpenContext context;
  context.transport = std::move(transport);
  context.settings = same_settings(*context.transport, request, options);
  const Options& wanted = context.settings.options;
  context.uses_mpi = wanted.storage == "mpiio";
  constexpr Comm self(sluice_comm{SLUICE_COMM_SELF, 0, 0});
  context.storage = object_store(*context.transport, request.path, wanted);
  if (context.storage == nullptr) {
    context.storage =
        context.uses_mpi ? storage::make_mpiio(self, wanted.hints) : storage::make(wanted.storage);
  }
  return context;
}

const char* purpose_of(Mode mode) {
  switch (mode) {
    case Mode::read:
      return "to read";
    case Mode::write:
      return "to write";
    case Mode::create:
      return "to create it";
    case Mode::append:
      return "to append";
  }
  return "in an unknown mode";
}

void say_notice(const exec::Transport& transport, const settings::Settings& settings) {
  static std::mutex mutex;
  static auto* const said = new std::set<std::string>;  // files may be opened after main()
  if (transport.rank() != 0 || settings.notice.empty()) {
    return;
  }
  {
    const std::lock_guard lock(mutex);
    if (!said->insert(settings.notice).second) {
      return;
    }
  }
  say(settings.notice);
}

void require_same(exec::Transport& transport, const OpenRequest& request,
                  const settings::Settings& settings) {
  const auto digest = static_cast<std::int64_t>(digest_of(request, settings));
  // The maximum of a value and of its complement tells whether all ranks have the same.
  std::int64_t same[] = {digest, ~digest};
  exec::agree(transport, nullptr, same);
  if (same[0] != ~same[1]) {
    exec::Said mine{"opens " + request.path, {request.purpose}};
    for (const settings::Option& option : settings::option_table()) {
      mine.how.push_back(std::string("with ") + option.name + " = " + option.get(settings.options));
    }
    exec::refuse_disagreement(transport, request.path, {mine},
                              "they open it with different options");
  }
}

settings::Settings same_settings(exec::Transport& transport, const OpenRequest& request,
                                 const Options& options, bool are_alike) {
  const std::string& path = request.path;
  settings::Settings settings = settings::resolve(transport, path, options, request.own);
  if (!are_alike) {
    require_same(transport, request, settings);
  }
  if (path.empty() || path.find('\0') != std::string::npos) {
    throw Error(Code::bad_name, "open: the path " + model::quoted(path) +
                                    (path.empty() ? " is empty" : " has a NUL in it"));
  }
  return settings;
}

}  // namespace sluice::detail

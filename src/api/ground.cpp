#include "api/ground.hpp"

#include "codec/checksum.hpp"
#include "exec/agree.hpp"
#include "exec/mpi_transport.hpp"
#include "model/bytes.hpp"
#include "storage/mpiio.hpp"

namespace sluice::detail {

Ground ground_on(MPI_Comm comm, const std::string& path, const Options& options) {
  Ground ground;
  auto connect = [&](const Options& wanted) {
    exec::MpiOptions mpi;
    mpi.timeout_s = wanted.timeout_s;
    mpi.ranks_per_node = wanted.ranks_per_node;
    ground.transport = exec::make_mpi(comm, mpi);
  };
  connect(options);
  ground.settings = settings::resolve(*ground.transport, path, options);
  const Options& wanted = ground.settings.options;
  if (wanted.timeout_s != options.timeout_s || wanted.ranks_per_node != options.ranks_per_node) {
    connect(wanted);
  }
  ground.storage = wanted.storage == "mpiio" ? storage::make_mpiio(comm, wanted.hints)
                                             : storage::make(wanted.storage);
  return ground;
}

Ground ground_on(std::unique_ptr<exec::Transport> transport, const std::string& path,
                 const Options& options) {
  Ground ground;
  ground.transport = std::move(transport);
  ground.settings = settings::resolve(*ground.transport, path, options);
  const Options& wanted = ground.settings.options;
  ground.storage = wanted.storage == "mpiio" ? storage::make_mpiio(MPI_COMM_SELF, wanted.hints)
                                             : storage::make(wanted.storage);
  return ground;
}

void require_same(exec::Transport& transport, const std::string& path, Mode mode,
                  const settings::Settings& settings) {
  model::ByteWriter out;
  out.put(mode);
  out.put(settings::explain_options(path, settings));
  const auto digest = static_cast<std::int64_t>(codec::checksum(out.take()));
  // The maximum of a value and of its complement tells whether all ranks have the same.
  std::int64_t same[] = {digest, ~digest};
  exec::agree(transport, nullptr, same);
  if (same[0] != ~same[1]) {
    throw Error(Code::divergent, path +
                                     ": the ranks disagree: they open different paths, in "
                                     "different modes or with different options");
  }
}

}  // namespace sluice::detail

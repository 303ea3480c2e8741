// The cells under mpirun: every strategy, on posix, direct and mpiio (memory is not shared between
// processes), on all ranks, and the other layouts. Files are opened as a program opens them, by
// File's own constructor. After the run a table of the cells is printed.
#include <filesystem>
#include <gtest/gtest.h>
#include <mpi.h>

#include "exec/transport/mpi_transport.hpp"
#include "model/bytes.hpp"
#include "storage/scratch.hpp"
#include "support/matrix.hpp"
#include "support/world.hpp"

namespace sluice::test {

namespace {

constexpr double deadline_s = 20;

class MpiWorld final : public World {
 public:
  explicit MpiWorld(Cell cell) : cell_(std::move(cell)) {
    all_ = exec::make_mpi(MPI_COMM_WORLD, deadline_s);
    cell_.ranks = all_->size();
    // For reading files from one rank: MPI-IO files are ordinary ones.
    storage_ = storage::make(cell_.storage == "mpiio" ? "posix" : cell_.storage);
    std::vector<std::byte> folder;
    if (all_->rank() == 0) {
      const char* build = std::getenv("SLUICE_BUILD_DIR");
      scratch_ = build != nullptr ? std::make_unique<storage::Scratch>(build)
                                  : std::make_unique<storage::Scratch>();
      folder = storage::bytes_of(scratch_->folder());
    }
    all_->broadcast(folder, 0);
    folder_ = storage::text_of(folder);
  }
  ~MpiWorld() override {
    try {
      all_->barrier();  // no rank may still use the folder that is removed now
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }

  void run(const Body& body, int ranks) override {
    MPI_Comm some = MPI_COMM_NULL;
    const bool takes_part = ranks == 0 || all_->rank() < ranks;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, 0, &some);
    if (takes_part) {
      try {
        const auto transport = exec::make_mpi(some, deadline_s);
        Rank rank(*transport, cell_.strategy,
                  [&](const std::string& path, Mode mode, Options options) {
                    options.storage = cell_.storage;
                    return File(some, path, mode, cell_.in_layout(mode, options));
                  });
        body(rank);
      } catch (const std::exception& error) {
        const auto* ours = dynamic_cast<const Error*>(&error);
        if (ours != nullptr) {
          note(*ours);
        }
        ADD_FAILURE() << error.what();
      }
      MPI_Comm_free(&some);
    }
    all_->barrier();
  }

  std::vector<Caught> run_catching(const Body& body, int ranks) override {
    Caught mine;
    run(
        [&](Rank& rank) {
          try {
            body(rank);
          } catch (const Error& error) {
            note(error);
            mine = {error.code(), error.what(), error.rank()};
          }
        },
        ranks);
    model::ByteWriter out;
    out.put(mine.code);
    out.put(mine.text);
    out.put(mine.rank);
    std::vector<Caught> all;
    for (const auto& message : all_->allgather(out.take())) {
      model::ByteReader in(message);
      Caught caught;
      caught.code = in.get<Code>();
      caught.text = in.get_string();
      caught.rank = in.get<int>();
      all.push_back(caught);
    }
    all.resize(static_cast<std::size_t>(ranks == 0 ? cell_.ranks : ranks));
    return all;
  }

  void once(const std::function<void()>& work) override {
    all_->barrier();
    if (all_->rank() == 0) {
      work();
    }
    all_->barrier();
  }
  const Cell& cell() const override { return cell_; }
  storage::Storage& storage() override { return *storage_; }
  std::string path(const std::string& name) const override { return folder_ + "/" + name; }

 private:
  Cell cell_;
  std::unique_ptr<exec::Transport> all_;
  std::shared_ptr<storage::Storage> storage_;
  std::unique_ptr<storage::Scratch> scratch_;
  std::string folder_;
};

const std::vector<Cell>& cells() {
  static const std::vector<Cell> all{
      {"serial", "posix", 0},
      {"serial", "direct", 0},
      {"shared", "posix", 0},
      {"shared", "direct", 0},
      {"shared", "mpiio", 0},
      {"collective", "posix", 0},
      {"collective", "direct", 0},
      {"collective", "mpiio", 0},
      {"file-per-process", "posix", 0},
      {"file-per-node", "posix", 0},
      {"forward", "posix", 0},
      {"forward", "direct", 0},
      {"auto", "direct", 0},
      {"shared", "posix", 0, "hdf5-grouped"},
      {"collective", "mpiio", 0, "netcdf4"},
      {"shared", "posix", 0, "npy"},
      {"forward", "direct", 0, "hdf5-grouped"},
      {"forward", "direct", 0, "netcdf4"},
      {"forward", "direct", 0, "npy"},
      {"collective", "posix", 0, "zarr"},
      {"forward", "direct", 0, "zarr"},
      {"shared", "posix", 0, "zarr", true},
      {"collective", "posix", 0, "icechunk"},
      {"forward", "direct", 0, "icechunk"},
  };
  return all;
}

/// Prints how many behaviours passed in each cell.
class Matrix : public testing::Environment {
  void TearDown() override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
      std::vector<std::string> names;
      for (const Cell& cell : cells()) {
        names.push_back(cell.name());
      }
      print_matrix(names);
    }
  }
};

}  // namespace

bool register_behaviour(const char* group, const char* name, const char* file, int line,
                        BehaviourBody body) {
  static const auto* matrix = testing::AddGlobalTestEnvironment(new Matrix);
  register_in_cells(group, name, file, line, body, cells(),
                    [](const Cell& cell) { return std::make_unique<MpiWorld>(cell); });
  return matrix != nullptr;
}

}  // namespace sluice::test

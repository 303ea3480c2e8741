// The part of one ABI: binding, initialisation, communicators.
#include "mpi/bound.hpp"

namespace sluice::mpi::SLUICE_MPI_PART {

Functions f;
#ifdef OPEN_MPI
Objects objects;
#endif

namespace {

void (*finalize_work)() = nullptr;

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

int run_at_finalize(MPI_Comm, int, void*, void*) {
  finalize_work();
  return MPI_SUCCESS;
}

void (*release_kept)(void*) = nullptr;
int kept_key = MPI_KEYVAL_INVALID;

int run_release(MPI_Comm, int, void* what, void*) {
  release_kept(what);
  return MPI_SUCCESS;
}

MPI_Comm of_fortran(int number) {
#ifdef SLUICE_MPI_STANDARD_HEADER
  return f.Comm_fromint(number);
#elif defined(OPEN_MPI)
  return f.Comm_f2c(number);
#else
  return MPI_Comm_f2c(number);
#endif
}

class BoundComms final : public Comms {
 public:
  bool is_initialized() override {
    int flag = 0;
    f.Initialized(&flag);
    return flag != 0;
  }
  bool is_finalized() override {
    int flag = 0;
    f.Finalized(&flag);
    return flag != 0;
  }
  int init(int* argc, char*** argv) override {
    int provided = 0;
    return f.Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  }
  int finalize() override { return f.Finalize(); }
  void abort(int code) override { f.Abort(MPI_COMM_WORLD, code); }
  int at_finalize(void (*work)()) override {
    finalize_work = work;
    int key = MPI_KEYVAL_INVALID;
    const int result = f.Comm_create_keyval(copy_nothing, run_at_finalize, &key, nullptr);
    return result != MPI_SUCCESS ? result : f.Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  }

  void* kept(Comm comm) override {
    void* what = nullptr;
    int found = 0;
    if (kept_key != MPI_KEYVAL_INVALID) {
      f.Comm_get_attr(native_of<MPI_Comm>(comm), kept_key, &what, &found);
    }
    return found != 0 ? what : nullptr;
  }
  int keep(Comm comm, void* what, void (*release)(void*)) override {
    release_kept = release;
    const int result = kept_key != MPI_KEYVAL_INVALID
                           ? MPI_SUCCESS
                           : f.Comm_create_keyval(copy_nothing, run_release, &kept_key, nullptr);
    return result != MPI_SUCCESS ? result
                                 : f.Comm_set_attr(native_of<MPI_Comm>(comm), kept_key, what);
  }

  Comm null_comm() override { return {word_of(MPI_COMM_NULL)}; }
  Comm self() override { return {word_of(MPI_COMM_SELF)}; }
  Comm world() override { return {word_of(MPI_COMM_WORLD)}; }
  Comm comm_of(const sluice_comm& any) override {
    switch (any.kind) {
      case SLUICE_COMM_NULL:
        return null_comm();
      case SLUICE_COMM_WORLD:
        return world();
      case SLUICE_COMM_SELF:
        return self();
      case SLUICE_COMM_FORTRAN:
        return {word_of(of_fortran(static_cast<int>(any.handle)))};
      default:
        return {static_cast<std::uintptr_t>(any.handle)};
    }
  }
  int test_inter(Comm comm, bool& is_inter) override {
    int flag = 0;
    const int result = f.Comm_test_inter(native_of<MPI_Comm>(comm), &flag);
    is_inter = flag != 0;
    return result;
  }
  int rank(Comm comm) override {
    int rank = 0;
    f.Comm_rank(native_of<MPI_Comm>(comm), &rank);
    return rank;
  }
  int size(Comm comm) override {
    int size = 1;
    f.Comm_size(native_of<MPI_Comm>(comm), &size);
    return size;
  }
  int tag_limit() override {
    void* value = nullptr;
    int found = 0;
    f.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
    return found != 0 ? *static_cast<int*>(value) : 32767;  // the minimum that MPI guarantees
  }
  void return_errors(Comm comm) override {
    f.Comm_set_errhandler(native_of<MPI_Comm>(comm), MPI_ERRORS_RETURN);
  }
  int duplicate(Comm comm, Comm& made) override {
    return f.Comm_dup(native_of<MPI_Comm>(comm), place_of<MPI_Comm>(made));
  }
  int start_duplicate(Comm comm, Comm& made, Request& request) override {
    return f.Comm_idup(native_of<MPI_Comm>(comm), place_of<MPI_Comm>(made),
                       place_of<MPI_Request>(request));
  }
  int split(Comm comm, int color, int key, Comm& made) override {
    return f.Comm_split(native_of<MPI_Comm>(comm), color < 0 ? MPI_UNDEFINED : color, key,
                        place_of<MPI_Comm>(made));
  }
  int node_leader(Comm comm, int& leader) override {
    const auto all = native_of<MPI_Comm>(comm);
    MPI_Comm node = MPI_COMM_NULL;
    int result = f.Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank(comm), MPI_INFO_NULL, &node);
    if (result != MPI_SUCCESS) {
      return result;
    }
    MPI_Group on_node = MPI_GROUP_NULL;
    MPI_Group of_all = MPI_GROUP_NULL;
    const int first = 0;
    result = f.Comm_group(node, &on_node);
    result = result != MPI_SUCCESS ? result : f.Comm_group(all, &of_all);
    if (result == MPI_SUCCESS) {
      result = f.Group_translate_ranks(on_node, 1, &first, of_all, &leader);
      f.Group_free(&of_all);
      f.Group_free(&on_node);
    }
    f.Comm_free(&node);
    return result;
  }
  int free(Comm& comm) override { return f.Comm_free(place_of<MPI_Comm>(comm)); }
  int all_max(std::span<const int> mine, std::span<int> all, Comm comm) override {
    return f.Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_INT, MPI_MAX,
                       native_of<MPI_Comm>(comm));
  }
  int start_all_max(std::span<const int> mine, std::span<int> all, Comm comm,
                    Request& request) override {
    return f.Iallreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_INT, MPI_MAX,
                        native_of<MPI_Comm>(comm), place_of<MPI_Request>(request));
  }
};

}  // namespace

/// See mpi::Bind.
Library bind(void* (*find)(const char* name, void* context), void* context, std::string& missing) {
  Functions found;
  bool is_whole = true;
  const auto look = [&](const char* name) {
    void* const symbol = find(name, context);
    if (symbol == nullptr && is_whole) {
      missing = name;
      is_whole = false;
    }
    return symbol;
  };
#define SLUICE_MPI_FIELD(name) \
  found.name = reinterpret_cast<decltype(found.name)>(look("MPI_" #name));
  SLUICE_MPI_FUNCTIONS(SLUICE_MPI_FIELD)
  SLUICE_MPI_MORE(SLUICE_MPI_FIELD)
#undef SLUICE_MPI_FIELD
#ifdef OPEN_MPI
  Objects objects_found;
#define SLUICE_MPI_FIELD(name) objects_found.name = static_cast<char*>(look("ompi_" #name));
  SLUICE_MPI_OBJECTS(SLUICE_MPI_FIELD)
#undef SLUICE_MPI_FIELD
#endif
  if (!is_whole) {
    return {};
  }
  f = found;
#ifdef OPEN_MPI
  objects = objects_found;
#endif
  static BoundComms comms;
  return {&comms, &messages(), &files()};
}

}  // namespace sluice::mpi::SLUICE_MPI_PART

#include "mpiio/type_contents.hpp"

#include <cstddef>

#include "mpiio/errors.hpp"

namespace sluice::mpiio {

bool is_named(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

#if MPI_VERSION >= 4
namespace {

bool has_large_counts() {
  return mpi.Type_get_envelope_c != nullptr && mpi.Type_get_contents_c != nullptr;
}

/// The number of large counts before the displacements in bytes.
std::size_t leading_counts(int combiner, const std::vector<MPI_Count>& counts) {
  switch (combiner) {
    case MPI_COMBINER_HVECTOR:
      return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
      return 1 + static_cast<std::size_t>(counts[0]);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return 2;
    case MPI_COMBINER_RESIZED:
      return 0;
    default:
      return counts.size();
  }
}

Contents large_contents_of(MPI_Datatype type) {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count counts = 0;
  MPI_Count types = 0;
  Contents contents;
  check(mpi.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &contents.combiner),
        "querying a datatype");
  if (is_named(contents.combiner)) {
    return contents;
  }
  std::vector<int> i(static_cast<std::size_t>(integers));
  std::vector<MPI_Aint> a(static_cast<std::size_t>(addresses));
  std::vector<MPI_Count> c(static_cast<std::size_t>(counts));
  contents.types.resize(static_cast<std::size_t>(types));
  check(mpi.Type_get_contents_c(type, integers, addresses, counts, types, i.data(), a.data(),
                                c.data(), contents.types.data()),
        "decoding a datatype");
  contents.numbers.assign(i.begin(), i.end());
  contents.displacements.assign(a.begin(), a.end());
  if (counts > 0) {
    // Made with large counts. Of arrays the integers frame the counts: ndims, [...], order.
    const auto split =
        c.begin() + static_cast<std::ptrdiff_t>(leading_counts(contents.combiner, c));
    const auto order_at = contents.combiner == MPI_COMBINER_SUBARRAY ? 1
                          : contents.combiner == MPI_COMBINER_DARRAY ? 3
                                                                     : 0;
    contents.numbers.insert(contents.numbers.begin() + order_at, c.begin(), split);
    contents.displacements.assign(split, c.end());
  }
  return contents;
}

}  // namespace
#endif

Contents contents_of(MPI_Datatype type) {
#if MPI_VERSION >= 4
  if (has_large_counts()) {
    return large_contents_of(type);
  }
#endif
  int integers = 0;
  int addresses = 0;
  int types = 0;
  Contents contents;
  check(mpi.Type_get_envelope(type, &integers, &addresses, &types, &contents.combiner),
        "querying a datatype");
  if (is_named(contents.combiner)) {
    return contents;
  }
  std::vector<int> i(static_cast<std::size_t>(integers));
  std::vector<MPI_Aint> a(static_cast<std::size_t>(addresses));
  contents.types.resize(static_cast<std::size_t>(types));
  check(mpi.Type_get_contents(type, integers, addresses, types, i.data(), a.data(),
                              contents.types.data()),
        "decoding a datatype");
  contents.numbers.assign(i.begin(), i.end());
  contents.displacements.assign(a.begin(), a.end());
  return contents;
}

int combiner_of(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  if (has_large_counts()) {
    MPI_Count ignored[4] = {};
    check(mpi.Type_get_envelope_c(type, &ignored[0], &ignored[1], &ignored[2], &ignored[3],
                                  &combiner),
          "querying a datatype");
    return combiner;
  }
#endif
  int ignored[3] = {};
  check(mpi.Type_get_envelope(type, &ignored[0], &ignored[1], &ignored[2], &combiner),
        "querying a datatype");
  return combiner;
}

}  // namespace sluice::mpiio

// MPI's datatypes, decoded to runs of bytes.
//
// Invariants: the result of decoding is kept on the datatype itself, in an attribute that MPI
// deletes with it (a freed handle may be reused for another type). A type that is held here is a
// duplicate, because programs free theirs.
#pragma once

#include <memory>

#include "mpiio/mpi.hpp"
#include "mpiio/runs.hpp"

namespace sluice::mpiio {

/// The layout of a datatype in memory, or in a file of the representation "native".
std::shared_ptr<const Flat> flat_of(MPI_Datatype type);
/// The same in a file of the representation "external32".
std::shared_ptr<const Flat> external_flat_of(MPI_Datatype type);

/// The size of a predefined type without holes; 0 for any other. Decodes nothing.
std::int64_t plain_bytes(MPI_Datatype type);

/// A datatype that is kept: a duplicate if it is derived.
class KeptType {
 public:
  KeptType() = default;
  explicit KeptType(MPI_Datatype type);
  KeptType(KeptType&& other) noexcept;
  KeptType& operator=(KeptType&& other) noexcept;
  ~KeptType();
  MPI_Datatype get() const { return type_; }
  /// Another duplicate, or the predefined type; owned by the caller.
  MPI_Datatype duplicate() const;

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool is_derived_ = false;
};

bool is_predefined(MPI_Datatype type);

}  // namespace sluice::mpiio

// MPI's datatypes, decoded to runs of bytes.
//
// Invariants: what was decoded is kept at the datatype itself, by an attribute that MPI deletes
// with it (a handle comes back for another type when one was freed). A type that is held here is a
// duplicate, for programs free theirs.
#pragma once

#include <memory>

#include "mpiio/mpi.hpp"
#include "mpiio/runs.hpp"

namespace sluice::mpiio {

/// How a datatype lies in memory, or in a file of the representation "native".
std::shared_ptr<const Flat> flat_of(MPI_Datatype type);
/// The same in a file of the representation "external32".
std::shared_ptr<const Flat> external_flat_of(MPI_Datatype type);

/// Of a predefined type without holes, its bytes; 0 of any other. Decodes nothing.
std::int64_t plain_bytes(MPI_Datatype type);

/// A datatype that is kept: a duplicate where it is derived.
class KeptType {
 public:
  KeptType() = default;
  explicit KeptType(MPI_Datatype type);
  KeptType(KeptType&& other) noexcept;
  KeptType& operator=(KeptType&& other) noexcept;
  ~KeptType();
  MPI_Datatype get() const { return type_; }
  /// Another duplicate, or the predefined type: the caller's.
  MPI_Datatype duplicate() const;

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool is_derived_ = false;
};

bool is_predefined(MPI_Datatype type);

}  // namespace sluice::mpiio

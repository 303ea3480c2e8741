// The content of an .npy file: one array. numpy stores no names, so it is named after its file, and
// is found by every name.
#pragma once

#include <memory>
#include <optional>

#include "layout/catalog.hpp"
#include "layout/npy/fortran_reader.hpp"
#include "layout/npy/header.hpp"

namespace sluice::layout::npy {

class NpyCatalog final : public Catalog {
 public:
  /// Reads the header of `file`, which must outlive the catalog.
  static std::unique_ptr<NpyCatalog> open(storage::File& file);

  const char* format() const override { return "npy"; }
  std::string title() const override { return "npy (NumPy)"; }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out) override;

 private:
  NpyCatalog(storage::File& file, const Header& header);

  storage::File& file_;
  Header header_;
  std::optional<FortranReader> fortran_;  ///< once it has read
};

}  // namespace sluice::layout::npy

// Elements of a file as the source of a block of another one.
#pragma once

#include "commit/read/input.hpp"
#include "model/block.hpp"

namespace sluice::commit {

/// What is read while it is written, by this rank for itself.
class FileSource final : public model::BlockSource {
 public:
  FileSource(Input& input, std::uint32_t variable, std::uint64_t step)
      : input_(input), variable_(variable), step_(step) {}
  void read(const model::Box& part, std::span<std::byte> out) const override {
    const model::Definition& d = input_.variables()[variable_].definition;
    input_.get(dense_request(variable_, step_, part, out.data(), d.type));
  }

 private:
  Input& input_;
  std::uint32_t variable_;
  std::uint64_t step_;
};

}  // namespace sluice::commit

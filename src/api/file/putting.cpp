#include "api/file/putting.hpp"

namespace sluice::detail {

using model::Dims;

commit::Output& output_of(FileImpl& file, Variable variable, const char* call) {
  commit::Output& output = file.output();
  if (!file.owns(variable)) {
    output.refuse(file.foreign(variable, call));
  }
  return output;
}

namespace {

template <class Work>
void refusing(commit::Output& output, Work&& work) {
  try {
    work();
  } catch (const Error& e) {
    output.refuse(e);
  }
}

/// Those that are not are refused by the output.
bool is_defined(const commit::Output& output, Variable variable) {
  return variable.index() < output.definitions().size();
}

std::string what_of(const commit::Output& output, Variable variable, const char* call) {
  return std::string(call) + " " + output.definitions()[variable.index()].name;
}

}  // namespace

void put_block(FileImpl& file, Variable variable, const Given& given, const Selection& selection) {
  commit::Output& output = output_of(file, variable, "put");
  const bool is_plain = selection.memory_shape.empty() && selection.memory_start.empty() &&
                        !selection.count.empty() &&
                        selection.start.size() == selection.count.size();
  bool fits = !given.size;
  if (is_plain && given.size) {
    refusing(output, [&] { fits = *given.size == dims_of(selection.count).volume(); });
  }
  if (is_plain && fits &&
      output.put_next(variable.index(), given.type, selection.allow_overflow, given.data,
                      static_cast<int>(selection.count.size()), selection.start.data(),
                      selection.count.data())) {
    return;
  }
  model::Block block;
  block.variable = variable.index();
  block.allow_overflow = selection.allow_overflow;
  refusing(output, [&] {
    if (is_defined(output, variable)) {
      block.box = box_of(selection, output.description().shape_of(variable.index()), given.size);
      require_size(what_of(output, variable, "put"), selection, block.box.count, given.size);
    }
    block.memory = memory_of<model::ConstMemory>(static_cast<const std::byte*>(given.data),
                                                 given.type, selection, block.box);
  });
  output.put(block);
}

void put_single(FileImpl& file, Variable variable, const void* value, const Type& type,
                std::span<const std::uint64_t> at) {
  commit::Output& output = output_of(file, variable, "put_value");
  const int rank = static_cast<int>(at.size());
  if (output.put_next(variable.index(), type, false, value, rank, at.data(), nullptr)) {
    return;
  }
  model::Block block;
  block.variable = variable.index();
  refusing(output, [&] { block.box = {Dims(at), Dims::filled(rank, 1)}; });
  block.memory = {static_cast<const std::byte*>(value), type, block.box.count,
                  Dims::filled(rank, 0)};
  output.put(block, true);
}

void put_row_list(FileImpl& file, Variable variable, std::span<const std::uint64_t> ids,
                  const Given& given) {
  commit::Output& output = output_of(file, variable, "put_rows");
  if (given.size && is_defined(output, variable)) {
    refusing(output, [&] {
      require_row_size(what_of(output, variable, "put_rows"), ids.size(),
                       output.definitions()[variable.index()].shape, given.size);
    });
  }
  output.put_rows({variable.index(), ids, static_cast<const std::byte*>(given.data), given.type});
}

void put_joined_rows(FileImpl& file, Variable variable, const Given& given) {
  commit::Output& output = output_of(file, variable, "put_joined");
  std::uint64_t rows = 0;
  if (is_defined(output, variable)) {
    refusing(output, [&] {
      rows = rows_in(what_of(output, variable, "put_joined"),
                     output.definitions()[variable.index()].shape, given.size.value_or(0));
    });
  }
  output.put_joined(
      {variable.index(), static_cast<const std::byte*>(given.data), rows, given.type});
}

}  // namespace sluice::detail

#include "exec/write/emitter.hpp"
#include "exec/write/flows.hpp"

namespace sluice::exec {

std::uint64_t write_direct(const plan::Plan& plan, const Work& work, Buffers& buffers) {
  FileSink file(*work.file, buffers.writer);
  Emitter emitter(work, buffers);
  for (const plan::Transfer& transfer : plan.transfers) {
    emitter.emit(transfer, file);
  }
  emitter.emit_records(file);
  file.finish();
  return file.bytes_written();
}

}  // namespace sluice::exec

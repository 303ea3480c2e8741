#include <exception>
#include <optional>

#include "exec/write/emitter.hpp"
#include "exec/write/flows.hpp"

namespace sluice::exec {

std::uint64_t write_funnel(Transport& transport, const plan::Plan& plan, const Work& work,
                           Buffers& buffers) {
  std::exception_ptr failure;
  std::optional<FileSink> file;
  if (work.file != nullptr) {
    file.emplace(*work.file, buffers.writer);
  }
  Emitter emitter(work, buffers);
  for (const plan::Transfer& transfer : plan.transfers) {
    std::optional<RemoteSink> remote;
    if (transfer.writer != transport.rank()) {
      remote.emplace(transport, transfer.writer);
    }
    Sink& sink = remote ? static_cast<Sink&>(*remote) : *file;
    try {
      emitter.emit(transfer, sink);
      if (&transfer == &plan.transfers.back()) {
        emitter.emit_records(sink);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    if (remote) {
      remote->finish();  // also after a failure: the writer waits for the last message
    }
  }
  try {
    take_in_turn(transport, plan.senders, [&](std::uint64_t offset, auto bytes) {
      if (!failure) {
        file->write(offset, bytes);
      }
    });
    if (file && !failure) {
      file->finish();
    }
  } catch (...) {
    failure = failure ? failure : std::current_exception();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  return file ? file->bytes_written() : 0;
}

}  // namespace sluice::exec

// One outcome for all ranks: an error that any rank met is thrown on each of them.
#pragma once

#include <exception>

#include "exec/agree.hpp"
#include "exec/transport.hpp"

namespace sluice::dialect::vampire {

/// Runs `body` (which must not communicate), then agrees: where it threw on any rank, every rank
/// throws the error of the lowest such rank. Collective.
template <class Body>
void agree(exec::Transport& transport, Body&& body) {
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(transport, failure);
}

}  // namespace sluice::dialect::vampire

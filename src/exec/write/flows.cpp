#include "exec/write/flows.hpp"

#include "sluice/error.hpp"

namespace sluice::exec {

std::uint64_t carry_out(Transport& transport, const plan::Plan& plan, const Work& work,
                        Buffers& buffers) {
  switch (plan.flow) {
    case plan::Flow::direct:
      return write_direct(plan, work, buffers);
    case plan::Flow::funnel:
      return write_funnel(transport, plan, work, buffers);
    case plan::Flow::two_phase:
      return write_two_phase(transport, plan, work, buffers);
    case plan::Flow::async_two_phase:
      return buffers.ring ? write_async_two_phase(plan, work, buffers)
                          : write_two_phase(transport, plan, work, buffers);
  }
  throw Error(Code::internal, "a plan without a flow");
}

}  // namespace sluice::exec

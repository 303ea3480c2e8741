// The agreement before a read: that all ranks request the same, and its hull.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "commit/read/destination.hpp"
#include "commit/read/file_view.hpp"
#include "exec/transport/transport.hpp"

namespace sluice::commit {

/// Local. Throws what is wrong with a request.
void check_request(const FileView& view, const GetRequest& request);

/// Collective. The hull of all ranks' boxes of each request; empty if no rank requests anything.
/// `failure`: an error of this rank, which every rank then throws. Error divergent if ranks request
/// different variables or steps.
std::vector<std::optional<model::Box>> common_regions(exec::Transport& transport,
                                                      const FileView& view,
                                                      std::span<const GetRequest> requests,
                                                      const std::exception_ptr& failure);

/// Collective. Checks that all ranks have as many requests; as above.
void agree_on_count(exec::Transport& transport, const FileView& view, std::size_t requests,
                    const std::exception_ptr& failure);

}  // namespace sluice::commit

// What ranks agree on before they read: that they ask for the same, and where.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "commit/read/destination.hpp"
#include "commit/read/file_view.hpp"
#include "exec/transport/transport.hpp"

namespace sluice::commit {

/// Local. What is wrong with a request is thrown.
void check_request(const FileView& view, const GetRequest& request);

/// Collective. The hull of all ranks' boxes of each request; nothing where nobody wants anything.
/// `failure`: what this rank found wrong, which every rank then throws. Error divergent where ranks
/// ask for different variables or steps.
std::vector<std::optional<model::Box>> common_regions(exec::Transport& transport,
                                                      const FileView& view,
                                                      std::span<const GetRequest> requests,
                                                      const std::exception_ptr& failure);

/// Collective. That all ranks have as many requests; as above.
void agree_on_count(exec::Transport& transport, const FileView& view, std::size_t requests,
                    const std::exception_ptr& failure);

}  // namespace sluice::commit

// The scheduler for C with the adaptive policy, whose linear programs a function of the caller's
// solves.
#include <tuple>

#include "malleable/embed/cluster.hpp"
#include "malleable/policy/cluster_adaptive.hpp"

namespace malleable::embed {
namespace {

ClassMatcher matcher_of(malleable_matcher solve, void* context) {
  if (solve == nullptr) throw_null("matcher");
  return [solve, context](std::span<const double> arrival, std::span<const double> execution,
                          std::span<const double> nodes) {
    std::vector<double> shares(execution.size());
    const int status = solve(context, static_cast<std::int64_t>(arrival.size()),
                             static_cast<std::int64_t>(nodes.size()), arrival.data(),
                             execution.data(), nodes.data(), shares.data());
    if (status == 0) return shares;
    throw std::runtime_error("matcher: status " + std::to_string(status));
  };
}

AdaptiveOptions options_of(const malleable_adaptive_options& given) {
  AdaptiveOptions options;
  options.by_slots = given.by_slots != 0.0;
  options.fallback = given.fallback != 0.0;
  const std::tuple<const char*, double, double&> amounts[] = {
      {"guard", given.guard, options.guard},
      {"threshold", given.threshold, options.threshold},
      {"memory", given.memory, options.memory},
      {"max_wait", given.max_wait, options.max_wait},
      {"patience", given.patience, options.patience}};
  for (const auto& [name, value, own] : amounts) {
    if (!(value >= 0.0)) {
      throw std::invalid_argument(std::string(name) + " = " + std::to_string(value) +
                                  ": must be at least 0");
    }
    own = value;
  }
  return options;
}

}  // namespace
}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_scheduler_new_adaptive(const malleable_cluster* cluster,
                                     const malleable_adaptive_options* adaptive,
                                     malleable_matcher matcher, void* context, const char* options,
                                     malleable_scheduler** made) {
  return make(made, [&] {
    ClusterNodes nodes = nodes_of(needed("cluster", cluster));
    const auto people =
        people_of<Scheduler::Person>(cluster->users, cluster->user_minimum, cluster->user_priority);
    const AdaptiveOptions how = adaptive == nullptr ? AdaptiveOptions{} : options_of(*adaptive);
    const bool grouped = adaptive == nullptr || adaptive->grouped != 0.0;
    auto policy =
        std::make_unique<ClusterAdaptive>(how, matcher_of(matcher, context), grouped, false);
    return std::make_unique<Owned<malleable_scheduler>>(std::move(policy), std::move(nodes), people,
                                                        embed::options_of(options));
  });
}

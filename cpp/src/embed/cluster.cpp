#include "malleable/embed/cluster.hpp"

#include <string>

namespace malleable::embed {

// Nodes of the C structure, with defaults for columns that are null.
ClusterNodes nodes_of(const malleable_cluster& given) {
  const std::size_t n = length("nodes", given.nodes);
  const auto filled = [n](const auto* column, auto value) {
    std::vector<decltype(value)> own(n, value);
    if (column != nullptr) own.assign(column, column + n);
    return own;
  };
  needed("map_slots", given.map_slots, n);
  ClusterNodes nodes;
  nodes.slots[0] = filled(given.map_slots, std::int64_t{0});
  nodes.slots[1] = filled(given.reduce_slots, std::int64_t{0});
  nodes.type = filled(given.type, std::int64_t{0});
  nodes.rate = filled(given.rate, 1.0);
  nodes.storage = filled(given.storage, kInfinity);
  nodes.link = filled(given.link, kInfinity);
  if (given.partitions != nullptr) nodes.partitions = filled(given.partitions, std::uint64_t{0});
  if (given.memory != nullptr) nodes.memory = filled(given.memory, kInfinity);
  if (given.gpus != nullptr) nodes.gpus = filled(given.gpus, 0.0);
  nodes.generic = given.generic != 0;
  validate(nodes.view());
  return nodes;
}

SchedulerOptions options_of(const char* given) {
  SchedulerOptions options;
  options.learn = true;
  options.take_back = false;  // until the caller says that it can end tasks
  if (given != nullptr) read_options(given, options);
  return options;
}

}  // namespace malleable::embed

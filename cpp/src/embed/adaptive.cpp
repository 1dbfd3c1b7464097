// The adaptive scheduler's epochs for C.
#include <map>
#include <tuple>

#include "malleable/embed/cluster.hpp"

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

AdaptiveOptions options_of(const malleable_adaptive_options* given) {
  AdaptiveOptions options;
  if (given == nullptr) return options;
  options.by_slots = given->by_slots != 0.0;
  options.fallback = given->fallback != 0.0;
  options.guard = given->guard;
  options.threshold = given->threshold;
  options.memory = given->memory;
  options.max_wait = given->max_wait;
  options.patience = given->patience;
  const std::pair<const char*, double> amounts[] = {{"guard", options.guard},
                                                    {"threshold", options.threshold},
                                                    {"memory", options.memory},
                                                    {"max_wait", options.max_wait},
                                                    {"patience", options.patience}};
  for (const auto& [name, value] : amounts) {
    if (!(value >= 0.0)) {
      throw std::invalid_argument(std::string(name) + " = " + std::to_string(value) +
                                  ": must be at least 0");
    }
  }
  return options;
}

// Nodes that are alike, in the order of their first.
struct Alike {
  std::vector<AdaptiveResource> resources;
  std::vector<Index> member;

  explicit Alike(const ClusterNodes& nodes) {
    std::map<std::tuple<std::int64_t, std::int64_t, double, double, double>, Index> known;
    for (std::size_t n = 0; n < nodes.rate.size(); ++n) {
      const auto [found, is_new] = known.try_emplace(
          {nodes.slots[0][n], nodes.slots[1][n], nodes.rate[n], nodes.storage[n], nodes.link[n]},
          static_cast<Index>(resources.size()));
      if (is_new) {
        resources.push_back(
            {0, {nodes.slots[0][n], nodes.slots[1][n]}, nodes.rate[n], nodes.storage[n]});
      }
      ++resources[found->second].nodes;
      member.push_back(found->second);
    }
  }
};

}  // namespace

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
  nodes.rack = filled(given.rack, std::int64_t{0});
  nodes.rate = filled(given.rate, 1.0);
  nodes.storage = filled(given.storage, kInfinity);
  nodes.link = filled(given.link, kInfinity);
  nodes.generic = given.generic != 0;
  validate(nodes.view());
  return nodes;
}

}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_adaptive_epoch_new(const malleable_cluster* cluster,
                                 const malleable_adaptive_options* options,
                                 malleable_matcher matcher, void* context,
                                 malleable_adaptive_epoch** made) {
  return make(made, [&] {
    const ClusterNodes nodes = nodes_of(needed("cluster", cluster));
    Alike alike(nodes);
    std::vector<double> minimum, priority;
    for (const auto& user : people_of<AdaptiveEpoch::Person>(cluster->users, cluster->user_minimum,
                                                             cluster->user_priority)) {
      minimum.push_back(user.minimum);
      priority.push_back(user.priority);
    }
    return std::make_unique<Owned<malleable_adaptive_epoch>>(
        Adaptive(std::move(alike.resources), std::move(alike.member), nodes.generic, minimum,
                 priority, options_of(options), matcher_of(matcher, context)),
        nodes.rate.size(), nodes.generic);
  });
}

void malleable_adaptive_epoch_free(malleable_adaptive_epoch* epoch) { release(epoch); }

int malleable_adaptive_epoch_add(malleable_adaptive_epoch* epoch,
                                 const malleable_cluster_jobs* jobs, int64_t* ids) {
  return with(epoch, [&](AdaptiveEpoch& of) {
    const malleable_cluster_jobs& table = needed("jobs", jobs);
    const std::size_t n = length("count", table.count);
    Defaults& spare = epoch->defaults;
    const auto people = people_of<AdaptiveEpoch::Person>(table.new_users, table.new_user_minimum,
                                                         table.new_user_priority);
    AdaptiveEpoch::Additions added;
    added.new_users = people;
    added.new_classes = length("new_classes", table.new_classes);
    added.job_class = column_or(table.program, n, std::int64_t{0}, spare.none);
    added.user = column_or(table.user, n, std::int64_t{0}, spare.none);
    added.maps = needed("maps", table.maps, n);
    added.reduces = column_or(table.reduces, n, std::int64_t{0}, spare.none);
    added.arrival = column_or(table.arrival, n, of.now(), spare.one);
    added.map_seconds = column_or(table.map_seconds, n, 0.0, spare.zero);
    added.reduce_seconds = column_or(table.reduce_seconds, n, 0.0, spare.zero);
    added.block = column_or(table.block, n, 0.0, spare.zero);
    of.add(added, written("ids", ids, n));
  });
}

int malleable_adaptive_epoch_set_blocks(malleable_adaptive_epoch* epoch, int64_t id, int64_t maps,
                                        int64_t copies, const int64_t* nodes) {
  return with(epoch, [&](AdaptiveEpoch& of) {
    const std::size_t each = length("copies", copies);
    of.set_blocks(id, {each, needed("nodes", nodes, each * length("maps", maps))}, "nodes");
  });
}

int malleable_adaptive_epoch_update(malleable_adaptive_epoch* epoch, int64_t count,
                                    const int64_t* ids, const int64_t* maps, const int64_t* reduces,
                                    const double* map_seconds, const double* reduce_seconds) {
  return with(epoch, [&](AdaptiveEpoch& of) {
    const std::size_t n = length("count", count);
    of.update(needed("ids", ids, n), {column(maps, n), column(reduces, n), column(map_seconds, n),
                                      column(reduce_seconds, n)});
  });
}

int malleable_adaptive_epoch_ended(malleable_adaptive_epoch* epoch, int64_t count,
                                   const int64_t* ids, const int64_t* phase, const int64_t* node,
                                   const double* seconds, const int64_t* task, const double* end,
                                   const uint8_t* done) {
  return with(epoch, [&](AdaptiveEpoch& of) {
    const std::size_t n = length("count", count);
    Defaults& spare = epoch->defaults;
    of.ended({needed("ids", ids, n), needed("phase", phase, n), needed("node", node, n),
              column_or(task, n, std::int64_t{-1}, spare.none), needed("seconds", seconds, n),
              column(end, n), column_or(done, n, std::uint8_t{1}, spare.yes)});
  });
}

int malleable_adaptive_epoch_finish(malleable_adaptive_epoch* epoch, int64_t count,
                                    const int64_t* ids) {
  return malleable_adaptive_epoch_remove(epoch, count, ids);
}

int malleable_adaptive_epoch_remove(malleable_adaptive_epoch* epoch, int64_t count,
                                    const int64_t* ids) {
  return with(epoch,
              [&](AdaptiveEpoch& of) { of.remove(needed("ids", ids, length("count", count))); });
}

int malleable_adaptive_epoch_decide(malleable_adaptive_epoch* epoch, double now,
                                    const int64_t* free_map_slots, const int64_t* free_reduce_slots,
                                    int64_t* ids, int64_t* given, uint8_t* changed, uint8_t* bound,
                                    int64_t room, int64_t* rows, int64_t* starts) {
  using Row = AdaptiveEpoch::Row;
  return with(epoch, [&](AdaptiveEpoch& of) {
    check_room(room, of.size());
    const std::span<const std::int64_t> free[2] = {
        free_slots(free_map_slots, of.nodes(), epoch->defaults),
        free_slots(free_reduce_slots, of.nodes(), epoch->defaults)};
    const auto made = of.decide(now, free, epoch->starts);
    put_each(ids, made, [](const Row& row) { return row.id; });
    put_each(changed, made, [](const Row& row) { return row.changed; });
    put_pairs(
        given, made, [](const Row& row) { return row.slots[kMap]; },
        [](const Row& row) { return row.slots[kReduce]; });
    put_pairs(
        bound, made, [](const Row& row) { return row.bound[kMap]; },
        [](const Row& row) { return row.bound[kReduce]; });
    tell(rows, made.size());
    tell(starts, epoch->starts.size());
  });
}

int malleable_adaptive_epoch_starts(malleable_adaptive_epoch* epoch, int64_t* ids, int64_t* phase,
                                    int64_t* task, int64_t* node, int64_t room, int64_t* rows) {
  return with(epoch, [&](AdaptiveEpoch&) {
    const TaskStarts& starts = epoch->starts;
    tell(rows, starts.size());
    check_room(room, starts.size());
    put(ids, starts.job);
    put(phase, starts.phase);
    put(task, starts.task);
    put(node, starts.node);
  });
}

int malleable_adaptive_epoch_size(malleable_adaptive_epoch* epoch, int64_t* jobs) {
  return with(epoch, [&](AdaptiveEpoch& of) { tell(jobs, of.size()); });
}

#include "malleable/kernel/local_tasks.hpp"

#include <algorithm>
#include <numeric>

namespace malleable {

// Terms: a task is local to a node that has a copy (replica) of its block, the data that it reads.
void LocalTasks::reset(std::size_t count) {
  rows_.clear();
  rows_.resize(count);
}

void LocalTasks::add(Index job, std::size_t tasks, std::size_t copies,
                     std::span<const Index> node) {
  Row& row = rows_[job];
  row.taken.assign(tasks, 0);
  row.replica.assign(node.begin(), node.end());
  row.copies = copies;
  row.next = 0;
  // Tasks by node: a stable sort of all replicas.
  std::vector<Index> order(node.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return node[a] < node[b]; });
  row.node.clear();
  row.begin.clear();
  row.task.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (row.node.empty() || row.node.back() != node[order[k]]) {
      row.node.push_back(node[order[k]]);
      row.begin.push_back(static_cast<Index>(k));
    }
    row.task[k] = order[k] / static_cast<Index>(copies);
  }
  row.cursor = row.begin;
  row.begin.push_back(static_cast<Index>(order.size()));
}

void LocalTasks::remove(Index job) { rows_[job] = Row{}; }

// A task that has not been taken and has its block on the node; kNone if there is none.
Index LocalTasks::find(Index job, Index node) {
  Row& row = rows_[job];
  const auto place = std::lower_bound(row.node.begin(), row.node.end(), node);
  if (place == row.node.end() || *place != node) return kNone;
  const auto k = static_cast<std::size_t>(place - row.node.begin());
  while (row.cursor[k] < row.begin[k + 1] && row.taken[row.task[row.cursor[k]]]) ++row.cursor[k];
  return row.cursor[k] < row.begin[k + 1] ? row.task[row.cursor[k]] : kNone;
}

Index LocalTasks::first(Index job) {
  Row& row = rows_[job];
  while (row.next < row.taken.size() && row.taken[row.next]) ++row.next;
  return row.next < row.taken.size() ? row.next : kNone;
}

void LocalTasks::take(Index job, Index task) { rows_[job].taken[task] = 1; }

void LocalTasks::put_back(Index job, Index task) {
  Row& row = rows_[job];
  row.taken[task] = 0;
  row.next = std::min(row.next, task);
  for (const Index node : replicas(job, task)) {
    const auto k = static_cast<std::size_t>(
        std::lower_bound(row.node.begin(), row.node.end(), node) - row.node.begin());
    const auto first = row.task.begin() + row.begin[k], last = row.task.begin() + row.begin[k + 1];
    const auto place = static_cast<Index>(std::lower_bound(first, last, task) - row.task.begin());
    row.cursor[k] = std::min(row.cursor[k], place);
  }
}

std::span<const Index> LocalTasks::replicas(Index job, Index task) const {
  const Row& row = rows_[job];
  return {row.replica.data() + static_cast<std::size_t>(task) * row.copies, row.copies};
}

bool LocalTasks::on_node(Index job, Index task, Index node) const {
  const auto places = replicas(job, task);
  return std::find(places.begin(), places.end(), node) != places.end();
}

}  // namespace malleable

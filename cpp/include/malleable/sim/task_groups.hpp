// Groups of running tasks: tasks of one phase that start together and end together on nodes of one
// type are one group with one end.
//
// Memory of groups and tasks is used again. O(1) to add or free one.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

struct TaskGroup {
  double start = 0.0;
  double seconds = 0.0;  // on the node, with copying, without waiting for maps
  double copying = 0.0;  // copying, part of `seconds`
  double restart = 0.0;  // before `seconds`, because its slots worked for another job
  double began = 0.0;    // start of the work, after waiting for maps
  double finish = 0.0;   // (virtual) end; meaningless while parked
  Index phase = 0;       // 2 * job + phase
  Index type = 0;        // type of its nodes
  Index first = kNone;   // first of its tasks
  Index count = 0;
  bool fails = false;
  bool parked = false;  // reduce tasks that wait for maps
  bool reads = false;   // a map task that still reads its block
  // With backup tasks, each group is one attempt. twin: the other attempt of its task; beside: it
  // holds a slot in addition to the scheduler's running tasks; then its number, from 1.
  Index twin = kNone;
  bool beside = false;
  Index attempt = 0;
};

class TaskGroups {
 public:
  struct Task {
    Index next;
    Index node;
    Index task;
  };

  // `types`: number of types of nodes.
  TaskGroups(std::size_t jobs, std::size_t types) : types_(types) {
    last_.assign(2 * jobs * types, kNone);
  }

  TaskGroup& operator[](Index group) { return groups_[group]; }
  const TaskGroup& operator[](Index group) const { return groups_[group]; }
  const Task& task(Index which) const { return tasks_[which]; }
  Index size() const { return static_cast<Index>(groups_.size()); }
  // The last group of a phase and a type of nodes.
  Index& last(Index phase, Index type) { return last_[phase * types_ + type]; }

  Index make() {
    if (!free_groups_.empty()) {
      const Index group = free_groups_.back();
      free_groups_.pop_back();
      return group;
    }
    groups_.emplace_back();
    return static_cast<Index>(groups_.size() - 1);
  }
  // Frees a group without tasks.
  void release(Index group) {
    groups_[group].count = 0;
    groups_[group].first = kNone;
    free_groups_.push_back(group);
  }

  void add(Index group, Index node, Index task) {
    TaskGroup& g = groups_[group];
    Index place = free_task_;
    if (place == kNone) {
      place = static_cast<Index>(tasks_.size());
      tasks_.emplace_back();
    } else {
      free_task_ = tasks_[place].next;
    }
    tasks_[place] = {g.first, node, task};
    g.first = place;
    ++g.count;
  }
  // Removes the group's first task and returns it.
  Task take(Index group) {
    TaskGroup& g = groups_[group];
    const Task task = unlink(g.first);
    --g.count;
    return task;
  }
  // Removes all tasks on a node, calling visit() for each; returns how many.
  template <typename Visit>
  Index take_from(Index group, Index node, const Visit& visit) {
    TaskGroup& g = groups_[group];
    const Index before = g.count;
    for (Index* link = &g.first; *link != kNone;) {
      if (tasks_[*link].node != node) {
        link = &tasks_[*link].next;
        continue;
      }
      visit(unlink(*link));
      --g.count;
    }
    return before - g.count;
  }
  // Frees all tasks of a group; `last` is the last one.
  void clear(Index group, Index last) {
    tasks_[last].next = free_task_;
    free_task_ = groups_[group].first;
    release(group);
  }

 private:
  Task unlink(Index& link) {
    const Index place = link;
    const Task task = tasks_[place];
    link = task.next;
    tasks_[place].next = free_task_;
    free_task_ = place;
    return task;
  }

  std::vector<TaskGroup> groups_;
  std::vector<Index> free_groups_;
  std::vector<Task> tasks_;
  Index free_task_ = kNone;
  std::vector<Index> last_;  // the group that began last, by phase and type of node
  std::size_t types_;
};

}  // namespace malleable

// The decision of a scheduler's loop over flows: slots now, from state that is kept (FlowFlex,
// section 5.2).
//
// A decision orders the flows (flow_order.hpp), then hands slots to the jobs that are ready, flow
// by flow, within a flow the longest path first, each up to its maximum: the present instant of
// FlowFlex's list. What the order looks at (a flow's work, its critical path, who is ready) is kept
// and worked out again for flows that changed alone. O(jobs) to hand out the decision, O(F log F)
// for its order, O(jobs + parents) of the flows that changed. FIFO and FAIR do the same by arrival
// and by waterline. With an effort a whole plan is made as well, and its order is one of those that
// are compared; the literal policy begins its plan.
//
// A decision may be held for a period (flow_epoch_period.cpp).
//
// Only finish() ends a job. Until then one whose work has run out holds a slot, capacity
// permitting, counts as ending now and holds its children back. Two phases of a job (`continues`)
// are one job with the work and the maxima of both once a share of the first is done. Kernels:
// waterline; policies: flow_order, flowflex.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/kernel/waterline.hpp"
#include "malleable/model/flow_table.hpp"
#include "malleable/policy/epoch/flow_shares.hpp"
#include "malleable/policy/flow_baseline.hpp"
#include "malleable/policy/flow_lists.hpp"
#include "malleable/policy/flow_order.hpp"
#include "malleable/policy/flowflex.hpp"
#include "malleable/policy/period_history.hpp"

namespace malleable {

class FlowEpoch {
 public:
  FlowEpoch(std::int64_t slots, double task_work, const FlowEpochOptions& options);

  // The caller's own penalty of (flow id, completion). It is not part of the state.
  void set_custom(CustomPenalty custom) { custom_ = custom; }

  struct Ids {
    std::int64_t first_flow, first_job;
  };
  // These throw std::invalid_argument before anything changes; what they take: FlowTable.
  Ids add(FlowTable::Additions&& added);
  void update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
              const FlowTable::Changes& changes);
  void finish(std::span<const std::int64_t> jobs);
  void remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows);
  void set_task_work(double task_work);
  // Of decisions that do not say theirs.
  void set_period(double period);

  // Rows: jobs that have not ended, by id. `changed` from the decision before, where new jobs had
  // none; `ended`: flows of which nothing is left since then.
  struct Decision {
    std::vector<std::int64_t> ids, slots, ended;
    std::vector<std::uint8_t> changed, ready;
    // With a period: ready jobs, first the one that should get a slot that becomes free before the
    // next call; and whether the jobs that keep coming need more whole slot-periods than there are.
    std::vector<std::int64_t> order;
    bool overloaded = false;
  };
  // `slots`, if given: from now on; 0 is one. `now` may not fall. `period`, if given: of this
  // decision.
  const Decision& decide(double now, std::optional<std::int64_t> slots = std::nullopt,
                         std::optional<double> period = std::nullopt);

  const Decision& decision() const { return decision_; }  // the last one

  // The whole schedule behind the last decision, and the flows as it sees them; nothing must have
  // changed since. There is none for 0 slots.
  struct Table {
    FlowColumns flows;
    std::vector<std::int64_t> id;   // of the flows
    std::vector<Kind> kind;         // of what they pay
    std::vector<std::string> name;  // of the jobs
    void penalties(CustomPenalty custom, Penalties& made) const;
  };
  void plan(Table& table, FlowPlan& plan, std::vector<double>& penalty);

  std::int64_t slots() const { return at_.slots; }
  double now() const { return at_.now; }
  std::size_t size() const { return at_.table.flows_there(); }
  std::size_t open_jobs() const { return at_.table.open_jobs(); }
  // Changes with every call that may change a decision, and with every decision.
  std::uint64_t version() const { return version_; }

  void state(State& s);

 private:
  bool plans() const;  // in every decision
  void study_flows(std::span<const std::size_t> rows, Table& columns) const;
  void order_flows();
  void relax_flows();
  void order_by_value();
  void append_idle();
  void order_as_planned();
  void drop_ended();
  void list_ready();
  void serve();
  void serve_fair();
  // With a period (flow_epoch_period.cpp).
  void count_held(double now);
  double count_periods(const FlowTable::Flow& flow);
  bool ends_now(const FlowTable::Flow& flow, const FlowStudy::View& view) const;
  void line_up();
  void value_ends();
  void hand_out_rest();
  void serve_period();
  void raise_fair();
  void tell_turn(std::size_t flow, std::size_t row);
  void report();
  void build_table(Table& table);
  void build_table(std::span<const std::size_t> rows, Table& table);
  void make_plan(const Table& table, bool keep_order, FlowPlan& plan);

  FlowScene at_;
  FlowStudy study_;
  FlowShares shares_;
  std::uint64_t version_ = 0;
  CustomPenalty custom_ = nullptr;
  std::vector<std::int64_t> order_;  // flow ids: of the last decision, then those that came
  std::optional<FlowPlan> planned_;  // in the last decision

  // Workspaces.
  // A ready job in a decision that is held: its row, its flow's place in the order, how many
  // periods it can wait before its flow ends later, and what it can use fully.
  struct Ready {
    std::size_t row, place;
    double slack, most;
  };
  PeriodHistory load_;
  std::vector<Ready> ready_line_;
  std::vector<double> periods_;  // per job row: from its start to the end of its flow
  std::vector<double> worth_;    // by place: of a second at which the flow ends earlier
  std::vector<double> value_;
  LeftOverSlots left_over_;
  Decision decision_;
  std::vector<std::size_t> ordered_;  // flow rows, by priority
  std::vector<double> poured_;        // the same of those that FAIR serves
  Table columns_;
  Problem relaxed_;
  Penalties penalties_;
  FlowOrder flow_order_;
  FlowFlex flowflex_;
  FlowProblem flow_problem_;
  FlowLists lists_;
  FlowPlan searched_;
  std::vector<std::vector<Index>> planned_orders_;
  KeySort sorter_;
  Waterline waterline_;
  std::vector<Index> sorted_, kept_, place_;
  std::vector<std::int64_t> place_in_flow_;
  std::vector<std::size_t> arrived_;
};

}  // namespace malleable

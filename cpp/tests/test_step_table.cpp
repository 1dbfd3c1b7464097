// SLA steps of jobs that come, change and leave.
#include "check.hpp"
#include "malleable/model/step_table.hpp"

namespace malleable::check {
namespace test_step_table {

using Reals = std::vector<double>;

// Against a list of steps for each row: they stay the same while others change and leave, and steps
// that no row has any more leave no room behind.
TEST(rows_keep_their_steps) {
  trials(1, 50, [](Random& random) {
    StepTable steps;
    std::vector<StepTable::Range> rows(20);
    std::vector<Reals> want(rows.size());
    for (int k = 0; k < 500; ++k) {
      const auto row = static_cast<std::size_t>(integer(random, 0, 19));
      want[row].assign(static_cast<std::size_t>(integer(random, 0, 90)), real(random, 0.0, 9.0));
      steps.replace(rows[row], {want[row], want[row]});
      steps.tidy([&](const auto& visit) {
        for (StepTable::Range& each : rows) visit(each);
      });
    }
    std::size_t held = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const auto [time, penalty] = steps.of(rows[j]);
      CHECK(Reals(time.begin(), time.end()) == want[j]);
      CHECK(Reals(penalty.begin(), penalty.end()) == want[j]);
      held += want[j].size();
    }
    CHECK(save_state("steps", steps).size() <= 16 * (2 * held + 1024) + 200);
  });
}

}  // namespace test_step_table
}  // namespace malleable::check

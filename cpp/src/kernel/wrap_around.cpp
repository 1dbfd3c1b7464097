#include "malleable/kernel/wrap_around.hpp"

#include <algorithm>

namespace malleable {
// Turns the pieces of pseudo-jobs (spans in which a flow holds so many slots, its height) into
// pieces of its jobs: in each span the jobs that run then are laid out one after another, in
// proportion to their maxima, and cut at the end of each row of one slot (McNaughton's rule).
namespace {

__extension__ using Wide = unsigned __int128;

// Whole slots that a job may have: of a job whose first slot does less than a slot does at best,
// `high` is below 1 if there is one slot only.
Wide most_slots(const FlowProblem& problem, Index job) {
  return static_cast<Wide>(std::max(1.0, problem.high[job]));
}

}  // namespace

void WrapAround::add_piece(Index job, double from, double to, double slots, Pieces& out) {
  if (slots == 0.0 || !(to > from)) return;
  const std::size_t last = last_[job];
  if (last > 0 && out.end[last - 1] == from &&
      out.slots[last - 1] == static_cast<std::int64_t>(slots)) {
    out.end[last - 1] = to;
    return;
  }
  out.add(job, from, to, slots);
  last_[job] = out.size();
}

void WrapAround::run(const FlowProblem& problem, const FlowChains& chains,
                     const ChainPieces& pieces, Pieces& out) {
  last_.assign(problem.jobs(), 0);
  const double now = problem.now;
  for (std::size_t p = 0; p < pieces.flow.size(); ++p) {
    const Index j = pieces.flow[p];
    entering_.clear();
    for (std::size_t i = problem.job_offset[j]; i < problem.job_offset[j + 1]; ++i) {
      if (chains.first[i] < chains.end[i]) entering_.push_back(static_cast<Index>(i));
    }
    std::stable_sort(entering_.begin(), entering_.end(),
                     [&](Index a, Index b) { return chains.first[a] < chains.first[b]; });
    running_.clear();
    std::size_t entered = 0, current = ~std::size_t{0};
    for (std::size_t q = pieces.offset[p]; q < pieces.offset[p + 1]; ++q) {
      const std::size_t k = pieces.pseudo_job[q];
      if (k != current) {
        current = k;
        std::erase_if(running_, [&](Index i) { return chains.end[i] <= k; });
        while (entered < entering_.size() && chains.first[entering_[entered]] <= k) {
          if (chains.end[entering_[entered]] > k) running_.push_back(entering_[entered]);
          ++entered;
        }
      }
      const double from = now + pieces.start[q], to = now + pieces.end[q], span = to - from;
      const auto held = static_cast<Wide>(pieces.height[q]);
      Wide all = 0, before = 0;  // exact integers; a sum of doubles may not be exact
      for (const Index i : running_) all += most_slots(problem, i);
      double row = 0.0, place = 0.0;  // where the next job begins
      for (const Index i : running_) {
        before += most_slots(problem, i);
        const Wide filled = held * before;
        const auto next_row = static_cast<double>(static_cast<std::uint64_t>(filled / all));
        const auto rest = static_cast<double>(static_cast<std::uint64_t>(filled % all));
        const double next_place = rest == 0.0 ? 0.0 : span * (rest / static_cast<double>(all));
        const double rows = next_row - row;
        const double left = std::min(place, next_place), right = std::max(place, next_place);
        const double middle = next_place > place ? rows + 1.0 : rows - 1.0;
        if (left == right) {
          add_piece(i, from, to, rows, out);
        } else {
          const double a = std::min(to, from + left), b = std::min(to, from + right);
          add_piece(i, from, a, rows, out);
          add_piece(i, a, b, middle, out);
          add_piece(i, b, to, rows, out);
        }
        row = next_row;
        place = next_place;
      }
    }
  }
}

}  // namespace malleable

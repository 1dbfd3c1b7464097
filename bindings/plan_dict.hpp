// A plan as a dictionary of NumPy arrays; vectors are moved, not copied.
#pragma once

#include <utility>

#include "arrays.hpp"
#include "malleable/model/plan.hpp"

namespace malleable::bindings {

inline const char* status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kMinimaScaled:
      return "minima_scaled";
    case Status::kTruncated:
      return "truncated";
    case Status::kUnmet:
      return "unmet";
    case Status::kInfeasible:
      return "infeasible";
  }
  return "ok";
}

inline py::dict pieces_dict(Pieces&& pieces) {
  py::dict result;
  result["job"] = to_numpy(std::move(pieces.job));
  result["start"] = to_numpy(std::move(pieces.start));
  result["end"] = to_numpy(std::move(pieces.end));
  result["slots"] = to_numpy(std::move(pieces.slots));
  if (!pieces.works.empty()) result["works_from"] = to_numpy(std::move(pieces.works));
  return result;
}

inline py::dict plan_dict(Plan&& plan) {
  py::dict result;
  result["status"] = status_name(plan.status);
  result["value"] = plan.value;
  result["lower_bound"] = plan.lower_bound;
  result["order"] = to_numpy(plan.order);
  result["start"] = to_numpy(std::move(plan.start));
  result["completion"] = to_numpy(std::move(plan.completion));
  result["allocation"] = to_numpy(std::move(plan.allocation));
  result["pieces"] = pieces_dict(std::move(plan.pieces));
  result["candidates"] = plan.candidates;
  return result;
}

}  // namespace malleable::bindings

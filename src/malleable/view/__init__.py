"""What people see of a result: explanations, tables, pictures, files.

`malleable.display` imports it for `explain`, `to_frame`, `plot` and `to_dict` of results.
"""

from typing import Any

from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.view.notebook import html
from malleable.view.plan_explain import explain_lines, periodic_lines
from malleable.view.plan_pictures import draw_flows, draw_packing
from malleable.view.plan_tables import plan_dict, plan_frame
from malleable.view.simulation_pictures import draw_grid, draw_response_cdf

__all__ = [
    "draw_grid",
    "draw_plan",
    "draw_response_cdf",
    "explain_lines",
    "html",
    "periodic_lines",
    "plan_dict",
    "plan_frame",
]  # fmt: skip


def draw_plan(plan: Plan | FlowPlan, *place: Any, **options: Any) -> Any:
    draw = draw_flows if isinstance(plan, FlowPlan) else draw_packing
    return draw(plan, *place, **options)

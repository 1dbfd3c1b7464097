"""Views of results: explanations, tables, pictures, files. Results import this package when `explain`,
`to_frame`, `plot` or `to_dict` is called (`malleable.display`)."""

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

"""Views of results: explanations, tables, pictures, files. Results import this package when `explain`,
`to_frame`, `plot` or `to_dict` is called (`malleable.display`)."""

# ruff: noqa: F401 (results ask for these functions by name)

from typing import Any

from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.view.notebook import html
from malleable.view.plan_explain import explain_lines, periodic_lines
from malleable.view.plan_pictures import draw_flows, draw_packing
from malleable.view.plan_tables import plan_dict, plan_frame
from malleable.view.simulation_pictures import draw_grid, draw_response_cdf


def draw_plan(plan: Plan | FlowPlan, *place: Any, **options: Any) -> Any:
    draw = draw_flows if isinstance(plan, FlowPlan) else draw_packing
    return draw(plan, *place, **options)

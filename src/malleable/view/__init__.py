"""What people see of a result: explanations, tables, pictures, files.

Importing it gives plans their `explain`, `to_frame`, `plot` and `to_dict`.
"""

from malleable import views
from malleable.view.cluster_grid import draw_grid
from malleable.view.cluster_plots import draw_load, draw_stretch_by_decade
from malleable.view.comparison import ComparisonRow, compare, comparison_table
from malleable.view.flow_picture import draw_flows
from malleable.view.flow_views import explain_flow_lines, flow_frame, flow_plan_dict
from malleable.view.notebook import html
from malleable.view.packing_picture import draw_packing, draw_packings
from malleable.view.plan_explain import explain_lines
from malleable.view.plan_views import plan_dict, plan_frame
from malleable.view.simulation_views import draw_response_cdf
from malleable.view.slotted_views import draw_ratio_over_time, draw_slowdown_by_work
from malleable.view.tandem_plots import draw_ratio_over_load, draw_slowdown

__all__ = [
    "ComparisonRow",
    "compare",
    "comparison_table",
    "draw_flows",
    "draw_grid",
    "draw_load",
    "draw_packing",
    "draw_packings",
    "draw_ratio_over_load",
    "draw_ratio_over_time",
    "draw_response_cdf",
    "draw_slowdown",
    "draw_slowdown_by_work",
    "draw_stretch_by_decade",
    "explain_flow_lines",
    "explain_lines",
    "flow_frame",
    "flow_plan_dict",
    "plan_dict",
    "plan_frame",
]

views.register("explain", explain_lines)
views.register("frame", plan_frame)
views.register("html", html)
views.register("gantt", draw_packing)
views.register("plan_dict", plan_dict)
views.register("explain_flows", explain_flow_lines)
views.register("flow_frame", flow_frame)
views.register("flow_gantt", draw_flows)
views.register("flow_plan_dict", flow_plan_dict)
views.register("simulation_cdf", draw_response_cdf)
views.register("simulation_slowdown", draw_slowdown)
views.register("simulation_load", draw_load)

// Sorting of tables and values at a chart's pointer. Without it everything can be read as it stands.
(() => {
  "use strict";
  const value = (cell) => {
    const raw = cell ? cell.dataset.value : undefined;
    if (raw === undefined) return cell ? cell.textContent.trim().toLowerCase() : "";
    return raw === "" || raw === "None" ? NaN : Number(raw);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") {
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return a - b;
    }
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.querySelectorAll("thead th[data-column]")];
    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      while (head.firstChild) button.append(head.firstChild);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
        const column = Number(head.dataset.column);
        const rows = [...body.rows].map((row, place) => [row, place, value(row.cells[column])]);
        const gone = (key) => typeof key === "number" && Number.isNaN(key);
        rows.sort(([, p, a], [, q, b]) => (gone(a) || gone(b) ? gone(a) - gone(b) : up * compare(a, b)) || p - q);
        body.append(...rows.map(([row]) => row));
      });
    }
  }
  const number = (own) => {
    if (own === null || own === undefined) return "–";
    const far = Math.abs(own) >= 99.95;
    return own.toLocaleString("en", { maximumFractionDigits: far ? 0 : Math.abs(own) >= 9.995 ? 1 : 2 });
  };
  const space = "http://www.w3.org/2000/svg";
  for (const chart of document.querySelectorAll("svg[data-hover]")) {
    const told = JSON.parse(chart.dataset.hover);
    const figure = chart.closest("figure");
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    figure.append(tip);
    const rule = document.createElementNS(space, "line");
    rule.setAttribute("class", "axis");
    rule.setAttribute("y1", told.top);
    rule.setAttribute("y2", told.bottom);
    rule.setAttribute("visibility", "hidden");
    chart.append(rule);
    const leave = () => {
      tip.hidden = true;
      rule.setAttribute("visibility", "hidden");
    };
    chart.addEventListener("pointerleave", leave);
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const scale = chart.viewBox.baseVal.width / box.width;
      const at = (event.clientX - box.left) * scale;
      if (at < told.left - 6 || at > told.right + 6) return leave();
      const wide = told.high - told.low || 1;
      const wanted = told.low + (wide * (at - told.left)) / (told.right - told.left);
      let place = 0;
      told.x.forEach((own, k) => {
        if (Math.abs(own - wanted) < Math.abs(told.x[place] - wanted)) place = k;
      });
      const line = told.left + ((told.right - told.left) * (told.x[place] - told.low)) / wide;
      rule.setAttribute("x1", line);
      rule.setAttribute("x2", line);
      rule.setAttribute("visibility", "visible");
      tip.replaceChildren();
      const head = document.createElement("div");
      head.textContent = `${told.unit}: ${number(told.x[place])}`;
      tip.append(head);
      for (const own of told.lines) {
        const row = document.createElement("div");
        const name = document.createElement("b");
        name.textContent = own.name;
        row.append(name, ` ${number(own.y[place])}`);
        tip.append(row);
      }
      tip.hidden = false;
      const whole = figure.getBoundingClientRect();
      const left = line / scale + box.left - whole.left;
      const over = left + tip.offsetWidth + 16 > whole.width;
      tip.style.left = `${Math.max(0, over ? left - tip.offsetWidth - 12 : left + 12)}px`;
      tip.style.top = `${Math.max(0, event.clientY - whole.top - tip.offsetHeight - 12)}px`;
    });
  }
})();

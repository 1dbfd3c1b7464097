// Sorting of tables. Without it everything can be read as it stands.
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
})();

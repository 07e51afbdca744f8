// Draws the differential flame graph, in a page of its own and in the dashboard. Stacks are arrays in preorder; a tree
// that is shown has the same form.

const MARKUP = `
<div class="bar" role="toolbar" aria-label="Flame graph">
  <span role="group" aria-label="Width" data-group="view">
    <button value="before">Before</button><button value="after">After</button><button value="difference">Difference</button>
  </span>
  <span role="group" aria-label="Direction" data-group="direction">
    <button value="callees">Callees</button><button value="callers">Callers</button>
  </span>
  <label>Search <input id="search" type="search" autocomplete="off" spellcheck="false"></label>
  <button id="reset">Whole program</button>
  <button id="svg">Save SVG</button>
</div>
<div id="legend"><span>less</span><i></i><span>more</span><small id="widths"></small></div>
<div id="graph" tabindex="0" role="application" aria-label="Flame graph. Arrow keys select, Enter zooms, Escape zooms out, F focuses the function, slash searches." aria-describedby="detail"><canvas></canvas></div>
<p id="detail" aria-live="polite"></p>
<p class="keys">Click or <kbd>Enter</kbd> zooms, <kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd> select, <kbd>Esc</kbd> zooms out, <kbd>F</kbd> shows all stacks of the function, <kbd>/</kbd> searches.</p>
<h2>Functions</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Functions"><table><thead><tr></tr></thead><tbody></tbody></table></div>
<p><button id="more">Show all</button></p>
`;

// Fill `root` with the flame graph of `data` and the table of its functions. Of the environment: `keys` gets the keys,
// `isDark` says whether the theme is, `read` and `write` keep what is shown in an address. Returns `update`, to be called
// when the theme or the address is another one.
export function flameGraph(root, data, { keys, isDark, read, write }) {
  root.innerHTML = MARKUP;
  const { functions, unit, divisor, whole } = data;
  const ROW = 20, SMALLEST = 0.5, FONT = "12px system-ui, sans-serif";
  const [NAME, PLACE, FORMER, OWN_BEFORE, OWN_AFTER, TOTAL_BEFORE, TOTAL_AFTER, EXPLAINED, LOW, HIGH, STATE, PARTNER] = Array(12).keys();
  const find = (selector) => root.querySelector(selector);
  const graph = find("#graph"), canvas = find("canvas"), detail = find("#detail"), search = find("#search");
  const state = { view: "difference", direction: "callees", function: -1, search: "", zoom: 0, selected: 0 };
  let tree, boxes = [], sort = { column: 4, up: false }, shown = 20;

  const number = (value) => {
    const scaled = Math.abs(value) < whole * 1e-7 ? 0 : value / divisor;
    const digits = Math.abs(scaled) >= 1000 ? scaled.toFixed(0) : scaled.toPrecision(3);
    return Number(digits).toLocaleString("en", { maximumSignificantDigits: 15 }).replace("-", "−");
  };
  const signed = (value) => (number(value) !== "0" && value > 0 ? "+" : "") + number(value);
  const amount = (value) => `${number(value)}\u00a0${unit}`;
  const percent = (before, after) => before ? `${after >= before ? "+" : "−"}${Math.abs(100 * (after / before - 1)).toFixed(1)}\u00a0%` : after ? "new" : "";

  // Trees: of the whole program, of all stacks of one function, and both from the inside out.

  const empty = () => ({ parents: [-1], functions: [-1], before: [0], after: [0], depths: [0] });

  function adder(result) {
    const places = new Map();
    return (parent, fn, before, after) => {
      const key = parent * (functions.length + 1) + fn;
      let place = places.get(key);
      if (place === undefined) {
        place = result.parents.length;
        places.set(key, place);
        result.parents.push(parent); result.functions.push(fn); result.depths.push(result.depths[parent] + 1);
        result.before.push(0); result.after.push(0);
      }
      result.before[place] += before; result.after[place] += after;
      return place;
    };
  }

  function own(side) {
    const left = data[side].slice();
    data.parents.forEach((parent, place) => { if (parent >= 0) left[parent] -= data[side][place]; });
    return left.map((value) => Math.max(value, 0));
  }

  function build() {
    const result = empty(), add = adder(result), focus = state.function, count = data.parents.length;
    const inside = new Int32Array(count).fill(-1), outer = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      const parent = data.parents[i];
      if (focus < 0) continue;
      const within = parent >= 0 ? inside[parent] : -1;
      if (within >= 0) inside[i] = i; else if (data.frames[i] === focus) { inside[i] = i; outer[i] = 1; }
    }
    if (state.direction === "callees") {
      const to = new Int32Array(count);
      for (let i = 0; i < count; i++) {
        if (focus >= 0 && inside[i] < 0) continue;
        const parent = focus >= 0 && outer[i] ? 0 : data.parents[i] >= 0 ? to[data.parents[i]] : 0;
        to[i] = add(parent, data.frames[i], data.before[i], data.after[i]);
      }
    } else {
      const before = focus < 0 ? own("before") : data.before, after = focus < 0 ? own("after") : data.after;
      for (let i = 0; i < count; i++) {
        if (focus >= 0 ? !outer[i] : !(before[i] || after[i])) continue;
        for (let at = i, parent = 0; at >= 0; at = data.parents[at]) parent = add(parent, data.frames[at], before[i], after[i]);
      }
    }
    const children = result.parents.map(() => []);
    result.parents.forEach((parent, place) => {
      if (parent === 0) { result.before[0] += result.before[place]; result.after[0] += result.after[place]; }
      if (parent >= 0) children[parent].push(place);
    });
    result.children = children;
    result.widths = widths(result);
    children.forEach((each) => each.sort((a, b) => result.widths[b] - result.widths[a]));
    tree = result;
  }

  // In the view of the difference, a stack is as wide as its dearer side: what is gone stays visible.
  function widths(of) {
    if (state.view !== "difference") return of[state.view];
    const wide = of.parents.map(() => 0);
    for (let i = of.parents.length - 1; i >= 0; i--) {
      const inner = (side) => of.children[i].reduce((sum, child) => sum + of[side][child], 0);
      wide[i] += Math.max(of.before[i] - inner("before"), of.after[i] - inner("after"), 0);
      wide[i] = Math.max(wide[i], of.before[i], of.after[i]);
      if (of.parents[i] >= 0) wide[of.parents[i]] += wide[i];
    }
    return wide;
  }

  // Colours: orange is more, blue is less, for any kind of colour vision; strong where the change matters to the whole.

  function colour(place) {
    const before = tree.before[place], after = tree.after[place], change = after - before;
    const share = Math.max(-1, Math.min(1, change / Math.max(before, after, 1e-300) * 2));
    const strength = Math.sqrt(Math.abs(share)) * Math.min(1, Math.abs(change) / (whole * 0.005));
    return blend(Math.sign(change) * strength);
  }

  // Those of page.css.
  const colours = () => isDark() ? { text: "#e4e8ec", back: "#14181d", mark: "#ff7ddb" } : { text: "#1c2530", back: "#fff", mark: "#a3007f" };

  function blend(strength) {
    const from = isDark() ? [58, 66, 75] : [232, 235, 238];
    const to = strength > 0 ? (isDark() ? [217, 122, 22] : [244, 141, 40]) : isDark() ? [48, 120, 196] : [92, 160, 224];
    return `rgb(${from.map((part, i) => Math.round(part + (to[i] - part) * Math.abs(strength))).join(",")})`;
  }

  // Drawing.

  const title = (place) => tree.functions[place] < 0 ? (state.function < 0 ? "whole program" : `all stacks of ${functions[state.function][NAME]}`) : functions[tree.functions[place]][NAME];
  const matches = (place) => state.search && tree.functions[place] >= 0 && `${functions[tree.functions[place]][NAME]} ${functions[tree.functions[place]][PLACE]}`.toLowerCase().includes(state.search.toLowerCase());

  function layout(width) {
    boxes = [];
    const path = [];
    for (let at = state.zoom; at >= 0; at = tree.parents[at]) path.unshift(at);
    path.forEach((place, depth) => boxes.push({ place, depth, x: 0, width }));
    const waiting = [{ place: state.zoom, depth: path.length - 1, x: 0, width }];
    while (waiting.length) {
      const above = waiting.pop(), scale = above.width / (tree.widths[above.place] || 1);
      let x = above.x;
      for (const child of tree.children[above.place]) {
        const wide = tree.widths[child] * scale;
        if (wide >= SMALLEST) {
          const box = { place: child, depth: above.depth + 1, x, width: wide };
          boxes.push(box); waiting.push(box);
        }
        x += wide;
      }
    }
    return 1 + boxes.reduce((deepest, box) => Math.max(deepest, box.depth), 0);
  }

  function fitted(text, width, measure) {
    if (width < 20) return "";
    if (measure(text) <= width) return text;
    let low = 0, high = text.length;
    while (low < high) { const middle = (low + high + 1) >> 1; if (measure(text.slice(0, middle) + "…") <= width) low = middle; else high = middle - 1; }
    return low > 1 ? text.slice(0, low) + "…" : "";
  }

  function label(place) {
    const text = percent(tree.before[place], tree.after[place]);
    return text && Math.abs(tree.after[place] - tree.before[place]) > whole * 0.001 ? `${title(place)} ${text}` : title(place);
  }

  function draw() {
    const width = Math.max(graph.clientWidth, 100), rows = layout(width), ratio = devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = rows * ROW * ratio;
    canvas.style.width = `${width}px`; canvas.style.height = `${rows * ROW}px`;
    const pen = canvas.getContext("2d"), { text, mark } = colours();
    pen.scale(ratio, ratio); pen.font = FONT; pen.textBaseline = "middle";
    for (const box of boxes) {
      const y = box.depth * ROW;
      pen.fillStyle = colour(box.place);
      pen.fillRect(box.x, y, Math.max(box.width - 1, SMALLEST), ROW - 1);
      if (matches(box.place)) { pen.fillStyle = mark; pen.fillRect(box.x, y + ROW - 4, Math.max(box.width - 1, 1), 3); }
      const shownText = fitted(label(box.place), box.width - 8, (each) => pen.measureText(each).width);
      if (shownText) { pen.fillStyle = text; pen.fillText(shownText, box.x + 4, y + ROW / 2); }
      if (box.place === state.selected) { pen.strokeStyle = mark; pen.lineWidth = 2; pen.strokeRect(box.x + 1, y + 1, Math.max(box.width - 3, 1), ROW - 3); }
    }
    describe();
  }

  // The name of a place, which leads to its line at the forge where `pages` has one.
  function placeOf(place) {
    const page = data.pages?.[place] ?? "";
    if (!/^https?:/.test(page)) return functions[place][PLACE];
    const link = Object.assign(document.createElement("a"), { href: page, target: "_blank", rel: "noopener", textContent: functions[place][PLACE] });
    return link;
  }

  function describe() {
    const place = state.selected, fn = functions[tree.functions[place]];
    const before = tree.before[place], after = tree.after[place];
    const parts = [`${title(place)}: ${amount(before)} → ${amount(after)}, ${signed(after - before)} ${unit}${before ? ` (${percent(before, after)})` : ""}.`];
    if (fn) {
      if (fn[PLACE]) parts.push(placeOf(tree.functions[place]), ".");
      if (fn[FORMER]) parts.push(`${fn[FORMER]} before.`);
      parts.push(`The function itself: ${signed(fn[OWN_AFTER] - fn[OWN_BEFORE])} ${unit}, ${fn[STATE]}${fn[PARTNER] ? ` ${fn[PARTNER]}` : ""}.`);
    }
    detail.replaceChildren(...parts.flatMap((part, at) => at && part !== "." ? [" ", part] : [part]));
  }

  function refresh(rebuild) {
    if (rebuild) { build(); state.zoom = state.selected = 0; }
    for (const group of root.querySelectorAll("[data-group]"))
      for (const button of group.children) button.setAttribute("aria-pressed", button.value === state[group.dataset.group]);
    find("#reset").disabled = state.function < 0 && !state.zoom;
    find("#widths").textContent = { before: "Width: cost before.", after: "Width: cost after.", difference: "Width: the larger of before and after." }[state.view] + (data.note ? ` ${data.note}` : "");
    draw();
    const address = new URLSearchParams({ view: state.view, direction: state.direction });
    if (state.function >= 0) address.set("function", state.function);
    if (state.zoom) address.set("zoom", path(state.zoom).join("."));
    if (state.search) address.set("search", state.search);
    write(String(address));
  }

  const path = (place) => { const found = []; for (let at = place; at > 0; at = tree.parents[at]) found.unshift(tree.functions[at]); return found; };

  function fromAddress() {
    const address = new URLSearchParams(read()), view = address.get("view"), direction = address.get("direction");
    if (["before", "after", "difference"].includes(view)) state.view = view;
    if (["callees", "callers"].includes(direction)) state.direction = direction;
    const fn = Number(address.get("function") ?? -1);
    state.function = Number.isInteger(fn) && fn < functions.length ? fn : -1;
    state.search = search.value = address.get("search") ?? "";
    build();
    let at = 0;
    for (const part of (address.get("zoom") ?? "").split(".").filter(Boolean)) {
      const child = tree.children[at].find((each) => tree.functions[each] === Number(part));
      if (child === undefined) break;
      at = child;
    }
    state.zoom = state.selected = at;
    refresh(false);
  }

  // Pointer and keyboard.

  const boxAt = (event) => {
    const edge = canvas.getBoundingClientRect(), x = event.clientX - edge.left, depth = Math.floor((event.clientY - edge.top) / ROW);
    return boxes.find((box) => box.depth === depth && box.x <= x && x < box.x + box.width);
  };
  const select = (place) => { state.selected = place; draw(); scrollTo(); };
  const zoom = (place) => { state.zoom = state.selected = place; refresh(false); };
  const focus = (fn) => { state.function = fn; refresh(true); };

  function scrollTo() {
    const box = boxes.find((each) => each.place === state.selected);
    if (!box) return;
    if (box.depth * ROW < graph.scrollTop) graph.scrollTop = box.depth * ROW;
    if ((box.depth + 1) * ROW > graph.scrollTop + graph.clientHeight) graph.scrollTop = (box.depth + 1) * ROW - graph.clientHeight;
  }

  function sibling(step) {
    const here = boxes.find((box) => box.place === state.selected);
    if (!here) return state.zoom;
    const row = boxes.filter((box) => box.depth === here.depth).sort((a, b) => a.x - b.x);
    return (row[row.indexOf(here) + step] ?? here).place;
  }

  canvas.addEventListener("pointermove", (event) => { const box = boxAt(event); if (box && box.place !== state.selected) { state.selected = box.place; draw(); } });
  canvas.addEventListener("click", (event) => { const box = boxAt(event); if (box) zoom(box.place); });
  graph.addEventListener("keydown", (event) => {
    const visible = new Set(boxes.map((box) => box.place));
    const actions = {
      ArrowDown: () => select(tree.children[state.selected].find((child) => visible.has(child)) ?? state.selected),
      ArrowUp: () => select(Math.max(tree.parents[state.selected], 0)),
      ArrowRight: () => select(sibling(1)),
      ArrowLeft: () => select(sibling(-1)),
      Enter: () => zoom(state.selected),
      Escape: () => state.zoom ? zoom(tree.parents[state.zoom]) : focus(-1),
      f: () => tree.functions[state.selected] >= 0 && focus(tree.functions[state.selected]),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); action(); }
  });
  keys.addEventListener("keydown", (event) => { if (event.key === "/" && event.target !== search) { event.preventDefault(); search.focus(); } });
  for (const group of root.querySelectorAll("[data-group]"))
    group.addEventListener("click", (event) => { if (event.target.value) { state[group.dataset.group] = event.target.value; refresh(true); } });
  search.addEventListener("input", () => { state.search = search.value; refresh(false); table(); });
  find("#reset").addEventListener("click", () => focus(-1));
  find("#more").addEventListener("click", () => { shown = Infinity; table(); });
  new ResizeObserver(() => draw()).observe(graph);

  // The table of functions.

  const change = (before, after) => (fn) => fn[after] - fn[before];
  const COLUMNS = [
    ["Function", (fn) => fn[NAME]],
    [`Own before, ${unit}`, (fn) => fn[OWN_BEFORE]],
    [`Own after, ${unit}`, (fn) => fn[OWN_AFTER]],
    [`Own difference, ${unit}`, change(OWN_BEFORE, OWN_AFTER)],
    [`Explains, ${unit}`, (fn) => fn[EXPLAINED]],
    [`With calls, ${unit}`, change(TOTAL_BEFORE, TOTAL_AFTER)],
    ["What it is", (fn) => fn[STATE]],
  ];

  function table() {
    const value = COLUMNS[sort.column][1], wanted = state.search.toLowerCase();
    const compare = (a, b) => typeof value(a) === "string" ? value(a).localeCompare(value(b)) : Math.abs(value(a)) - Math.abs(value(b));
    const rows = functions.map((fn, place) => [fn, place]).filter(([fn]) => `${fn[NAME]} ${fn[PLACE]}`.toLowerCase().includes(wanted));
    rows.sort(([a], [b]) => (sort.up ? 1 : -1) * compare(a, b));
    find("tbody").replaceChildren(...rows.slice(0, shown).map(([fn, place]) => row(fn, place)));
    find("#more").hidden = rows.length <= shown;
    find("#more").textContent = `Show all ${rows.length}`;
    root.querySelectorAll("th").forEach((head, place) => head.setAttribute("aria-sort", place !== sort.column ? "none" : sort.up ? "ascending" : "descending"));
  }

  function row(fn, place) {
    const line = document.createElement("tr"), button = document.createElement("button");
    button.textContent = fn[NAME];
    button.addEventListener("click", () => { focus(place); graph.scrollIntoView({ block: "nearest" }); });
    line.className = fn[STATE] === "cause" ? "cause" : "";
    const interval = `${signed(fn[LOW])} to ${signed(fn[HIGH])}`;
    const cells = [button, number(fn[OWN_BEFORE]), number(fn[OWN_AFTER]), signed(fn[OWN_AFTER] - fn[OWN_BEFORE]), signed(fn[EXPLAINED]), signed(fn[TOTAL_AFTER] - fn[TOTAL_BEFORE]), `${fn[STATE]} ${fn[PARTNER]}`];
    cells.forEach((content, column) => {
      const cell = document.createElement("td"), small = document.createElement("small");
      cell.append(content);
      if (column === 0) small.append(...[placeOf(place), fn[PLACE] && fn[FORMER] ? ", " : "", fn[FORMER] && `${fn[FORMER]} before`].filter(Boolean));
      if (column === 4) small.textContent = interval;
      if (small.textContent) cell.append(small);
      line.append(cell);
    });
    return line;
  }

  find("thead tr").append(...COLUMNS.map(([text], column) => {
    const head = document.createElement("th"), button = document.createElement("button");
    button.textContent = text;
    button.addEventListener("click", () => { sort = { column, up: column === sort.column ? !sort.up : column === 0 }; table(); });
    head.append(button);
    return head;
  }));

  // SVG of what is shown.

  function svg() {
    const pen = canvas.getContext("2d"), width = graph.clientWidth, rows = 1 + Math.max(...boxes.map((box) => box.depth));
    const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
    const { text, back } = colours();
    const parts = boxes.map((box) => {
      const shownText = fitted(label(box.place), box.width - 8, (each) => pen.measureText(each).width);
      const full = `${title(box.place)}: ${amount(tree.before[box.place])} → ${amount(tree.after[box.place])}`;
      return `<g><title>${escaped(full)}</title><rect x="${box.x.toFixed(1)}" y="${box.depth * ROW}" width="${Math.max(box.width - 1, SMALLEST).toFixed(1)}" height="${ROW - 1}" fill="${colour(box.place)}"/>` +
        (shownText ? `<text x="${(box.x + 4).toFixed(1)}" y="${box.depth * ROW + 14}">${escaped(shownText)}</text>` : "") + "</g>";
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${rows * ROW}" width="${width}" height="${rows * ROW}" font-family="system-ui, sans-serif" font-size="12" fill="${text}"><rect width="100%" height="100%" fill="${back}"/>${parts.join("")}</svg>`;
  }

  find("#svg").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([svg()], { type: "image/svg+xml" }));
    link.download = "flame-graph.svg";
    link.click();
    URL.revokeObjectURL(link.href);
  });

  const update = () => {
    find("#legend i").style.background = `linear-gradient(to right, ${[-1, -0.5, 0, 0.5, 1].map(blend).join(",")})`;
    fromAddress();
    table();
  };
  addEventListener("hashchange", update);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
  return update;
}

// The page to try a row: fields from the columns of the model, the answer with reasons beside them.
"use strict";

const SHOWN_REASONS = 12;
const SHOWN_CLASSES = 10;
const MOST_OPTIONS = 300;
let model = null;
let fields = [];
let running = null;

function numberText(value) {
  if (value === null) return "missing";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

function signedText(value) {
  const size = Number(Math.abs(value).toPrecision(3));
  return (value >= 0 ? "+" : "\u2212") + numberText(size);
}

// ---- fields ----

function field(column) {
  const box = element("label", {}, element("span", {}, caption(column)));
  const made = control(column);
  box.append(made.input);
  made.input.addEventListener("input", () => {
    mark(made, column);
    later();
  });
  if (column.kind === "date") box.classList.add("wide");
  return { ...made, column, box };
}

function caption(column) {
  const unit = { duration: " (seconds)", unused: " (not used)" }[column.kind] || "";
  return column.name + unit + (column.time_zone ? " (UTC)" : "");
}

function mark(made, column) {
  made.input.classList.toggle("edited", made.read() !== column.typical);
}

/** An input with functions that read and write its value as the service takes it. */
function control(column) {
  if (column.categories !== null && column.categories.length <= MOST_OPTIONS) return chooser(column);
  if (column.kind === "date") return dateField(column);
  const isNumber = column.kind === "number" || column.kind === "duration" || hasNumbers(column);
  const input = isNumber
    ? element("input", { type: "number", step: "any", inputmode: "decimal" })
    : element("input", { type: "text", autocomplete: "off" });
  if (column.kind === "unused") input.disabled = true;
  const read = () => {
    if (input.value === "") return null;
    return isNumber ? Number(input.value) : input.value;
  };
  const write = (value) => {
    input.value = value === null ? "" : String(value);
  };
  return { input, read, write };
}

function hasNumbers(column) {
  return column.categories !== null && typeof column.categories[0] === "number";
}

function chooser(column) {
  const input = element("select", {}, element("option", { value: "" }, "(missing)"));
  column.categories.forEach((level, place) => {
    input.append(element("option", { value: place }, String(level)));
  });
  const read = () => (input.value === "" ? null : column.categories[Number(input.value)]);
  const write = (value) => {
    const place = column.categories.indexOf(value);
    input.value = place < 0 ? "" : String(place);
  };
  return { input, read, write };
}

function dateField(column) {
  const input = element("input", { type: "datetime-local", step: 1, min: "1000-01-01T00:00:00", max: "2999-12-31T23:59:59" });
  const ending = column.time_zone === null ? "" : "+00:00";
  const read = () => {
    if (input.value === "") return null;
    return (input.value.length === 16 ? `${input.value}:00` : input.value) + ending;
  };
  const write = (value) => {
    input.value = value === null ? "" : value.slice(0, 19);
  };
  return { input, read, write };
}

function reset() {
  for (const one of fields) {
    one.write(one.column.typical);
    one.input.classList.remove("edited");
  }
  predict();
}

// ---- answers ----

let timer = null;

function later() {
  clearTimeout(timer);
  timer = setTimeout(predict, 80);
}

async function predict() {
  clearTimeout(timer);
  if (running) running.abort();
  const own = new AbortController();
  running = own;
  const place = document.querySelector(".answer");
  const wrong = fields.find((one) => !one.input.validity.valid);
  if (wrong) {
    place.classList.add("stale");
    showError(`${wrong.column.name}: ${wrong.input.validationMessage}`);
    return;
  }
  const asked = { rows: [fields.map((one) => one.read())] };
  if (model.probabilities) asked.probabilities = true;
  if (model.coverages) asked.interval = Math.min(0.9, model.coverages[1]);
  if (model.attributions) asked.attributions = true;
  try {
    const answer = await ask("/predict", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(asked),
      signal: own.signal,
    });
    if (running !== own) return;
    if (answer.model !== model.model) {
      // Another model was loaded, which may have other columns.
      location.reload();
      return;
    }
    show(answer);
    place.classList.remove("stale");
    showError("");
  } catch (error) {
    if (error.name === "AbortError") return;
    place.classList.add("stale");
    showError(error.message);
  }
}

function show(answer) {
  const prediction = answer.predictions[0];
  const text = [prediction].flat().map(labelText).join(", ");
  byId("prediction").textContent = text;
  byId("brief").textContent = text + briefShare(answer, prediction);
  showInterval(answer);
  byId("probabilities").replaceChildren(...probabilityParts(answer));
  byId("reasons").replaceChildren(...reasonParts(answer, prediction));
}

function labelText(value) {
  return typeof value === "number" ? numberText(value) : String(value);
}

/** The value of a field as people write it. */
function valueText(column, value) {
  if (value === null) return "missing";
  return column.kind === "date" ? value.slice(0, 19).replace("T", " ").replace(/:00$/, "") : labelText(value);
}

/** The probability of the predicted class, for the line that small screens always show. */
function briefShare(answer, prediction) {
  if (!answer.probabilities || Array.isArray(prediction)) return "";
  const share = answer.probabilities[0][answer.classes.indexOf(prediction)];
  return ` · ${(share * 100).toFixed(1)} %`;
}

function showInterval(answer) {
  const place = byId("interval");
  place.hidden = !answer.intervals;
  if (!answer.intervals) return;
  const [low, high] = answer.intervals.limits[0].map(numberText);
  place.textContent = `with a probability of ${answer.intervals.coverage * 100} % between ${low} and ${high}`;
}

function probabilityParts(answer) {
  if (!answer.probabilities) return [];
  const several = Array.isArray(answer.classes[0]);
  const classes = several ? answer.classes : [answer.classes];
  const shares = several ? answer.probabilities[0] : [answer.probabilities[0]];
  return classes.map((labels, output) => {
    const order = labels.map((_, place) => place);
    if (order.length > SHOWN_CLASSES) order.sort((a, b) => shares[output][b] - shares[output][a]);
    const rows = order.slice(0, SHOWN_CLASSES).map((place) => {
      const share = shares[output][place];
      const bar = element("div", { class: "track" }, fill(share, ""));
      return barRow(labelText(labels[place]), bar, `${(share * 100).toFixed(1)} %`);
    });
    const title = several ? `Probabilities of output ${output}` : "Probabilities";
    return barTable(title, rows);
  });
}

function fill(share, kind) {
  const bar = element("div", { class: `fill ${kind}` });
  bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return bar;
}

function barRow(name, bar, text) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, bar), element("td", { class: "number" }, text));
}

function barTable(title, rows) {
  return element("table", { class: "bars" }, element("caption", {}, title), element("tbody", {}, ...rows));
}

function reasonParts(answer, prediction) {
  const found = answer.attributions;
  if (!found) {
    const why = model.no_attributions_because || "the model has none";
    return [element("h3", {}, "Reasons"), element("p", { class: "note" }, `No reasons: ${why}.`)];
  }
  // One output for each class, or one in all.
  const isByClass = model.classes !== null && found.outputs.length === model.classes.length;
  const output = isByClass ? Math.max(0, model.classes.indexOf(prediction)) : 0;
  const values = found.values[0][output];
  const base = found.base_values[output];
  const order = values.map((_, place) => place).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const largest = Math.max(...values.map(Math.abs), 1e-300);
  const rows = order.slice(0, SHOWN_REASONS).map((place) => reasonRow(place, values[place], largest));
  if (order.length > SHOWN_REASONS) {
    const rest = order.slice(SHOWN_REASONS).reduce((sum, place) => sum + values[place], 0);
    rows.push(barRow(`${order.length - SHOWN_REASONS} others`, twoSided(rest, largest), signedText(rest)));
  }
  const total = values.reduce((sum, value) => sum + value, base);
  const of = found.outputs[output] ? ` of ${found.outputs[output]}` : "";
  const title = `${found.scale}${of}: ${numberText(total)} = mean ${numberText(base)} and what each column adds`;
  return [element("h3", {}, "Reasons"), barTable(title, rows)];
}

function reasonRow(place, value, largest) {
  const one = fields[place];
  const text = valueText(one.column, one.read());
  return barRow(`${one.column.name} = ${text}`, twoSided(value, largest), signedText(value));
}

function twoSided(value, largest) {
  const share = Math.abs(value) / largest;
  const left = element("div", { class: "half left" });
  const right = element("div", { class: "half" });
  (value < 0 ? left : right).append(fill(share, value < 0 ? "down" : "up"));
  return element("div", { class: "track" }, left, right);
}

// ---- start ----

function filter() {
  const wanted = byId("filter").value.toLowerCase();
  for (const one of fields) one.box.hidden = !one.column.name.toLowerCase().includes(wanted);
}

async function start() {
  model = await ask("/model");
  byId("about").textContent = `${model.class}, ${model.columns.length} columns, model ${model.model.slice(0, 12)}`;
  fields = model.columns.map(field);
  byId("fields").replaceChildren(...fields.map((one) => one.box));
  byId("fields").onsubmit = (event) => event.preventDefault();
  byId("filter-label").hidden = fields.length < 20;
  byId("filter").addEventListener("input", filter);
  byId("reset").onclick = reset;
  reset();
}

begin(start);

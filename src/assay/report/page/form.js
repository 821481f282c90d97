// Asks the model again whenever a value of the form changes.
const form = document.querySelector("form");
const answer = document.getElementById("answer"), beside = document.getElementById("beside");
const written = (value) => typeof value === "number" ? Number(value.toPrecision(5)).toLocaleString("en").replace("-", "−") : String(value);
const MOST = 6; // classes that are told one by one
async function ask() {
  const row = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    row[field.name] = field.value === "" ? null : field.type === "number" ? Number(field.value) : field.value;
  }
  const response = await fetch("/predict", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ rows: [row] }),
  });
  const said = await response.json();
  beside.replaceChildren();
  const tell = (text) => { const line = document.createElement("li"); line.textContent = text; beside.append(line); };
  if (said.error) { answer.textContent = said.error; return; }
  const first = said.predictions[0];
  answer.textContent = written(first.prediction);
  if (first.lower !== undefined) tell(`between ${written(first.lower)} and ${written(first.upper)}, ${form.dataset.share} of the time`);
  if (first.classes) tell(`one of: ${first.classes.join(", ")}, ${form.dataset.share} of the time`);
  const shares = Object.entries(first.probabilities ?? {}).sort((one, other) => other[1] - one[1]);
  const rest = shares.length > MOST + 1 ? shares.splice(MOST) : [];
  for (const [name, share] of shares) tell(`${name}: ${(100 * share).toFixed(1)}%`);
  const together = rest.reduce((sum, [, share]) => sum + share, 0);
  if (rest.length) tell(`the other ${rest.length} together: ${(100 * together).toFixed(1)}%`);
  for (const note of said.notes) tell(note);
}
form.addEventListener("input", ask);
form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
ask();

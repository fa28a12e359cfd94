"use strict";
// The page works without this. With it: progress is shown as it is made, a result comes in where it belongs without
// touching what is being typed, choices take effect at once, and privacy has a slider.

async function follow() {
  const waiting = [...document.querySelectorAll("[data-job]")];
  if (!waiting.length) return;
  let finished = false;
  for (const place of waiting) {
    let told;
    try {
      const answer = await fetch(`/job/${place.dataset.job}`);
      if (!answer.ok) { finished = true; continue; }
      told = await answer.json();
    } catch {
      place.querySelector(".what").textContent = "confide explore was stopped";
      return;
    }
    if (["done", "failed", "cancelled"].includes(told.status)) { finished = true; continue; }
    place.querySelector(".what").textContent =
      told.what || (told.status === "waiting" ? "waiting for another computation" : "computing");
    place.querySelector(".seconds").textContent = told.seconds;
    const bar = place.querySelector("progress");
    if (told.total) { bar.max = told.total; bar.value = told.done; } else { bar.removeAttribute("value"); }
  }
  if (finished) await bring();
  setTimeout(follow, 400);
}

// what was found, and nothing else of the page: somebody may be typing
async function bring() {
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const name of ["result", "files"]) {
    const [old, now] = [document.getElementById(name), page.getElementById(name)];
    if (!old || !now) continue;
    const within = old.contains(document.activeElement);
    old.replaceChildren(...now.childNodes);
    // who was at the button that stops it is not sent to the top of the page
    if (within) old.focus({ preventScroll: true });
  }
  say();
}

// a screen reader is told in a sentence what was found, and not every second how far it is
function say() {
  const found = [...document.querySelectorAll("#result .answer, #result .problem p, #result .stopped")];
  const more = document.querySelector("[data-job]") ? ["It is being computed."] : [];
  document.getElementById("said").textContent = [...found.map((each) => each.textContent), ...more].join(" ");
}

for (const choice of document.querySelectorAll("[data-now]")) {
  choice.addEventListener("change", () => choice.form.requestSubmit());
}

for (const slider of document.querySelectorAll("input[type=range]")) {
  const field = document.getElementById(slider.dataset.for);
  const [low, high] = [Math.log(slider.dataset.low), Math.log(slider.dataset.high)];
  const place = () => { slider.value = 100 * (Math.log(field.value || 1) - low) / (high - low); };
  const say = () => slider.setAttribute("aria-valuetext", field.value);
  slider.parentElement.hidden = false;
  place();
  say();
  field.addEventListener("input", place);
  slider.addEventListener("input", () => {
    field.value = Number(Math.exp(low + (high - low) * slider.value / 100).toPrecision(2));
    say();
  });
  slider.addEventListener("change", () => slider.form.requestSubmit());
}

// what nobody waits for any more may give way to what somebody does
addEventListener("pagehide", () => {
  for (const place of document.querySelectorAll("[data-job]")) navigator.sendBeacon(`/job/${place.dataset.job}/leave`);
});

// on a phone the list of screens is wider than the page; scrollIntoView would have the keyboard begin at this screen
const here = document.querySelector("nav [aria-current]");
const screens = here?.closest("ol");
if (screens) {
  const [inner, outer] = [here.getBoundingClientRect(), screens.getBoundingClientRect()];
  screens.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
}

if (document.querySelector("[data-job]")) say();
follow();

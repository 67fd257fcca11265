// Runs beside the page, which stands in a frame, and works its controls as a person would.
addEventListener("load", () => {
  const found = [];
  const check = (what, holds) => found.push(`${holds ? "ok" : "FAILED"}: ${what}`);
  try { work(check); } catch (error) { check(`the script itself: ${error} ${error.stack}`, false); }
  document.getElementById("found").textContent = found.join("\n");
});

function work(check) {
  const frame = document.querySelector("iframe"), page = frame.contentDocument, view = frame.contentWindow;
  const one = (what) => page.querySelector(what);
  const chart = one("#chart"), tip = one("#tip");
  const range = () => page.documentElement.dataset.range;
  const curves = () => page.querySelectorAll("#chart path.curve").length;
  const press = (id) => one(`#${id}`).click();
  const key = (name, more = {}) => chart.dispatchEvent(new view.KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
  const box = () => chart.getBoundingClientRect();
  const pointer = (kind, share, type = "mouse") => chart.dispatchEvent(new view.PointerEvent(kind, {
    clientX: box().left + box().width * share, clientY: box().top + 60, pointerType: type, pointerId: 1, button: 0, buttons: 1, bubbles: true,
  }));

  check("the script has run under its policy", page.documentElement.dataset.ready === "yes");
  check("the style is applied under its policy", view.getComputedStyle(page.body).maxWidth !== "none");
  check("nothing hostile has run", window.hacked === undefined && view.hacked === undefined);
  check("the hostile name is shown as words", one("h1").textContent.includes("onerror='top.hacked=1'"));
  const pictures = [...page.images];
  check("worst frames are shown", pictures.length > 0 && pictures.every((picture) => picture.naturalWidth > 0));
  const own = pictures.every((picture) => picture.src.startsWith("data:image/png;base64,"));
  check("there is no foreign element", own && page.scripts.length === 2);
  check("two curves at first", curves() === 2 && range() === "0-59");
  check("the still picture is gone", one(".still") === null);

  const chip = page.querySelectorAll(".chip")[1];
  chip.click();
  check("a model is switched off", curves() === 1 && chip.getAttribute("aria-pressed") === "false");
  check("its figures and histogram go with it", [...page.querySelectorAll("[data-of='1']")].every((part) => part.hidden));
  chip.click();
  check("and on again", curves() === 2 && !one("tr[data-of='1']").hidden);

  press("in");
  check("zoom in", range() === "15-44");
  check("the overview shows where", !one("#overview").hidden && one("#overview .window") !== null);
  press("left");
  check("earlier", range() === "1-29" || range() === "0-29");
  press("right");
  check("later", range() === "15-44");
  press("out");
  check("zoom out", range() === "0-59" && one("#out").disabled);

  pointer("pointerdown", 0.3); pointer("pointermove", 0.5);
  check("dragging marks", one("#chart .select") !== null);
  pointer("pointerup", 0.5);
  const [from, to] = range().split("-").map(Number);
  check(`dragging zooms: ${range()}`, from > 10 && to < 40 && to - from > 5);
  chart.dispatchEvent(new view.MouseEvent("dblclick", { bubbles: true }));
  check("a double click shows all", range() === "0-59");

  const wheel = (more) => chart.dispatchEvent(new view.WheelEvent("wheel", { deltaY: -100, clientX: box().left + 300, bubbles: true, cancelable: true, ...more }));
  wheel({});
  check("the wheel alone scrolls the page", range() === "0-59");
  wheel({ ctrlKey: true });
  check("the wheel with Ctrl zooms", range() !== "0-59");
  key("0");
  check("0 shows all", range() === "0-59");

  key("Home");
  for (let times = 0; times < 7; times++) key("ArrowRight");
  check("arrows walk", chart.getAttribute("aria-valuenow") === "7");
  check(`the score of a frame: ${tip.textContent}`, tip.textContent.startsWith("Frame 7, 0:00.28") && tip.textContent.includes(expected.frame7));
  check("a screen reader hears it", chart.getAttribute("aria-valuetext").includes(`vmaf_v0.6.1 ${expected.frame7}`));
  key("Escape");
  check("Escape takes the cursor away", tip.hidden);
  pointer("pointermove", 0.5);
  check("hovering shows a frame", !tip.hidden && /^Frame (27|28|29|30),/.test(tip.textContent));

  const axis = () => [...page.querySelectorAll("#chart .axis")].map((text) => text.textContent).join(" ");
  key("0");
  const before = axis();
  press("in"); press("in"); press("fit");
  check("height fits what is seen", one("#fit").getAttribute("aria-pressed") === "true" && axis() !== before);
  press("fit"); press("whole");
  check("all", range() === "0-59" && axis() === before);
  const worst = one("#worst").parentElement.querySelector("[data-jump]");
  worst.click();
  check("a worst frame is shown", tip.textContent.startsWith(`Frame ${worst.textContent},`));
  const focusable = [...page.querySelectorAll("button")].every((button) => button.textContent || button.getAttribute("aria-label"));
  check("every button has a name", focusable);
  check("no sideways scrolling", page.documentElement.scrollWidth <= view.innerWidth);
  check("the end", true);
}

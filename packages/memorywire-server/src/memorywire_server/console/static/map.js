// Draws the map of memories on a canvas. The page works without: regions are links, and a table has the rest.
"use strict";

function drawMap(map) {
  const canvas = map.querySelector("canvas");
  const context = canvas.getContext("2d");
  const tip = map.querySelector(".map-tip");
  const side = 65535;
  const whole = { x: -0.02, y: -0.02, w: 1.04, h: 1.04 };
  let box = { ...whole };
  let points = null; // { index, x, y, colour }, all of them or those in the box
  let density = null; // { cells, count, colour, box, most }
  let edition = "";
  let shape = readShape(map.dataset.shape);
  let drag = null;
  let moves = false;
  let asked = 0;
  let colours = [];

  function readShape(text) {
    return text ? text.split(";").map((corner) => corner.split(",").map((one) => one / 10000)) : null;
  }

  // The colours are those of the legend, so that a theme has one place for them.
  function readColours() {
    colours = [...map.querySelectorAll(".legend rect")].map((one) => getComputedStyle(one).fill);
  }

  const place = (x, y) => [
    ((x - box.x) / box.w) * canvas.clientWidth,
    ((y - box.y) / box.h) * canvas.clientHeight,
  ];
  const locate = (left, top) => [
    box.x + (left / canvas.clientWidth) * box.w,
    box.y + (top / canvas.clientHeight) * box.h,
  ];

  async function load() {
    const turn = ++asked;
    const clamp = (value) => Math.min(side, Math.max(0, Math.round(value * side)));
    const part = [box.x, box.y, box.x + box.w, box.y + box.h].map(clamp);
    if (part[0] >= part[2] || part[1] >= part[3]) return;
    const answer = await fetch(`${map.dataset.view}&box=${part}`);
    if (!answer.ok || turn !== asked) return;
    edition = answer.headers.get("X-Edition");
    const bytes = await answer.arrayBuffer();
    const [mode, size] = new Uint32Array(bytes, 0, 2);
    if (mode === 0) {
      density = null;
      points = {
        index: new Uint32Array(bytes, 8, size),
        x: new Uint16Array(bytes, 8 + 4 * size, size),
        y: new Uint16Array(bytes, 8 + 6 * size, size),
        colour: new Uint8Array(bytes, 8 + 8 * size, size),
      };
    } else {
      points = null;
      const count = new Uint16Array(bytes, 8, size * size);
      const most = count.reduce((a, b) => Math.max(a, b), 1);
      const [x, y, x2, y2] = part.map((one) => one / side);
      density = { cells: size, count, colour: new Uint8Array(bytes, 8 + 2 * size * size), most };
      density.box = { x, y, w: x2 - x, h: y2 - y };
    }
    paint();
  }

  // All points are here, so a part of them need not be asked for.
  const isComplete = () => points !== null && points.index.length === Number(map.dataset.total);

  let frame = 0;
  function paint() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paintNow);
  }

  function paintNow() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (density) paintDensity();
    if (points) paintPoints();
    paintNames();
    paintShape();
  }

  function paintPoints() {
    const zoom = whole.w / box.w;
    const radius = Math.min(7, Math.max(1.3, 46 / Math.sqrt(points.index.length)) * Math.min(2, Math.sqrt(zoom)));
    const across = canvas.clientWidth / box.w / side;
    const down = canvas.clientHeight / box.h / side;
    const [left, top] = [box.x * side, box.y * side];
    context.globalAlpha = points.index.length > 3000 ? 0.55 : 0.8;
    for (let kind = 0; kind < colours.length; kind += 1) {
      context.fillStyle = colours[kind];
      context.beginPath();
      for (let at = 0; at < points.index.length; at += 1) {
        if (points.colour[at] !== kind) continue;
        const x = (points.x[at] - left) * across;
        const y = (points.y[at] - top) * down;
        if (x < -9 || y < -9 || x > canvas.clientWidth + 9 || y > canvas.clientHeight + 9) continue;
        if (radius < 2) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
        else {
          context.moveTo(x + radius, y);
          context.arc(x, y, radius, 0, 6.2832);
        }
      }
      context.fill();
    }
    context.globalAlpha = 1;
  }

  function paintDensity() {
    const { cells, count, colour, most } = density;
    const [left, top] = place(density.box.x, density.box.y);
    const [right, bottom] = place(density.box.x + density.box.w, density.box.y + density.box.h);
    const [width, height] = [(right - left) / cells, (bottom - top) / cells];
    for (let at = 0; at < count.length; at += 1) {
      if (!count[at]) continue;
      context.globalAlpha = 0.15 + (0.85 * Math.log(1 + count[at])) / Math.log(1 + most);
      context.fillStyle = colours[colour[at]] ?? "gray";
      context.fillRect(left + (at % cells) * width, top + Math.floor(at / cells) * height, width + 0.5, height + 0.5);
    }
    context.globalAlpha = 1;
  }

  function paintNames() {
    const style = getComputedStyle(map);
    context.font = `600 12px ${style.fontFamily}`;
    context.textAlign = "center";
    context.lineJoin = "round";
    const taken = [];
    for (const one of document.querySelectorAll(".regions [data-words]")) {
      const [x, y] = place(Number(one.dataset.x), Number(one.dataset.y));
      const half = context.measureText(one.dataset.words).width / 2;
      const center = Math.min(canvas.clientWidth - half - 6, Math.max(half + 6, x));
      if (x < 0 || y < 0 || x > canvas.clientWidth || y > canvas.clientHeight) continue;
      if (taken.some(([a, b, c]) => Math.abs(a - center) < half + c + 8 && Math.abs(b - y) < 18)) continue;
      taken.push([center, y, half]);
      context.lineWidth = 4;
      context.strokeStyle = style.backgroundColor;
      context.strokeText(one.dataset.words, center, y + 4);
      context.fillStyle = style.color;
      context.fillText(one.dataset.words, center, y + 4);
    }
  }

  function paintShape() {
    if (!shape || shape.length < 2) return;
    context.beginPath();
    for (const [x, y] of shape) context.lineTo(...place(x, y));
    context.closePath();
    context.fillStyle = context.strokeStyle = getComputedStyle(map.querySelector("button")).color;
    context.globalAlpha = 0.1;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke();
  }

  function zoom(by, left = canvas.clientWidth / 2, top = canvas.clientHeight / 2) {
    const [x, y] = locate(left, top);
    const w = Math.min(whole.w, Math.max(0.01, box.w * by));
    const h = Math.min(whole.h, Math.max(0.01, box.h * by));
    show({ x: x - ((x - box.x) * w) / box.w, y: y - ((y - box.y) * h) / box.h, w, h });
  }

  let later = 0;
  function show(next) {
    box = next;
    box.x = Math.min(whole.x + whole.w - box.w, Math.max(whole.x, box.x));
    box.y = Math.min(whole.y + whole.h - box.h, Math.max(whole.y, box.y));
    paint();
    if (isComplete()) return;
    clearTimeout(later);
    later = setTimeout(load, 120);
  }

  const pan = (across, down) => show({ ...box, x: box.x + across * box.w, y: box.y + down * box.h });

  function findNear(left, top) {
    if (!points) return -1;
    let [best, nearest] = [-1, 144];
    const across = canvas.clientWidth / box.w / side;
    const down = canvas.clientHeight / box.h / side;
    for (let at = 0; at < points.index.length; at += 1) {
      const x = (points.x[at] - box.x * side) * across - left;
      const y = (points.y[at] - box.y * side) * down - top;
      const far = x * x + y * y;
      if (far < nearest) [best, nearest] = [at, far];
    }
    return best;
  }

  let told = -1;
  let tipTimer = 0;
  function hover(left, top) {
    const at = findNear(left, top);
    canvas.classList.toggle("over", at >= 0);
    if (at === told) return;
    told = at;
    clearTimeout(tipTimer);
    if (at < 0) tip.hidden = true;
    else tipTimer = setTimeout(tell, 60, at, left, top);
  }

  async function tell(at, left, top) {
    const answer = await fetch(`${map.dataset.point}&at=${points.index[at]}&edition=${encodeURIComponent(edition)}`);
    if (!answer.ok || told !== at) return;
    tip.innerHTML = await answer.text(); // escaped on the server, as every page is
    tip.hidden = false;
    tip.style.left = `${Math.min(left + 12, canvas.clientWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${top + 16 + tip.offsetHeight > canvas.clientHeight ? top - tip.offsetHeight - 12 : top + 16}px`;
  }

  async function open(left, top) {
    const at = findNear(left, top);
    if (at < 0) return;
    told = at;
    await tell(at, left, top);
    tip.querySelector("a")?.click();
  }

  // The line is given to the server, which knows what is inside: also of points that are not drawn one by one.
  function choose() {
    const every = Math.ceil(shape.length / 60);
    const clamp = (value) => Math.min(10000, Math.max(0, Math.round(value * 10000)));
    const corners = shape.filter((_, at) => at % every === 0).map((corner) => corner.map(clamp).join(","));
    const glue = map.dataset.chosen.includes("?") ? "&" : "?";
    const address = `${map.dataset.chosen}${glue}shape=${encodeURIComponent(corners.join(";"))}`;
    history.replaceState(null, "", address);
    htmx.ajax("GET", address, { target: "#chosen", select: "#chosen", swap: "outerHTML" });
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || (event.pointerType === "touch" && !moves && !map.classList.contains("selecting"))) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.offsetX, y: event.offsetY, box: { ...box }, pans: moves || event.shiftKey, far: false };
    tip.hidden = true;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event.offsetX, event.offsetY);
    const [across, down] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (!drag.far && Math.hypot(across, down) < 5) return;
    if (!drag.far && !drag.pans) shape = [locate(drag.x, drag.y)];
    drag.far = true;
    if (drag.pans) {
      const x = drag.box.x - (across / canvas.clientWidth) * box.w;
      show({ ...box, x, y: drag.box.y - (down / canvas.clientHeight) * box.h });
    } else {
      shape.push(locate(event.offsetX, event.offsetY));
      paint();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const ended = drag;
    drag = null;
    if (ended === null || !ended.far) return open(event.offsetX, event.offsetY);
    if (!ended.pans && shape.length > 3) choose();
  });
  canvas.addEventListener("pointerleave", () => {
    told = -1;
    clearTimeout(tipTimer);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return; // the page scrolls
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(0.5, event.offsetX, event.offsetY));
  canvas.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => pan(-0.1, 0), ArrowRight: () => pan(0.1, 0), ArrowUp: () => pan(0, -0.1),
      ArrowDown: () => pan(0, 0.1), "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.43),
      0: () => show({ ...whole }),
    };
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  map.addEventListener("click", (event) => {
    const how = event.target.dataset.zoom;
    if (how === "all") show({ ...whole });
    else if (how) zoom(how === "in" ? 0.6 : 1.67);
    if (!("mode" in event.target.dataset)) return;
    moves = !moves;
    event.target.setAttribute("aria-pressed", String(moves));
    map.classList.toggle("moving", moves);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
  new ResizeObserver(paint).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    paint();
  });
  readColours();
  load();
}

function startMap() {
  const map = document.querySelector("#map:not([data-started])");
  if (!map) return;
  map.dataset.started = "";
  drawMap(map);
}
document.addEventListener("DOMContentLoaded", startMap);
document.addEventListener("htmx:afterSettle", startMap);

// Pictures: bars, dots, whiskers, a time line and a map. Each says in words what it shows.

function svg(width, height, label, ...children) {
  const properties = { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
  const made = el("svg", properties, ...children);
  made.style.maxWidth = `${1.25 * width}px`; // letters stay near their size
  return made;
}

// As wide as the page has room for, so that letters keep their size on a phone.
const roomy = (most) => Math.max(290, Math.min(most, at("content").clientWidth - 40));

const tick = (x, y, text, anchor = "middle", strong = false) =>
  el("text", { x, y, "text-anchor": anchor, class: strong ? "strong" : null }, text);

// Of a column of times, what stands for none.
const binTitle = (label) => (label === "-1" ? "no time" : label);

const ruler = document.createElement("canvas").getContext("2d");
// How wide a text is in the letters of pictures.
function lettersWide(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}
// How much wider bold letters are.
const BOLD = 1.15;
// As much of a text as there is room for.
function short(text, room) {
  const letters = [...text],
    cut = (many) => (many < letters.length ? `${letters.slice(0, many).join("")}…` : text);
  let many = Math.min(letters.length, 80);
  while (many > 1 && lettersWide(cut(many)) > room) many -= 1;
  return cut(many);
}

// The distribution of a column: upright bars where values have an order, lying ones where they are names.
function distribution(name, { kind, bars, filled, kinds, looked_at }) {
  const named = kind === "category" ? bars.slice(0, 7).filter((bar) => bar.label !== "others") : bars,
    most = Math.max(...named.map((bar) => bar.share), 1e-9);
  const empty = filled < 0.9995 ? `${percent(1 - filled)} empty` : "";
  if (!bars.length) {
    const said = {
      identifier: `${plural(kinds, "different value")}: not drawn, since single ones could be persons`,
      empty: "No value in the rows that were read",
      unread: "Not read",
    };
    return el("p", { class: "blank" }, [said[kind] ?? "Nothing to draw", empty].filter(Boolean).join(". "));
  }
  const top = [...named].sort((a, b) => b.share - a.share)[0];
  const label = `Distribution of ${name}: most often ${top.label} (${percent(top.share)})${empty ? `; ${empty}` : ""}.`;
  if (kind === "category") {
    const left = 148;
    return svg(
      320,
      named.length * 18 + 2,
      label,
      ...named
        .map((bar, i) => [
          tick(left - 8, i * 18 + 13, short(bar.label, left - 10), "end"),
          el("rect", {
            class: "fill-soft",
            x: left,
            y: i * 18 + 3,
            height: 13,
            rx: 2,
            width: Math.max(1.5, ((320 - left - 42) * bar.share) / most),
          }),
          tick(left + ((320 - left - 42) * bar.share) / most + 6, i * 18 + 13, percent(bar.share), "start"),
        ])
        .flat(),
    );
  }
  const wide = 320 / bars.length;
  const ends = [bars[0].label, bars[Math.floor(bars.length / 2)].label, bars.at(-1).label];
  return svg(
    320,
    96,
    label,
    ...bars.map((bar, i) =>
      el("rect", {
        class: "fill-soft",
        x: i * wide + Math.min(1, wide * 0.1),
        width: Math.max(0.8, wide - Math.min(2, wide * 0.2)),
        y: 76 - (72 * bar.share) / most,
        height: (72 * bar.share) / most,
      }),
    ),
    el("line", { class: "axis", x1: 0, x2: 320, y1: 76.5, y2: 76.5 }),
    tick(0, 92, short(ends[0], 100), "start"),
    bars.length > 2 ? tick(160, 92, short(ends[1], 100)) : null,
    tick(320, 92, short(ends[2], 100), "end"),
  );
}

// Of 100 publications, a number of them: a hundred dots, ten by ten. A small chance is not shown as none, nor a large one as certain.
function dots(of100, heading) {
  const chance = Number(of100),
    full = [0, 100].includes(chance) ? chance : Math.min(99, Math.max(1, Math.round(chance)));
  return el(
    "figure",
    { class: "dots" },
    el("figcaption", {}, heading, el("b", {}, `${of100} of 100`)),
    svg(
      200,
      200,
      `${heading}: ${of100} of 100.`,
      ...Array.from({ length: 100 }, (_, i) =>
        el("circle", {
          class: i < full ? "full" : "empty",
          cx: 10 + 20 * (i % 10),
          cy: 10 + 20 * Math.floor(i / 10),
          r: 6.6,
          "stroke-width": 1.6,
        }),
      ),
    ),
  );
}

// Trips by one column: the part of each bar that would be published is full, what would be left out is hatched.
function sample({ bars, column }, what) {
  const most = Math.max(...bars.map((bar) => bar.trips), 1),
    whole = roomy(560),
    wide = whole / bars.length,
    high = 130,
    tall = (n) => (high * Math.max(0, n)) / most;
  const trips = bars.reduce((sum, bar) => sum + bar.trips, 0),
    published = bars.reduce((sum, bar) => sum + bar.trips * (bar.published ?? 1), 0);
  const label =
    `${what}, by ${column}: the largest of ${plural(bars.length, "bar")} has ${number(Math.round(most))} trips. ` +
    `${percent(trips ? published / trips : 0)} of the trips would be published.`;
  return svg(
    whole,
    high + 22,
    label,
    ...bars.flatMap((bar, i) => {
      const full = tall(bar.trips * (bar.published ?? 1)),
        place = { x: i * wide + wide * 0.1, width: Math.max(0.8, wide * 0.8) };
      return [
        el("rect", {
          class: "hatched",
          ...place,
          y: high - tall(bar.trips),
          height: Math.max(0, tall(bar.trips) - full),
        }),
        el("rect", { class: "fill-bar", ...place, y: high - full, height: full }),
      ];
    }),
    el("line", { class: "axis", x1: 0, x2: whole, y1: high + 0.5, y2: high + 0.5 }),
    tick(0, high + 17, short(binTitle(bars[0].label), whole / 3.2), "start"),
    bars.length > 4 ? tick(whole / 2, high + 17, short(bars[Math.floor(bars.length / 2)].label, whole / 3.4)) : null,
    bars.length > 2 ? tick(whole, high + 17, short(bars.at(-1).label, whole / 3.2), "end") : null,
  );
}

// How accurate a count is: what may be published for true counts of 20, 100 and 500, each on its own scale.
const EXAMPLES = [20, 100, 500];
const NOT_PUBLISHED = "most likely not published";
function accuracy(title, { error, smallest, every_cell }) {
  const row = 46,
    left = 58,
    wide = roomy(470);
  const one = (count, i) => {
    const y = i * row + 20,
      most = count * 2.2,
      to = (n) => left + (Math.max(0, Math.min(n, most)) / most) * (wide - left - 14),
      out = !every_cell && smallest !== null && count < smallest;
    const low = Math.max(0, count - error),
      high = count + error,
      said = out ? NOT_PUBLISHED : `${number(low)} to ${number(high)}${high > most ? " →" : ""}`;
    return [
      tick(left - 14, y + 5, number(count), "end", true),
      el("line", { class: "axis", x1: left, x2: wide, y1: y, y2: y }),
      out
        ? el("rect", { class: "hatched", x: left, y: y - 7, width: to(count) - left, height: 14, rx: 3 })
        : el("rect", {
            class: "fill-soft",
            x: to(low),
            y: y - 7,
            width: Math.max(2, to(high) - to(low)),
            height: 14,
            rx: 3,
          }),
      el("line", { class: "mark", x1: to(count), x2: to(count), y1: y - 10, y2: y + 10 }),
      tick(Math.min(to(out ? count : high) + 8, wide - 4 - lettersWide(said)), y - 12, said, "start"),
    ];
  };
  const label = `${title}: ${EXAMPLES.map((count) =>
    !every_cell && smallest !== null && count < smallest
      ? `a count of ${count} is most likely not published`
      : `a count of ${count} is published as ${Math.max(0, count - error)} to ${count + error}`,
  ).join("; ")}.`;
  return svg(wide, EXAMPLES.length * row, label, ...EXAMPLES.flatMap(one));
}

// The ledger over the days that releases cover: one bar for each release, on a line of its own.
function timeline(releases, caption) {
  const days = releases
    .flatMap((each) => [each.first_day, each.last_day])
    .filter(Boolean)
    .map((day) => Date.parse(day));
  const first = Math.min(...days),
    last = Math.max(...days) + 864e5;
  const left = 8,
    wide = roomy(760),
    row = 34,
    to = (day) => left + ((Date.parse(day) - first) / Math.max(864e5, last - first)) * (wide - 2 * left);
  const bars = releases.map((each, i) => {
    const whole = !each.first_day || !days.length;
    const x = whole ? left : to(each.first_day),
      end = whole ? wide - left : to(each.last_day) + (864e5 / Math.max(864e5, last - first)) * (wide - 2 * left);
    const y = i * row + 18,
      spent = each.epsilon ? `, ε ${each.epsilon}` : "",
      rooms = { in: end - x - 16, after: wide - end - 8, before: x - 8 };
    // Where there is room for it; else as much of it as there is room for, where there is most.
    const place =
        Object.keys(rooms).find((kind) => rooms[kind] >= BOLD * lettersWide(each.title + spent)) ??
        Object.keys(rooms).reduce((most, kind) => (rooms[kind] > rooms[most] ? kind : most)),
      text = short(each.title, rooms[place] / BOLD - lettersWide(spent)) + spent;
    return [
      el("rect", { class: each.planned ? "fill-plan" : "fill", x, y, width: Math.max(3, end - x), height: 18, rx: 4 }),
      el(
        "text",
        {
          x: { in: x + 8, after: end + 6, before: x - 6 }[place],
          y: y + 13.5,
          "text-anchor": place === "before" ? "end" : "start",
          class: place === "in" && !each.planned ? "on-fill" : "strong",
        },
        text,
      ),
    ];
  });
  const height = releases.length * row + 26;
  return svg(
    wide,
    height,
    caption,
    ...(days.length
      ? [
          el("line", { class: "axis", x1: left, x2: wide - left, y1: 8, y2: 8 }),
          tick(left, height - 2, dayTitle(new Date(first).toISOString()), "start"),
          tick(wide - left, height - 2, dayTitle(new Date(last - 864e5).toISOString()), "end"),
        ]
      : [tick(left, height - 2, "all days", "start")]),
    ...bars.flat(),
  );
}

// Places as circles, by the number of their trips, and areas as they lie, deeper with more trips; hatched where they
// would not be published.
function placesMap(places, areas) {
  const wide = 640,
    points = [...places.map(({ lon, lat }) => [lon, lat]), ...areas.flatMap(({ rings }) => rings.flat())],
    middle = points.reduce((sum, [, lat]) => sum + lat, 0) / points.length,
    squeeze = Math.cos((middle * Math.PI) / 180);
  const [x0, x1, y0, y1] = points.reduce(
    ([west, east, north, south], [lon, lat]) => [
      Math.min(west, lon * squeeze),
      Math.max(east, lon * squeeze),
      Math.min(north, -lat),
      Math.max(south, -lat),
    ],
    [Infinity, -Infinity, Infinity, -Infinity],
  );
  const scale = Math.min((wide - 60) / Math.max(1e-9, x1 - x0), 420 / Math.max(1e-9, y1 - y0)),
    high = Math.max(160, (y1 - y0) * scale + 60),
    shift = (wide - (x1 - x0) * scale) / 2;
  const all = [...places, ...areas],
    most = Math.max(...all.map((place) => place.trips ?? 1), 1),
    x = (lon) => shift + (lon * squeeze - x0) * scale,
    y = (lat) => 30 + (-lat - y0) * scale,
    path = (ring) => `M${ring.map(([lon, lat]) => `${x(lon).toFixed(1)} ${y(lat).toFixed(1)}`).join("L")}Z`,
    named = (place) =>
      el(
        "title",
        {},
        place.trips === undefined
          ? place.name
          : `${place.name}: ${number(Math.round(place.trips))} trips, ± ${place.error ?? "?"}`,
      );
  const gone = all.filter((place) => (place.published ?? 1) < 0.5).length,
    known = all.some((place) => place.published !== undefined),
    said = gone ? `; ${number(gone)} of them would mostly not be published` : known ? "; all of them would be published" : "";
  return svg(
    wide,
    high,
    `Map of ${plural(all.length, "place")}${said}.`,
    ...areas.map((area) =>
      el(
        "path",
        {
          class: (area.published ?? 1) < 0.5 ? "place hatched" : "place fill-soft",
          d: area.rings.map(path).join(""),
          "fill-rule": "evenodd",
          "fill-opacity": area.trips === undefined ? 0.5 : 0.25 + 0.75 * Math.sqrt(area.trips / most),
        },
        named(area),
      ),
    ),
    ...[...places]
      .sort((a, b) => (b.trips ?? 0) - (a.trips ?? 0))
      .map((place) =>
        el(
          "circle",
          {
            class: (place.published ?? 1) < 0.5 ? "place hatched" : "place fill-soft",
            cx: x(place.lon),
            cy: y(place.lat),
            r: place.trips === undefined ? 5 : 4 + 18 * Math.sqrt(place.trips / most),
          },
          named(place),
        ),
      ),
  );
}

// How far a job is: a bar, and the stage in words.
function progress(job) {
  const share = job.share ?? null,
    text = [job.stage, job.detail].filter(Boolean).join(": ");
  const bar = el("div", {});
  bar.style.width = share === null ? "100%" : `${Math.round(100 * share)}%`;
  return el(
    "div",
    { class: "progress" },
    el("p", {}, text || "Starting"),
    el(
      "div",
      {
        class: `meter${share === null ? " unknown" : ""}`,
        role: "progressbar",
        "aria-label": text || "Progress",
        "aria-valuemin": 0,
        "aria-valuemax": 100,
        "aria-valuenow": share === null ? null : Math.round(100 * share),
      },
      bar,
    ),
  );
}

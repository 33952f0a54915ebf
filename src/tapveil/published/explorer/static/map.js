// The map: the shapes of places, drawn here; nobody is asked for a picture of the streets.

class Spot {
  constructor(shape) {
    this.shape = shape;
    this.name = shape.properties.name;
    this.points = [];
    this.rings = [];
    const { type, coordinates } = shape.geometry;
    if (type === "Point") this.points = [coordinates];
    else if (type === "MultiPoint") this.points = coordinates;
    else this.rings = type === "Polygon" ? coordinates : coordinates.flat();
    const all = this.points.length ? this.points : this.rings.flat();
    this.middle = [0, 1].map((i) => all.reduce((sum, corner) => sum + corner[i], 0) / all.length);
  }
}

class CityMap {
  static shows = ["table", "part", "vs", "place", "time", "difference"];

  constructor(app) {
    this.app = app;
    this.canvas = at("map-canvas");
    this.near = { zoom: 1, x: 0, y: 0 };
    this.focus = null;
    this.known = new Map();
    this.served = new Map();
    const zoomed = (by) => () => this.zoom(by);
    this.buttons = [
      ["Zoom in", "+", zoomed(1.6)],
      ["Zoom out", "−", zoomed(1 / 1.6)],
      [
        "Show all",
        "All",
        () => {
          this.near = { zoom: 1, x: 0, y: 0 };
          this.paint();
        },
      ],
    ];
    at("map-tools").append(
      ...this.buttons.map(([label, text, onclick]) =>
        el("button", { type: "button", "aria-label": label, title: label, onclick }, text),
      ),
    );
    let held = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.dragged = false;
      held = { x: event.clientX, y: event.clientY, moved: false };
    });
    for (const end of ["pointerup", "pointercancel"])
      window.addEventListener(end, () => {
        held = null;
      });
    this.canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
        if (held.moved || Math.abs(dx) + Math.abs(dy) > 4) {
          this.near.x += dx;
          this.near.y += dy;
          Object.assign(held, { x: event.clientX, y: event.clientY, moved: true });
          this.dragged = true;
          this.paint();
        }
        return;
      }
      this.dragged = false;
      const place = this.placeAt(event);
      if (place) this.app.tip(event, ...this.say(place));
      else this.app.tip();
    });
    this.canvas.addEventListener("pointerleave", () => this.app.tip());
    this.canvas.addEventListener("click", (event) => {
      if (!this.dragged) this.pick(this.placeAt(event));
      this.dragged = false;
    });
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || document.activeElement === this.canvas) {
          event.preventDefault();
          this.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event);
        }
      },
      { passive: false },
    );
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.paint());
    this.canvas.addEventListener("blur", () => this.paint());
  }

  draw() {
    const { view, release, words } = this.app;
    const side = ["on", "off", ""].includes(sideOf(view.table)) ? sideOf(view.table) : "on";
    const whole = release.like(view.table, ["location"], side),
      timed = release.like(view.table, ["location", "time"], side);
    const code = timed ? view.timeIn(timed) : null;
    this.table = code !== null && timed ? timed : (whole ?? null);
    this.code = this.table === timed && code !== null ? code : 0;
    this.places = this.table && !this.table.wider ? this.placesOf(release.labels.mode?.[view.part.mode]) : [];
    at("map").hidden = !this.places.length;
    if (at("map").hidden) return;
    this.cells = this.table.cells(view.part);
    this.other = view.comparing ? this.table.cells(view.other) : null;
    const most = this.table.most(view.part, view.day);
    this.scale = this.other
      ? new Difference(
          this.app.colours,
          largest(this.places, (place) => Math.abs(this.value(place) ?? 0), 1),
        )
      : new Scale(this.app.colours, Math.min(this.table.smallest, most), most);
    at("map-title").textContent = `${words.side(this.table) || "Trips"} on the map`;
    const when = this.code ? words.span(this.table, this.code) : words.whole(view);
    const shown = this.places.filter((place) => this.value(place) !== null).length;
    at("map-note").textContent =
      `${this.other ? "Change over" : "Counts for"} ${when}: ${number(shown)} of ${number(this.places.length)} places ${this.other ? "published on both days" : "published"}${release.every_cell ? "." : "; the others are hatched or hollow."}`;
    legend(
      at("map-legend"),
      this.app,
      this.scale,
      this.other ? `more on ${words.label(this.table, view.day, view.part[view.day], view.part)}` : release.counted,
      this.other ? "not published on one of the two days" : `not published: ${words.absent(this.table)}`,
    );
    this.canvas.setAttribute("aria-label", `Map of ${plural(this.places.length, "place")}, ${when}`);
    this.paint();
  }

  placesOf(mode) {
    const key = mode ?? "*";
    if (!this.known.has(key)) {
      const codes = this.app.release.labels["*place"] ? this.app.release.codesOf("*place") : new Map();
      const own = this.app.release.shapes.some((shape) => shape.properties.mode === mode);
      const shapes = this.app.release.shapes.filter(
        (shape) =>
          shape.properties.mode === (own ? mode : "*") && (own || this.isOf(mode, codes.get(shape.properties.name))),
      );
      this.known.set(
        key,
        shapes.map((shape) => Object.assign(new Spot(shape), { code: codes.get(shape.properties.name) ?? -1 })),
      );
    }
    return this.known.get(key);
  }

  // Whether a place is published for a mode on any day: a list for all modes has places of others, too.
  isOf(mode, code) {
    if (mode === undefined) return true;
    if (!this.served.has(mode)) {
      const wanted = this.app.release.labels.mode.indexOf(mode),
        found = new Set();
      for (const table of this.app.release.tables.filter((each) => !each.wider))
        for (const column of table.columns.filter((each) => table.kind(each) === "location")) {
          for (let row = 0; row < table.rows; row++)
            if (table.codes.mode[row] === wanted) found.add(table.codes[column][row]);
        }
      this.served.set(mode, found);
    }
    return this.served.get(mode).has(code);
  }

  count(place) {
    return place.code < 0
      ? SUPPRESSED
      : this.table.columns.length > 1
        ? this.cells.at(place.code, this.code)
        : this.cells.at(place.code);
  }

  value(place) {
    const one = this.count(place);
    if (one === SUPPRESSED || !this.other) return one === SUPPRESSED ? null : one;
    const two = this.table.columns.length > 1 ? this.other.at(place.code, this.code) : this.other.at(place.code);
    return two === SUPPRESSED ? null : one - two;
  }

  // Degrees to the page: narrower towards the poles, everything in sight at first.
  fit(width, height) {
    const corners = this.places.flatMap((place) => [...place.points, ...place.rings.flat()]);
    let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [x, y] of corners) {
      west = Math.min(west, x);
      east = Math.max(east, x);
      south = Math.min(south, y);
      north = Math.max(north, y);
    }
    const narrow = Math.cos((((south + north) / 2) * Math.PI) / 180),
      edge = 16;
    const size =
      Math.min(
        (width - 2 * edge) / Math.max(1e-6, (east - west) * narrow),
        (height - 2 * edge) / Math.max(1e-6, north - south),
      ) * this.near.zoom;
    const middle = [(west + east) / 2, (south + north) / 2];
    return ([x, y]) => [
      width / 2 + (x - middle[0]) * narrow * size + this.near.x,
      height / 2 - (y - middle[1]) * size + this.near.y,
    ];
  }

  paint() {
    if (!this.places?.length) return;
    const { colours, view } = this.app;
    const width = Math.max(280, this.app.width["map-plot"]),
      height = Math.round(Math.min(460, Math.max(300, width * 0.75)));
    const draw = pen(this.canvas, width, height),
      to = (this.to = this.fit(width, height));
    const areas = this.places.filter((place) => place.rings.length),
      points = this.places.filter((place) => !place.rings.length);
    for (const place of areas) {
      const value = this.value(place);
      draw.beginPath();
      for (const ring of place.rings) ring.forEach((corner, i) => draw[i ? "lineTo" : "moveTo"](...to(corner)));
      draw.closePath();
      draw.fillStyle = value === null ? colours.hatch(draw) : this.scale.colour(value);
      draw.fill("evenodd");
      draw.strokeStyle = colours.paper;
      draw.lineWidth = 1;
      draw.stroke();
    }
    const small = points.length > 400 ? 0.6 : 1;
    const sorted = [...points].sort((a, b) => (this.value(a) ?? -1e9) - (this.value(b) ?? -1e9));
    for (const place of sorted) {
      const value = this.value(place);
      const size =
        value === null
          ? 2.5
          : (this.other ? 3 + 7 * Math.abs(this.scale.share(value)) : 3 + 9 * this.scale.share(value)) * small;
      for (const point of place.points.length > 40 ? [place.middle] : place.points) {
        const [x, y] = to(point);
        if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue;
        draw.beginPath();
        draw.arc(x, y, size * (place.points.length > 1 ? 0.75 : 1), 0, 7);
        if (value === null) {
          draw.strokeStyle = colours.soft;
          draw.lineWidth = 1;
          draw.setLineDash([2, 2]);
          draw.stroke();
          draw.setLineDash([]);
        } else {
          draw.fillStyle = this.scale.colour(value);
          draw.fill();
          draw.strokeStyle = colours.soft;
          draw.lineWidth = 0.6;
          draw.stroke();
        }
      }
    }
    const marked = this.places.find((place) => place.name === view.place);
    if (marked) this.ring(draw, marked, colours.accent, 2.5);
    if (this.focus && document.activeElement === this.canvas) this.ring(draw, this.focus, colours.focus, 3);
  }

  ring(draw, place, colour, thick) {
    draw.strokeStyle = colour;
    draw.lineWidth = thick;
    if (place.rings.length) {
      draw.beginPath();
      for (const ring of place.rings) ring.forEach((corner, i) => draw[i ? "lineTo" : "moveTo"](...this.to(corner)));
      draw.closePath();
      draw.stroke();
      return;
    }
    const [x, y] = this.to(place.middle);
    draw.beginPath();
    draw.arc(x, y, 14, 0, 7);
    draw.stroke();
  }

  placeAt(event) {
    const box = this.canvas.getBoundingClientRect(),
      where = [event.clientX - box.left, event.clientY - box.top];
    let best = null,
      nearest = 18;
    for (const place of this.places) {
      for (const point of place.points) {
        const [x, y] = this.to(point),
          far = Math.hypot(x - where[0], y - where[1]);
        if (far < nearest) [best, nearest] = [place, far];
      }
    }
    return (
      best ??
      this.places.find(
        (place) =>
          place.rings.length &&
          inside(
            where,
            place.rings.map((ring) => ring.map(this.to)),
          ),
      ) ??
      null
    );
  }

  say(place) {
    const { words, view } = this.app,
      when = this.code ? `, ${words.span(this.table, this.code)}` : "",
      head = words.place(place.name, view.part) + when;
    if (!this.other) return [head, words.sentence(this.table, this.count(place))];
    const then = this.table.columns.length > 1 ? this.other.at(place.code, this.code) : this.other.at(place.code);
    return [head, ...words.compared(this.table, this.count(place), then, view)];
  }

  pick(place) {
    if (place) {
      this.focus = place;
      this.app.set({ place: place.code < 0 ? null : place.name });
      this.app.say(this.say(place).join(": "));
    }
  }

  zoom(by, event) {
    const box = this.canvas.getBoundingClientRect(),
      x = (event ? event.clientX - box.left : box.width / 2) - box.width / 2,
      y = (event ? event.clientY - box.top : box.height / 2) - box.height / 2;
    const zoom = Math.min(60, Math.max(0.7, this.near.zoom * by)),
      factor = zoom / this.near.zoom;
    this.near = { zoom, x: x + (this.near.x - x) * factor, y: y + (this.near.y - y) * factor };
    this.paint();
  }

  // To the nearest place on that side.
  key(event) {
    const ways = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.pick(this.focus);
      return;
    }
    if (event.key === "+" || event.key === "=") {
      this.zoom(1.6);
      return;
    }
    if (event.key === "-") {
      this.zoom(1 / 1.6);
      return;
    }
    const way = ways[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const start = this.focus ?? this.places.find((place) => place.name === this.app.view.place) ?? null;
    if (!start) this.focus = this.places.find((place) => this.value(place) !== null) ?? this.places[0];
    else {
      const [sx, sy] = this.to(start.middle);
      let best = null,
        least = Infinity;
      for (const place of this.places) {
        const [x, y] = this.to(place.middle),
          along = (x - sx) * way[0] + (y - sy) * way[1],
          aside = Math.abs((x - sx) * way[1]) + Math.abs((y - sy) * way[0]);
        if (place !== start && along > 0.5 && along + 2 * aside < least) [best, least] = [place, along + 2 * aside];
      }
      this.focus = best ?? start;
    }
    this.paint();
    this.app.say(this.say(this.focus).join(": "));
  }
}

function inside([x, y], rings) {
  let within = false;
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
      const [ax, ay] = ring[i],
        [bx, by] = ring[j];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
    }
  }
  return within;
}

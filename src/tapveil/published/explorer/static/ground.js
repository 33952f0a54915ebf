// The ground of a map: where places lie, what is in sight, and how one moves on it by hand or by keys.

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

class Ground {
  constructor(app, canvas, tools) {
    this.app = app;
    this.canvas = canvas;
    this.near = { zoom: 1, x: 0, y: 0 };
    this.framed = null; // the places that the first look is about; all of them where it is null
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
          this.framed = null;
          this.paint();
        },
      ],
    ];
    tools.append(
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
      const said = this.sayAt(event);
      if (said) this.app.tip(event, ...said);
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

  // What is under the pointer, in words.
  sayAt(event) {
    const place = this.placeAt(event);
    return place && this.say(place);
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
      for (const table of this.app.release.tables.filter((each) => !each.wider && each.complete))
        for (const column of table.columns.filter((each) => table.kind(each) === "location")) {
          for (let row = 0; row < table.rows; row++)
            if (table.codes.mode[row] === wanted) found.add(table.codes[column][row]);
        }
      this.served.set(mode, found);
    }
    return !this.served.get(mode).size || this.served.get(mode).has(code);
  }

  // Degrees to the page: narrower towards the poles, everything in sight at first.
  fit(width, height) {
    const corners = (this.framed ?? this.places).flatMap((place) => [...place.points, ...place.rings.flat()]);
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

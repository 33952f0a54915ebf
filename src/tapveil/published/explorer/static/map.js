// The map: the shapes of places, drawn here; nobody is asked for a picture of the streets.

class CityMap extends Ground {
  static shows = ["table", "part", "vs", "place", "time", "difference", "numbers"];

  constructor(app) {
    super(app, at("map-canvas"), at("map-tools"));
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
      `${this.other ? "Change over" : this.table.estimate ? "Estimates for" : "Counts for"} ${when}: ${release.every_cell ? "" : `${number(shown)} of `}${number(this.places.length)} places${release.every_cell ? "." : ` ${this.other ? "published on all days" : view.several ? "published on some day" : "published"}; the others are hatched or hollow.`}${this.other && this.table.estimate ? ` ${CHANGES_OF_ESTIMATES}` : ""}`;
    legend(
      at("map-legend"),
      this.app,
      this.scale,
      this.other
        ? `more: ${words.label(this.table, view.day, view.part[view.day], view.part)}`
        : release.counted + (view.several ? " a day" : ""),
      this.other ? "not published on one of the days" : `not published: ${words.absent(this.table)}`,
    );
    this.canvas.setAttribute("aria-label", `Map of ${plural(this.places.length, "place")}, ${when}`);
    this.paint();
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
    return difference(this.cells, this.other, place.code, this.table.columns.length > 1 ? this.code : 0);
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

  say(place) {
    const { words, view } = this.app,
      when = this.code ? `, ${words.span(this.table, this.code)}` : "",
      head = words.place(place.name, view.part) + when;
    const spot = (cells) => (place.code < 0 ? NOT_PUBLISHED : cells.spot(place.code, this.code));
    if (!this.other) return [head, words.sentence(this.table, spot(this.cells))];
    const { down, across } = this.cells,
      wanted = { [down]: place.code, ...(across ? { [across]: this.code } : {}) },
      change = place.code < 0 ? { value: null } : this.app.change(this.table, wanted);
    return [head, ...words.compared(this.table, spot(this.cells), spot(this.other), change, view)];
  }

  pick(place) {
    if (place) {
      this.focus = place;
      this.app.set({ place: place.code < 0 ? null : place.name });
      this.app.say(this.say(place).join(": "));
    }
  }
}

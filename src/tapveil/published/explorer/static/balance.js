// Tap-on against tap-off: a point per place. What is published on one side only is drawn in the margin of the other.

class Balance {
  static shows = ["table", "part", "place", "time", "numbers"];

  constructor(app) {
    this.app = app;
    this.canvas = at("balance-canvas");
    this.canvas.addEventListener("pointermove", (event) => {
      const found = this.pointAt(event);
      if (found) this.app.tip(event, ...this.say(found));
      else this.app.tip();
    });
    this.canvas.addEventListener("pointerleave", () => this.app.tip());
    this.canvas.addEventListener("click", (event) => {
      const found = this.pointAt(event);
      if (found) this.app.set({ place: this.app.release.labels[this.list][found.code] });
    });
  }

  draw() {
    const { view, release, words } = this.app;
    const pair = (kinds) => ["on", "off"].map((side) => release.like(view.table, kinds, side));
    const timed = pair(["location", "time"]),
      whole = pair(["location"]);
    const useTime = view.time !== null && timed.every(Boolean) && timed.every((table) => view.timeIn(table) !== null);
    this.tables = useTime ? timed : whole;
    const [on, off] = this.tables;
    const alike = on && off && (!useTime || words.span(on, view.timeIn(on)) === words.span(off, view.timeIn(off)));
    at("balance").hidden = !alike;
    if (!alike) return;
    this.list = on.lists[on.axis("location")];
    const cells = this.tables.map((table) => table.cells(view.part)),
      codes = this.tables.map((table) => (useTime ? view.timeIn(table) : 0));
    const spot = (i, code) => cells[i].spot(code, codes[i]);
    const known = new Set(cells.flatMap((each) => [...each.lines.keys()]));
    this.points = [...known]
      .map((code) => ({ code, spots: [spot(0, code), spot(1, code)] }))
      .map((point) => ({ ...point, counts: point.spots.map(({ count }) => count) }))
      .filter(({ counts }) => counts.some((n) => n !== SUPPRESSED));
    const when = useTime ? words.span(this.tables[0], codes[0]) : words.whole(view);
    at("balance-title").textContent = "Tap-on against tap-off";
    const both = this.points.filter(({ counts }) => !counts.includes(SUPPRESSED)).length;
    at("balance-note").textContent =
      `${capital(when)}: ${plural(both, "place")}${release.every_cell ? "" : ` with both published; ${number(this.points.length - both)} with one, in the hatched margins`}. On the line, as many get on as off. Blue: more get on; orange: more get off.`;
    const far = this.points
      .filter(({ counts }) => !counts.includes(SUPPRESSED))
      .sort((a, b) => uneven(b) - uneven(a))[0];
    this.canvas.setAttribute(
      "aria-label",
      `Tap-on against tap-off, ${when}: ${plural(both, "place")} with both.` +
        (far ? ` Farthest from even: ${this.say(far).join(", ")}.` : ""),
    );
    this.paint();
  }

  paint() {
    const { colours, view } = this.app;
    const width = Math.max(280, this.app.width["balance-plot"]),
      height = Math.round(Math.min(460, Math.max(300, width * 0.75))),
      left = 92,
      bottom = 66,
      top = 10,
      right = 14;
    const least = Math.max(1, Math.min(...this.tables.map((table) => table.smallest))),
      most = largest(this.points, ({ counts }) => Math.max(...counts), 2 * least);
    const share = (n) => Math.log(Math.max(n, least) / least) / Math.log((most * 1.15) / least);
    const x = (n) => (n === SUPPRESSED ? left - 14 : left + share(n) * (width - left - right)),
      y = (n) => (n === SUPPRESSED ? height - bottom + 14 : height - bottom - share(n) * (height - bottom - top));
    const draw = pen(this.canvas, width, height);
    draw.fillStyle = colours.hatch(draw);
    if (!this.app.release.every_cell) {
      draw.fillRect(left - 26, top, 22, height - bottom - top);
      draw.fillRect(left, height - bottom + 4, width - left - right, 22);
    }
    draw.font = FONT;
    draw.strokeStyle = colours.rule;
    draw.fillStyle = colours.soft;
    draw.lineWidth = 1;
    for (let power = 1; power <= most; power *= 10)
      for (const step of [1, 2, 5]) {
        const tick = power * step;
        if (tick < least || tick > most * 1.15) continue;
        draw.beginPath();
        draw.moveTo(x(tick), top);
        draw.lineTo(x(tick), height - bottom);
        draw.moveTo(left, y(tick));
        draw.lineTo(width - right, y(tick));
        draw.stroke();
        if (step === 1 || most / least < 300) {
          draw.textAlign = "center";
          draw.fillText(number(tick), x(tick), height - bottom + 40);
          draw.textAlign = "right";
          draw.fillText(number(tick), left - 32, y(tick) + 4);
        }
      }
    draw.strokeStyle = colours.soft;
    draw.setLineDash([5, 4]);
    draw.beginPath();
    draw.moveTo(x(least), y(least));
    draw.lineTo(x(most), y(most));
    draw.stroke();
    draw.setLineDash([]);
    draw.fillStyle = colours.ink;
    draw.textAlign = "right";
    draw.fillText("tap-on →", width - right, height - 6);
    draw.save();
    draw.translate(11, top + 4);
    draw.rotate(-Math.PI / 2);
    draw.fillText("tap-off →", 0, 0);
    draw.restore();
    this.placed = this.points.map((point) => ({ ...point, x: x(point.counts[0]), y: y(point.counts[1]) }));
    draw.globalAlpha = this.placed.length > 300 ? 0.55 : 0.8;
    for (const point of this.placed) {
      draw.fillStyle = point.counts[0] >= point.counts[1] ? colours.on : colours.off;
      draw.beginPath();
      draw.arc(point.x, point.y, 4, 0, 7);
      draw.fill();
    }
    draw.globalAlpha = 1;
    const chosen = this.placed.find((point) => point.code === view.placeIn(this.tables[0]));
    if (chosen) {
      draw.strokeStyle = colours.focus;
      draw.lineWidth = 3;
      draw.beginPath();
      draw.arc(chosen.x, chosen.y, 8, 0, 7);
      draw.stroke();
    }
  }

  pointAt(event) {
    const box = this.canvas.getBoundingClientRect(),
      x = event.clientX - box.left,
      y = event.clientY - box.top;
    let best = null,
      nearest = 10;
    for (const point of this.placed ?? []) {
      const far = Math.hypot(point.x - x, point.y - y);
      if (far < nearest) [best, nearest] = [point, far];
    }
    return best;
  }

  say(point) {
    const { words, view, release } = this.app;
    return [
      words.place(release.labels[this.list][point.code], view.part),
      `tap-on ${words.sentence(this.tables[0], point.spots[0])}`,
      `tap-off ${words.sentence(this.tables[1], point.spots[1])}`,
    ];
  }
}

// By which factor more get on than off, or the other way round.
const uneven = ({ counts: [on, off] }) => Math.abs(Math.log(Math.max(1, on) / Math.max(1, off)));

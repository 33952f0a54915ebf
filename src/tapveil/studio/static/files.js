// The files of a project: chosen from its folder, dropped on the page, or named where they are.

class Files {
  constructor(step) {
    this.step = step;
    this.app = step.app;
    this.folder = "";
    this.browsing = null;
    this.unread = false;
    this.wrongPath = null;
  }

  async read() {
    this.listing ??= await this.app.wire.call("files", { folder: this.folder });
  }

  // Files of the project, files that are dropped, and files elsewhere on this computer.
  draw() {
    const { project } = this.app;
    const input = el("input", {
      type: "file",
      id: "upload",
      multiple: true,
      class: "hidden",
      onchange: (event) => this.upload([...event.target.files]),
    });
    const zone = el(
      "div",
      {
        class: `zone${project.looked || project.plan ? " small" : ""}`,
        ondragover: (event) => {
          event.preventDefault();
          zone.classList.add("over");
        },
        ondragleave: () => zone.classList.remove("over"),
        ondrop: (event) => {
          event.preventDefault();
          zone.classList.remove("over");
          this.upload([...event.dataTransfer.files]);
        },
      },
      el(
        "svg",
        { viewBox: "0 0 48 48", width: 44, height: 44, "aria-hidden": "true", focusable: "false" },
        el("path", { d: "M24 31V9m0 0-9 9m9-9 9 9M8 30v9h32v-9" }),
      ),
      el(
        "p",
        {},
        el("b", {}, "Drop files here"),
        " or ",
        el("label", { for: "upload", class: "button" }, "Choose files"),
        input,
      ),
      el(
        "p",
        { class: "fine" },
        "CSV (also .gz), Excel or Parquet; a GTFS timetable and lists of places as well. Files are copied into the folder of this project and never leave this computer.",
      ),
    );
    const ours = new Set(project.state.published.map((folder) => folder.name)),
      found = this.listing.entries.filter((entry) =>
        entry.folder ? !ours.has(entry.path) : entry.kind !== "other" || this.folder,
      );
    const trips = found.filter((entry) => entry.folder || entry.kind === "trips"),
      beside = found.filter((entry) => ["timetable", "places"].includes(entry.kind));
    return card(
      { title: project.looked ? "The files" : "Choose the export", span: true, id: "choose" },
      zone,
      el(
        "fieldset",
        { class: "choices vertical" },
        el("legend", {}, this.folder ? `In ${this.listing.folder}` : "In this project"),
        this.folder
          ? el(
              "button",
              {
                type: "button",
                class: "link",
                onclick: () =>
                  this.browse(
                    this.listing.folder.includes("/") ? this.listing.folder.replace(/\/[^/]*$/, "") || "/" : "",
                  ),
              },
              "↑ The folder above",
            )
          : null,
        trips.length ? null : el("p", { class: "note" }, "No export is in this folder yet."),
        el(
          "div",
          { class: "options files" },
          trips.map((entry, i) => this.entry(entry, i)),
        ),
      ),
      beside.length
        ? el(
            "div",
            {},
            el("p", { class: "label" }, "Public files next to it"),
            beside.map((entry) => {
              const key = entry.kind === "timetable" ? "gtfs" : "places";
              return tickbox(
                `beside-${entry.path}`,
                entry.name,
                project.chosen[key] === entry.path,
                (on) => this.step.look({ [key]: on ? entry.path : null }),
                entry.kind === "timetable"
                  ? "A timetable: names and coordinates of stops"
                  : "A list of all places: then every cell can be published, and none is left out",
              );
            }),
          )
        : null,
      el(
        "details",
        { open: this.browsing !== null },
        el("summary", { id: "elsewhere" }, "Files elsewhere on this computer"),
        el(
          "form",
          {
            class: "fields",
            onsubmit: (event) => {
              event.preventDefault();
              this.elsewhere(typedIn("path"));
            },
          },
          field("path", "A file, a folder, or a pattern such as /exports/2025-*.csv", {
            note: "It is read where it is, and not copied.",
            wrong: this.wrongPath,
          }),
          spaced(el("div", { class: "tools" }, el("button", { type: "submit" }, "Look at it"))),
        ),
        tickbox(
          "unread",
          "Read no row of it",
          this.unread,
          (on) => {
            this.unread = on;
            if (project.chosen.trips) this.step.look({ look: on ? "nothing" : "columns" });
            else project.chosen.look = on ? "nothing" : "columns";
          },
          "Only the names of files and columns are used; there are more questions then.",
        ),
      ),
    );
  }

  entry(entry, i) {
    const { project } = this.app;
    if (entry.folder)
      return el(
        "div",
        { class: "option" },
        el(
          "button",
          { type: "button", class: "face row", onclick: () => this.browse(entry.path) },
          el("span", { class: "what" }, `${entry.name}/`),
          el("small", {}, "a folder: open it"),
        ),
      );
    return el(
      "label",
      { class: "option" },
      el("input", {
        type: "radio",
        name: "trips",
        id: `trips-${i}`,
        value: entry.path,
        checked: project.chosen.trips === entry.path,
        onchange: () => this.step.look({ trips: entry.path, answers: {} }),
      }),
      el(
        "span",
        { class: "face row" },
        el("span", { class: "what" }, bidi(entry.name)),
        el("small", {}, bytes(entry.size)),
      ),
    );
  }

  async browse(folder) {
    await this.app.attempt(async () => {
      this.listing = await this.app.wire.call("files", { folder });
      this.folder = folder;
      this.browsing = folder || null;
      await this.app.draw();
    });
  }

  async elsewhere(path) {
    this.browsing = path;
    if (!path) {
      this.wrongPath = "Type where the file is, such as /home/me/trips.csv.";
      return this.app.draw();
    }
    this.wrongPath = null;
    return this.step.look({ trips: path, answers: {} });
  }

  // Copies files into the project, then looks at all of them together.
  async upload(files) {
    const { wire, shell } = this.app,
      trips = [],
      beside = {};
    for (const file of files) {
      this.step.job = { stage: "Copying", detail: `${file.name}, ${bytes(file.size)}`, share: null };
      await this.app.draw();
      let path = null;
      const done = await this.app.attempt(async () => {
        path = await this.copied(file);
      });
      if (!done) break;
      this.folder = folderOf(path);
      this.listing = await wire.call("files", { folder: this.folder });
      const kind = this.listing.entries.find((each) => each.path === path)?.kind;
      if (kind === "timetable") beside.gtfs = path;
      else if (kind === "places") beside.places = path;
      else trips.push(path);
      shell.say(`${file.name} is copied.`);
    }
    this.step.job = null;
    await this.step.look({ ...beside, ...(trips.length ? { trips: together(trips, this.listing.entries), answers: {} } : {}) });
  }

  async copied(file) {
    const { wire } = this.app;
    try {
      return (await wire.upload(file, false)).path;
    } catch (error) {
      if (error.kind !== "Exists" || !confirm(`${file.name} is in the project already. Replace it?`)) throw error;
      return (await wire.upload(file, true)).path;
    }
  }
}

const folderOf = (path) => (path.includes("/") ? path.replace(/\/[^/]*$/, "") : "");

// Several files as one pattern: by the end of their names, and by how they begin where that would take in other files.
function together(paths, entries) {
  if (paths.length === 1) return paths[0];
  const ends = new Set(paths.map((path) => /\.(csv|csv\.gz|txt|xlsx|parquet)$/i.exec(path)?.[0] ?? "")),
    end = ends.size === 1 ? [...ends][0] : "",
    folder = folderOf(paths[0]) ? `${folderOf(paths[0])}/` : "",
    others = entries.filter((entry) => !entry.folder && !paths.includes(entry.path) && entry.path.endsWith(end));
  let begin = paths[0];
  while (!paths.every((path) => path.startsWith(begin))) begin = begin.slice(0, -1);
  return `${others.length ? begin.replace(/[[?*].*/, "") : folder}*${end}`;
}

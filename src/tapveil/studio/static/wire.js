// What is asked of the studio's server, and what it tells by itself. Every request carries the key of this page.

class Failure extends Error {
  constructor(status, error) {
    super(error?.message ?? "The studio did not answer as expected.");
    this.status = status;
    this.kind = error?.kind ?? "Fault";
    this.code = error?.code ?? null;
    this.problems = error?.problems ?? [];
  }
}

class Wire {
  constructor() {
    const data = document.documentElement.dataset;
    this.key = data.key;
    this.folder = data.folder;
    history.replaceState(null, "", `/resume/${data.resume}${location.hash}`);
    for (const name of ["key", "resume", "folder"]) delete data[name];
    this.jobs = new Map();
    this.watchers = new Map();
    this.ended = false;
    this.heard = new Promise((resolve) => {
      this.begun = resolve;
    });
    this.onend = () => {};
    this.onchange = () => {};
    this.oncalibrated = () => {};
    this.onjob = () => {};
    // On a reload the next request leaves before the page is hidden: so the goodbye is said at both moments.
    for (const moment of ["beforeunload", "pagehide"])
      window.addEventListener(moment, () => {
        if (this.ended) return;
        fetch("/api/bye", { method: "POST", keepalive: true, headers: this.headers(), body: "{}" }).catch(() => {});
      });
  }

  headers(more = {}) {
    return { Authorization: `Bearer ${this.key}`, "Content-Type": "application/json", ...more };
  }

  // Once the studio has ended, its address may be another program's: nothing is sent there, and no passphrase above all.
  async post(name, options) {
    let answer = null;
    for (let left = READS.has(name) ? 2 : 1; !answer; left -= 1) {
      if (this.ended) throw new Failure(0, { kind: "Ended", message: ENDED });
      try {
        answer = await fetch(`/api/${name}`, { method: "POST", cache: "no-store", credentials: "omit", ...options });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        if (left === 1) this.end();
        else await new Promise((resolve) => setTimeout(resolve, AGAIN));
      }
    }
    if (answer.status === 403) {
      this.end();
      throw new Failure(403, { kind: "Ended", message: ENDED });
    }
    return answer;
  }

  async call(name, body = {}, signal = undefined) {
    return this.read(await this.post(name, { headers: this.headers(), body: JSON.stringify(body), signal }));
  }

  async read(answer) {
    const found = await answer.json().catch((error) => {
      if (error.name === "AbortError") throw error; // given up half-way, which is no fault
      return null;
    });
    if (!answer.ok || found === null) throw new Failure(answer.status, found?.error);
    return found;
  }

  async upload(file, replace) {
    const headers = this.headers({
      "Content-Type": "application/octet-stream",
      "X-Name": encodeURIComponent(file.name),
    });
    if (replace) headers["X-Replace"] = "yes";
    return this.read(await this.post("upload", { headers, body: file }));
  }

  // What happens without being asked for: jobs that go on, files that were changed by a command.
  async listen() {
    try {
      const answer = await this.post("events", { headers: this.headers(), body: "{}" });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line) this.hear(JSON.parse(line));
      }
    } catch (error) {
      if (error.kind !== "Ended" && error.name !== "TypeError") throw error;
    }
    this.end();
  }

  hear(event) {
    if (event.event === "hello") {
      for (const job of event.jobs) this.hearJob(job);
      this.begun();
    }
    if (event.event === "job") this.hearJob(event.job);
    if (event.event === "changed") this.onchange(event.what);
    if (event.event === "calibrated") this.oncalibrated();
    if (event.event === "resume") history.replaceState(null, "", `/resume/${event.token}${location.hash}`);
  }

  hearJob(job) {
    this.jobs.set(job.id, job);
    if (this.watchers.has(job.id)) this.watchers.get(job.id)(job);
    else this.onjob(job);
  }

  end() {
    if (this.ended) return;
    this.ended = true;
    this.begun();
    this.onend();
  }

  // A job that was started: resolves with its result, and tells how far it is.
  async follow(id, watch = () => {}) {
    const over = new Promise((resolve) => {
      this.watchers.set(id, (job) => {
        watch(job);
        if (!UNDER_WAY.has(job.state)) resolve();
      });
    });
    const now = await this.call("job", { job: id });
    watch(now);
    if (UNDER_WAY.has(now.state)) await over;
    this.watchers.delete(id);
    const found = UNDER_WAY.has(now.state) ? await this.call("job", { job: id }) : now;
    if (found.state === "done") return found.result;
    throw new Failure(422, found.error ?? { kind: "Cancelled", message: "It was stopped, and nothing was changed." });
  }

  async work(name, body, watch) {
    const answer = await this.call(name, body);
    return "job" in answer ? this.follow(answer.job, watch) : answer;
  }
}

// What changes nothing, and may be asked for twice: one request that is lost must not end the page.
const READS = new Set([
  ..."project plan presets options files job preview map promise ledger approval portals".split(" "),
]);
const AGAIN = 500;
const UNDER_WAY = new Set(["waiting", "running"]);
const ENDED =
  "This studio has ended. What you decided is in the plan. To go on, start it again: tapveil studio, in the same folder. Close this page, and do not load it again: its address may belong to another program now.";

// Of several questions of one kind, the last is the one that counts: those before are given up.
function latest(ask) {
  let controller = null;
  return async (...words) => {
    controller?.abort();
    const own = (controller = new AbortController());
    try {
      return await ask(own.signal, ...words);
    } catch (error) {
      if (error.name === "AbortError") return null;
      throw error;
    }
  };
}

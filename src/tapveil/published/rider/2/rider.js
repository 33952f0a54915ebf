"use strict";
{
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const at = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  let said = facts.texts.en;

  const el = (name, text, kind) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const fill = (text, words) => text.replace(/\{(\w+)\}/g, (slot, name) => words[name] ?? slot);
  const number = (text) => String(text).replace(".", said.point);

  // A hundred dots: round ends of lines without a length.
  const square = (of100) => {
    const exact = Number(of100);
    const full = exact === 0 || exact === 100 ? exact : Math.min(99, Math.max(1, Math.round(exact)));
    const drawn = document.createElementNS(SVG, "svg");
    drawn.setAttribute("viewBox", "0 0 140 140");
    drawn.setAttribute("aria-hidden", "true");
    for (const [kind, from, to] of [["full", 0, full], ["empty", full, 100]]) {
      const path = document.createElementNS(SVG, "path");
      let d = "";
      for (let dot = from; dot < to; dot += 1) d += `M${(dot % 10) * 14 + 7} ${Math.floor(dot / 10) * 14 + 7}h0`;
      path.setAttribute("d", d || "M0 0");
      path.setAttribute("class", kind);
      path.setAttribute("stroke-width", "9");
      path.setAttribute("stroke-linecap", "round");
      drawn.append(path);
    }
    return drawn;
  };

  const dots = (wrong, right) => {
    const row = el("div", "", "dots");
    for (const [of100, words] of [[wrong, said.if_not], [right, said.if_so]]) {
      const figure = el("figure");
      const caption = el("figcaption", words);
      caption.prepend(el("b", number(of100)));
      figure.append(square(of100), caption);
      row.append(figure);
    }
    return row;
  };

  const result = (row) => {
    const made = el("section");
    made.append(el("h3", row.releases === 1 ? said.this_release : fill(said.a_year, { releases: row.releases })));
    if (row.of_100 && row.verdict !== "none") {
      const [wrong, right] = row.of_100;
      made.append(el("p", fill(said.frequencies, { wrong: number(wrong), right: number(right) })), dots(wrong, right));
    }
    made.append(el("p", said.verdict[row.verdict], "verdict"));
    return made;
  };

  const slide = () => {
    const trips = Number(at("trips").value);
    at("shown").textContent = trips;
    const stated = [...new Set(facts.people.map((row) => row.trips))].sort((a, b) => a - b);
    const used = stated.find((each) => each >= trips) ?? stated.at(-1);
    at("results").replaceChildren(...facts.people.filter((row) => row.trips === used).map(result));
    at("up-to").textContent = fill(said.up_to, { trips: used });
  };

  const show = () => {
    document.documentElement.lang = at("languages").value;
    said = facts.texts[at("languages").value];
    document.title = `${said.heading} ${facts.title}`;
    document.querySelector("label[for=languages]").textContent = said.language;
    document.querySelector("label[for=trips]").textContent = said.slider;
    at("heading").textContent = said.heading;
    at("intro").textContent = `${fill(said.intro, { title: facts.title })} ${said.unit}`;
    at("one-heading").textContent = said.one_heading;
    at("given").textContent = facts.given ? said.given : "";
    const { wrong, right, verdict } = facts.unit;
    const words = fill(said.frequencies, { wrong: number(wrong), right: number(right) });
    at("one-words").textContent = `${said.one_unit} ${words} ${said.verdict[verdict]}`;
    at("one-dots").replaceChildren(...dots(wrong, right).children);
    at("person-heading").textContent = said.person_heading;
    at("person-words").textContent = facts.people.length ? said.person : said.no_days;
    for (const each of ["trips", "shown", "results", "up-to"]) at(each).hidden = !facts.people.length;
    document.querySelector(".slider").hidden = !facts.people.length;
    if (facts.people.length) slide();
    at("not-heading").textContent = said.not_heading;
    at("not-words").replaceChildren(...said.not.map((each) => el("li", each)));
    at("check").textContent = said.check;
    at("back").textContent = said.back;
  };

  for (const [code, texts] of Object.entries(facts.texts)) {
    const option = el("option", texts.name);
    option.value = code;
    option.lang = code;
    at("languages").append(option);
  }
  const wanted = navigator.languages.map((each) => each.slice(0, 2)).find((each) => each in facts.texts);
  at("languages").value = wanted ?? "en";
  for (const each of ["language", "one-heading", "person", "not"]) at(each).hidden = false;
  at("languages").addEventListener("change", show);
  at("trips").addEventListener("input", slide);
  show();
}

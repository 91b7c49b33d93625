// The colours of frames. Each is light enough for dark text: a contrast of at least 4.5, which test/browser/page.mjs checks.
import { reasonColour } from "./waits.js";

export const INK = "#1d1d1f";

// By kind of frame, as answers bring them: lang/frame_type.c and the languages have the table.
const known = new Map(), UNKNOWN = "#cdb79e";

export function learnColours(kinds, colours) {
  kinds.forEach((kind, i) => known.set(kind, colours[i]));
}

function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++)
    value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

// As six digits, which canvases read fastest.
function colour(hue, saturation, light) {
  const part = n => {
    const k = (n + hue / 30) % 12, a = saturation * Math.min(light, 100 - light) / 10000;
    return Math.round(255 * (light / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)))).toString(16).padStart(2, "0");
  };
  return "#" + part(0) + part(8) + part(4);
}

export function kindColour(kind, shade = 0) {
  const base = known.get(kind) ?? UNKNOWN;
  const part = at => {
    const value = parseInt(base.slice(at, at + 2), 16);
    return Math.round(value + (255 - value) * shade / 40).toString(16).padStart(2, "0");
  };
  return shade ? "#" + part(1) + part(3) + part(5) : base;
}

export function textColour(text) {
  const value = hash(text);
  return colour(value % 360, 55, 68 + (value >>> 9) % 12);
}

// Neighbours of one kind differ a little, so that the eye can tell them apart.
export function frameColours(tree, by, fileOf) {
  return tree.frames.name.map((name, i) => {
    const kind = tree.kinds[tree.frames.kind[i]];
    if (kind === "label" && tree.isByReason)
      return reasonColour(name);
    if (by === "file")
      return textColour(fileOf(i));
    return by === "name" ? textColour(name) : kindColour(kind, hash(name) % 5 * 2.5);
  });
}

// Red for more, blue for less, grey for the same: tells apart for the colour-blind as well.
export function differenceColour(now, then) {
  const change = then || now ? (now - then) / Math.max(now, then) : 0, strength = Math.min(1, Math.abs(change));
  if (strength < 0.02)
    return "#d3d5da";
  return change > 0 ? colour(8, 85, 88 - 24 * strength) : colour(208, 75, 86 - 24 * strength);
}

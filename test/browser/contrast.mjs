// SPDX-License-Identifier: Apache-2.0
// The contrast of the page's colours, as WCAG counts it.

// Runs in the page: pairs of [what, text colour, background] of a theme, as the browser computes them.
export async function palette(theme) {
  const { INK, kindColour, textColour, differenceColour } = await import("/ui/colours.js");
  document.documentElement.className = theme;
  const style = getComputedStyle(document.documentElement), probe = document.body.appendChild(document.createElement("i"));
  const computed = colour => {
    probe.style.color = "";
    probe.style.color = colour;
    return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  };
  const variable = name => style.getPropertyValue("--" + name).trim(), pairs = [];
  for (const text of ["fg", "dim", "accent"])
    for (const ground of ["bg", "panel", "empty"])
      pairs.push([`${text} on ${ground}`, computed(variable(text)), computed(variable(ground))]);
  pairs.push(["found", computed(INK), computed(variable("found"))]);
  for (const kind of ["kernel", "native", "go", "jvm", "cpython", "v8js", "ruby", "php", "perl", "dotnet", "beam", "label", "other", "?"])
    for (const shade of [0, 10])
      pairs.push([`${kind} +${shade}`, computed(INK), computed(kindColour(kind, shade))]);
  for (let i = 0; i < 400; i++)
    pairs.push([`name ${i}`, computed(INK), computed(textColour("function_" + i))]);
  for (const [now, then] of [[1, 0], [0, 1], [1, 1], [2, 1], [1, 2]])
    pairs.push([`difference of ${now} and ${then}`, computed(INK), computed(differenceColour(now, then))]);
  probe.remove();
  document.documentElement.className = "";
  return pairs;
}

function luminance(colour) {
  const [red, green, blue] = colour.map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(pairs) {
  return pairs.map(([what, text, ground]) => {
    const [dark, light] = [luminance(text), luminance(ground)].sort((a, b) => a - b);
    return { what, ratio: (light + 0.05) / (dark + 0.05) };
  });
}

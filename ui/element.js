// An element of the page: attributes, what happens on events (onclick and alike), and what it holds.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on"))
      made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined)
      made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

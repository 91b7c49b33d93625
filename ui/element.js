// An element of the page: attributes, what happens on events (onclick and alike), and what it holds.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on"))
      made[key] = value;
    else if (value !== false && value !== undefined)
      made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const HANDLERS = ["onclick", "onchange", "oncontextmenu", "ondragover", "ondrop", "onpointerenter", "onpointerleave"];
const keyOf = node => node.dataset?.key;

// Makes a node what another one is, which is then good for nothing. False: it cannot become that.
function become(node, other) {
  if (node.nodeType !== other.nodeType || node.nodeName !== other.nodeName || keyOf(node) !== keyOf(other))
    return false;
  if (node.nodeType !== 1) {
    if (node.data !== other.data)
      node.data = other.data;
    return true;
  }
  // The policy of the page lets no attribute set a style.
  if (node.style.cssText !== other.style.cssText)
    node.style.cssText = other.style.cssText;
  for (const { name, value } of other.attributes)
    if (name !== "style" && node.getAttribute(name) !== value)
      node.setAttribute(name, value);
  for (const { name } of [...node.attributes])
    if (name !== "style" && !other.hasAttribute(name))
      node.removeAttribute(name);
  for (const name of HANDLERS)
    node[name] = other[name];
  update(node, ...other.childNodes);
  return true;
}

// An element holds these from now on. What it held before and is like one of them, by data-key or by its place, stays as an element and
// becomes that: focus, a selection and what the mouse is at are not lost when numbers change.
export function update(parent, ...children) {
  const old = [...parent.childNodes], byKey = new Map(old.filter(keyOf).map(node => [keyOf(node), node]));
  const unkeyed = old.filter(node => !keyOf(node)), wanted = children.map(child => typeof child === "string" ? document.createTextNode(child) : child);
  const kept = wanted.map(child => {
    const before = keyOf(child) ? byKey.get(keyOf(child)) : unkeyed.shift();
    byKey.delete(keyOf(child));
    return before && become(before, child) ? before : child;
  });
  const stays = new Set(kept);
  for (const node of old)
    if (!stays.has(node))
      node.remove();
  // Whatever has the focus loses it when it is moved: the others are moved around it.
  const pivot = kept.findIndex(node => node.parentNode === parent && node.contains(document.activeElement));
  let at = parent.firstChild;
  kept.forEach((node, i) => {
    while (i === pivot && at !== node) {
      const next = at.nextSibling;
      parent.append(at);
      at = next;
    }
    if (node === at)
      at = at.nextSibling;
    else
      parent.insertBefore(node, at);
  });
}

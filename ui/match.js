// Which functions a text means; src/web/matcher.h says the same for the server.
// Letters of ASCII alone are equal in both cases, as on the server.
export const letters = text => text.replace(/[A-Z]+/g, capitals => capitals.toLowerCase());

// Gives a function from (name, kind, file name, name in small letters) to whether it is meant, or throws what is wrong with the text.
export function matcher(text) {
  if (text.startsWith("kind="))
    return (name, kind) => kind === text.slice(5);
  if (text.startsWith("file="))
    return (name, kind, file) => file === text.slice(5);
  if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
    const expression = new RegExp(text.slice(1, -1), "i");
    return name => expression.test(name);
  }
  const part = letters(text);
  return (name, kind, file, small) => small.includes(part);
}

// The text that means this name and no other.
export function exactly(name) {
  return "/^" + name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + "$/";
}

export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

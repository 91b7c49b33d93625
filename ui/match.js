// Which functions a text means; src/web/matcher.h says the same for the server.
// Letters of ASCII alone are equal in both cases, as on the server.
export const letters = text => text.replace(/[A-Z]+/g, capitals => capitals.toLowerCase());

const isExpression = text => text.length > 2 && text.startsWith("/") && text.endsWith("/");

// "file=prog", or of a path: that file and no other. Behind a space there may be an expression, which has no " /" in it.
function fileMatcher(text) {
  const at = text.endsWith("/") ? text.lastIndexOf(" /", text.length - 3) : -1, file = at < 0 ? text : text.slice(0, at);
  const isIt = (name, path) => (file.startsWith("/") ? path : name) === file;
  if (at < 0)
    return (name, kind, base, small, path) => isIt(base, path);
  const inner = matcher(text.slice(at + 1));
  return (name, kind, base, small, path) => isIt(base, path) && inner(name);
}

// Gives a function from (name, kind, name of its file, name in small letters, path of its file) to whether it is meant, or throws what is wrong with the text.
export function matcher(text) {
  if (text.startsWith("kind="))
    return (name, kind) => kind === text.slice(5);
  if (text.startsWith("file="))
    return fileMatcher(text.slice(5));
  if (isExpression(text)) {
    const expression = new RegExp(text.slice(1, -1), "i");
    return name => expression.test(name);
  }
  const part = letters(text);
  return (name, kind, file, small) => small.includes(part);
}

// The text that means this name and no other; in a file, if there is one.
export function exactly(name, file) {
  const expression = "/^" + name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + "$/";
  return file ? `file=${file} ${expression}` : expression;
}

export function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

// SPDX-License-Identifier: Apache-2.0
// token.mjs URL TOKEN [tls]: a page that wants a token, in Chromium: who has it signs in, follows links from elsewhere, and signs out. Prints TAP.
import http from "node:http";
import { check, end, look } from "./look.mjs";

const [url, token, tls] = process.argv.slice(2);
const looking = await look(url, { ignoreHTTPSErrors: true }), { page, errors, elsewhere } = looking;
const signIn = async text => {
  await page.fill("input[name=token]", text);
  await page.click("button[type=submit]");
};
const annotate = () => page.evaluate(async () => (await fetch("/api/v1/annotations", { method: "POST", body: new URLSearchParams({ title: "x" }) })).status);
const send = () => page.evaluate(async () => (await fetch("/api/v1/files", { method: "POST", body: "a;b 1\n" })).status);
const status = () => page.evaluate(async () => (await fetch("/api/v1/generation")).status);
const cookie = async () => (await page.context().cookies()).find(({ name }) => name === "wick_session");

await page.goto(url + "/?view=status&live=");
check("asks for the token by a form", await page.locator("input[name=token]").isVisible() && /token/.test(await page.textContent("main")));
check("takes nothing", await annotate() === 401 && await send() === 401);
check("tells nothing else", (await page.evaluate(async () => (await fetch("/ui/app.js")).status)) === 401 && await status() === 401);
await signIn("not-" + token);
check("says that a token is wrong", /not the token/.test(await page.textContent("[role=status]")) && !(await cookie()));
await signIn(token);
await page.waitForSelector("#status-view .card");
check("goes where one wanted to go", page.url() === url + "/?view=status&live=", page.url());
const session = await cookie();
check("takes files and annotations then", await annotate() === 200 && await send() === 200);
check("has a session that is not the token", session.value.length === 32 && !session.value.includes(token) && session.httpOnly && session.sameSite === "Lax", session);
check(tls ? "whose cookie is for TLS only" : "by plain http, too", session.secure === Boolean(tls), session);

// A link in a mail or a chat, that is on another site.
const site = http.createServer((request, response) => response.setHeader("content-type", "text/html").end(`<a href="${url}/?view=top&live=">a link</a>`));
await new Promise(resolve => site.listen(0, "127.0.0.1", resolve));
await page.goto(`http://localhost:${site.address().port}/`);
await page.click("a");
await page.waitForSelector("#top-view");
check("follows a link from another site", page.url() === url + "/?view=top&live=" && await status() === 200, page.url());

await page.goto("about:blank"); // a page that looks on would ask for the form when it is refused
await page.context().clearCookies();
await page.goto(`${url}/?view=status&token=${encodeURIComponent(token)}&live=`);
await page.waitForSelector("#status-view .card");
check("takes a token in an address with more in it, and out of it", page.url() === url + "/?view=status&live=" && (await cookie()).value !== session.value, page.url());
const last = (await cookie()).value;
await page.evaluate(() => fetch("/sign-out", { method: "POST" }));
await page.context().addCookies([{ name: "wick_session", value: last, url }]);
check("is signed out for good, even with the old cookie", await status() === 401);
await page.goto(url + "/");
check("asks again then", await page.locator("input[name=token]").isVisible());
site.close();
errors.splice(0, errors.length, ...errors.filter(error => !/401/.test(error)));
elsewhere.length = 0;
await end(looking);

// What somebody does in VS Code, in a real browser: open files, see, ask, fix, save, change the settings. Prints JSON.
// Its one argument is JSON: url and folder of code-server, browser, modules, the file and the line of a finding, its code,
// other files to open, the text of settings that hide the finding, and the folder that pictures go to.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const asked = JSON.parse(process.argv[2]);
const puppeteer = createRequire(path.join(asked.modules, "x.js"))("puppeteer-core");
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const said = { before: [], others: {} };

async function until(what, check, seconds = 40) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await pause(100);
  }
}

const browser = await puppeteer.launch({
  executablePath: asked.browser,
  headless: true,
  args: ["--no-sandbox", "--force-color-profile=srgb", "--lang=en-US"],
  defaultViewport: { width: 960, height: 540 },
});
const page = await browser.newPage();

async function press(...keys) {
  for (const key of keys.slice(0, -1)) await page.keyboard.down(key);
  await page.keyboard.press(keys.at(-1));
  for (const key of keys.slice(0, -1).reverse()) await page.keyboard.up(key);
  await pause(200);
}

/** Run a command of the palette by its name. */
async function command(name) {
  await press("F1");
  await page.waitForSelector(".quick-input-widget input");
  await page.keyboard.type(name, { delay: 5 });
  await until(name, () => page.$(".quick-input-list .monaco-list-row.focused"));
  await pause(300);
  await press("Enter");
  await pause(300);
}

/** What the panel of problems shows of the files that are open: file, message, source and place of each. */
async function problems() {
  const rows = await page.$$eval(".markers-panel-container .monaco-list-row", (found) =>
    found.map((row) => ({ level: Number(row.getAttribute("aria-level")), text: row.textContent }))
  );
  return rows.filter((row) => row.level === 2).map((row) => row.text);
}

async function open(name) {
  await press("Control", "p");
  await page.waitForSelector(".quick-input-widget input");
  await page.keyboard.type(name, { delay: 5 });
  await until(name, () => page.$(".quick-input-list .monaco-list-row.focused"));
  await pause(500);
  await press("Enter");
  await until(name, () => page.evaluate((n) => document.title.startsWith(n), name));
}

async function goTo(line, column) {
  await press("Control", "g");
  await page.waitForSelector(".quick-input-widget input");
  await page.keyboard.type(`${line}:${column}`);
  await press("Enter");
  await pause(300);
}

async function picture(name) {
  if (asked.pictures) await page.screenshot({ path: path.join(asked.pictures, `${name}.png`) });
}

/** What the tooltip at the cursor says. */
async function hover() {
  await press("Control", "k");
  await press("Control", "i");
  await page.waitForSelector(".monaco-hover:not(.hidden) .hover-contents", { timeout: 20000 });
  await pause(2500);
  return page.$$eval(".monaco-hover:not(.hidden) .hover-contents", (found) => found.map((one) => one.textContent).join("\n"));
}

try {
  const remote = `vscode-remote://${new URL(asked.url).host}${asked.folder}/${asked.file}`;
  const payload = encodeURIComponent(JSON.stringify([["openFile", remote]]));
  await page.goto(`${asked.url}/?folder=${encodeURIComponent(asked.folder)}&payload=${payload}`);
  await page.waitForSelector(".monaco-editor .view-line", { timeout: 60000 });
  await command("View: Toggle Primary Side Bar Visibility");
  await press("Control", "Shift", "m");
  const some = async () => ((await problems()).length ? problems() : null);
  await until("problems", some);
  await pause(2500); // for what may come twice
  said.before = await problems();
  if (!/\[Ln /.test(said.before[0])) throw new Error(said.before[0]);
  const line = Number(/\[Ln (\d+)/.exec(said.before[0])[1]);
  const column = Number(/Col (\d+)\]/.exec(said.before[0])[1]);
  await press("Control", "j"); // away with the panel

  await goTo(line, column + 2);
  said.hover = await hover();
  await picture("hover");
  await press("Escape");

  await press("Control", ".");
  await page.waitForSelector(".action-widget .monaco-list-row", { timeout: 20000 });
  await pause(500);
  said.actions = await page.$$eval(".action-widget .monaco-list-row.action", (found) => found.map((one) => one.textContent));
  await picture("fix");
  await press("Enter"); // the preferred one comes first
  await until("the fix", () => page.evaluate(() => document.title.startsWith("●") || document.querySelector(".tab.active.dirty")));
  await press("Control", "s");
  await pause(500);
  await press("Control", "Shift", "m");
  await until("fresh problems", async () => (await problems()).length === 0);
  said.after = await problems();
  said.text = fs.readFileSync(path.join(asked.folder, asked.file), "utf-8");

  for (const name of asked.others) {
    await open(name);
    await until(`problems of ${name}`, some);
    await pause(1500);
    said.others[name] = await problems();
    if (name === asked.others[0]) await picture("problems");
    fs.writeFileSync(path.join(asked.folder, "trl-lint.toml"), asked.hiding);
    await until("settings that are read again", async () => (await problems()).length === 0);
    fs.unlinkSync(path.join(asked.folder, "trl-lint.toml"));
    await until("settings that are gone", some);
    await command("View: Close Editor");
    await until("a closed file", async () => (await problems()).length === 0);
  }
  said.settings = true;
} catch (problem) {
  said.problem = String(problem.stack || problem);
  await page.screenshot({ path: path.join(asked.pictures || "/tmp", "failed.png") });
}
console.log(JSON.stringify(said));
await browser.close();

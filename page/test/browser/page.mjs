// Opens pages in the browser that BROWSER and BROWSER_PATH name, and records everything that must not happen.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const { BROWSER = 'chrome', BROWSER_PATH, PAGES } = process.env;

export const report = (name) => JSON.parse(readFileSync(join(PAGES, name), 'utf8'));

/** Pages of experiments of all formats. */
export const goldenPages = () => readdirSync(PAGES).filter((name) => name.startsWith('golden-'));

/** The folder where browsers save files. */
let folder;
/** By appearance: Firefox takes dark or light only from its settings. */
const browsers = new Map();

export async function close() {
  await Promise.all([...browsers.values()].map(async (browser) => (await browser).close()));
  browsers.clear();
  if (folder) rmSync(folder, { recursive: true });
  folder = undefined;
}

function browserOf(dark) {
  const look = BROWSER === 'chrome' ? 'any' : dark ? 'dark' : 'light';
  folder ??= mkdtempSync(join(tmpdir(), 'refrain-saved-'));
  if (!browsers.has(look)) {
    browsers.set(look, puppeteer.launch({
      browser: BROWSER, executablePath: BROWSER_PATH, args: BROWSER === 'chrome' ? ['--no-sandbox'] : [],
      ...BROWSER === 'chrome' ? { downloadBehavior: { policy: 'allow', downloadPath: folder } } : { extraPrefsFirefox: {
        'browser.download.folderList': 2, 'browser.download.dir': folder, 'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1,
      } },
    }));
  }
  return browsers.get(look);
}

/** Opens a page of PAGES and waits until `until` is visible; `before` runs in it first; `wrong` collects console
 * errors, exceptions, and requests for anything but the file. */
export async function open(name, { width = 1400, height = 900, dark = false, hash = '', until = '[data-tree=call] [data-path]', before } = {}) {
  const page = await (await browserOf(dark)).newPage(), wrong = [];
  await page.setViewport({ width, height });
  if (BROWSER === 'chrome') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('request', (request) => {
    const url = request.url().split('#')[0];
    if (!/^(data|blob|about):/.test(url) && !url.endsWith(`/${name}`)) wrong.push(`request ${url}`);
  });
  if (before) await page.evaluateOnNewDocument(before);
  await page.goto(`file://${join(PAGES, name)}${hash}`);
  await page.waitForSelector(until, { timeout: 20_000 });
  return { page, wrong };
}

/** Lets the page draw. */
export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

/** Presses a button by its text, in the part of the page that `within` names, and returns the file that the browser
 * saves: its name and its text. */
export async function save(page, within, text) {
  await (await page.evaluateHandle((where, wanted) => [...document.querySelectorAll(`${where} button`)].find((button) => button.textContent === wanted), within, text)).click();
  for (const end = Date.now() + 10_000; Date.now() < end; await new Promise((done) => setTimeout(done, 20))) {
    const [name, ...others] = readdirSync(folder);
    // An incomplete file has another name beside it, or is empty.
    const content = name && others.length === 0 && /\.(csv|svg)$/.test(name) ? readFileSync(join(folder, name), 'utf8') : '';
    if (content === '') continue;
    rmSync(join(folder, name));
    return { name, content };
  }
  throw new Error(`${within}, ${text}: no file was saved (${readdirSync(folder)})`);
}

/** Like save(), but without a file: browsers save no more than ten files of a page. */
export const saved = (page, within, text) => page.evaluate(async (where, wanted) => {
  const make = URL.createObjectURL, file = {};
  URL.createObjectURL = (blob) => make.call(URL, file.blob = blob);
  HTMLAnchorElement.prototype.click = function () { file.name = this.download; };
  [...document.querySelectorAll(`${where} button`)].find((button) => button.textContent === wanted).click();
  URL.createObjectURL = make;
  delete HTMLAnchorElement.prototype.click;
  return { name: file.name, content: await file.blob.text() };
}, within, text);

/** The state in the address, which follows choices with a delay of some tenths of a second. */
export async function address(page) {
  await new Promise((done) => setTimeout(done, 500));
  return JSON.parse(decodeURIComponent(await page.evaluate(() => location.hash.slice(1))));
}

export async function rows(page, tree) {
  return page.$$eval(`[data-tree=${tree}] [data-path]`, (all) => all.map((row) => ({
    path: JSON.parse(row.dataset.path), value: Number(row.dataset.value), error: Number(row.dataset.error), expanded: row.getAttribute('aria-expanded'),
    level: Number(row.getAttribute('aria-level')), selected: row.getAttribute('aria-selected'),
  })));
}

/** Focuses a row and presses a key on it. */
export async function press(page, tree, path, ...keys) {
  const found = await page.evaluate((name, wanted) => {
    const row = [...document.querySelectorAll(`[data-tree=${name}] [data-path]`)].find((each) => each.dataset.path === wanted);
    row?.focus();
    return Boolean(row);
  }, tree, JSON.stringify(path));
  assert.ok(found, `${JSON.stringify(path)} is to be seen`);
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

export const rowOf = async (page, tree, path) => (await rows(page, tree)).find((row) => JSON.stringify(row.path) === JSON.stringify(path));

export function near(got, want, tolerance, what) {
  assert.ok(Math.abs(got - want) <= tolerance * Math.abs(want) + 1e-9, `${what}: ${got}, not ${want}`);
}

export async function show(page, title) {
  await page.evaluate((text) => [...document.querySelectorAll('nav button')].find((button) => button.textContent === text).click(), title);
  await settle(page);
}

export const textOf = (page) => page.evaluate(() => document.body.innerText);

/** Chooses an entry of the list that a label names. */
export async function choose(page, label, text) {
  await page.evaluate((name, wanted) => {
    const select = [...document.querySelectorAll('label')].find((each) => each.firstChild.textContent === name).querySelector('select');
    select.value = [...select.options].find((option) => option.text === wanted).value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }, label, text);
  await settle(page);
}

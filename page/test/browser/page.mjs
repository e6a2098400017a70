// Opens pages in the browser that BROWSER and BROWSER_PATH name, and notes everything that must not happen.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const { BROWSER = 'chrome', BROWSER_PATH, PAGES } = process.env;

export const report = (name) => JSON.parse(readFileSync(join(PAGES, name), 'utf8'));

/** Pages of experiments of all formats. */
export const goldenPages = () => readdirSync(PAGES).filter((name) => name.startsWith('golden-'));

let browser;
export async function close() {
  await browser?.close();
  browser = undefined;
}

/** A page of PAGES, when `until` is to be seen; `before` runs in it first; `wrong` gets console errors, exceptions, and requests for anything but the file. */
export async function open(name, { width = 1400, height = 900, dark = false, hash = '', until = '[data-tree=call] [data-path]', before } = {}) {
  browser ??= await puppeteer.launch({ browser: BROWSER, executablePath: BROWSER_PATH, args: BROWSER === 'chrome' ? ['--no-sandbox'] : [] });
  const page = await browser.newPage(), wrong = [];
  await page.setViewport({ width, height });
  if (dark && BROWSER === 'chrome') await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('request', (request) => {
    const url = request.url().split('#')[0];
    if (!/^(data|blob|about):/.test(url) && !url.endsWith(`/${name}`)) wrong.push(`request ${url}`);
  });
  if (before) await page.evaluateOnNewDocument(before);
  const begin = Date.now();
  await page.goto(`file://${join(PAGES, name)}${hash}`);
  await page.waitForSelector(until, { timeout: 20_000 });
  return { page, wrong, ready: Date.now() - begin };
}

/** Lets the page draw. */
export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

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

// Opens files in speedscope, in a browser without a window, and prints what it has understood: its own export of each, as an array of JSON.
//   speedscope.mjs PACKAGE FILE...     PACKAGE: the directory of the installed package; BROWSER_PATH: Chromium
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import puppeteer from '../../page/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js';

const [speedscope, ...files] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'refrain-speedscope-'));
// It draws by WebGL, which needs no graphics card.
const browser = await puppeteer.launch({ executablePath: process.env.BROWSER_PATH, args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] });

/** As the package's own command does it (bin/cli.mjs): a script beside the page hands the file over. */
async function read(file) {
  const script = join(scratch, `${basename(file)}.js`);
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${JSON.stringify(readFileSync(file).toString('base64'))})`);
  const page = await browser.newPage(), wrong = [];
  page.on('dialog', (dialog) => { wrong.push(dialog.message()); dialog.dismiss(); });
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => /Failed/.test(message.text()) && wrong.push(message.text()));
  // What it would save as a file.
  await page.evaluateOnNewDocument(() => {
    URL.createObjectURL = (blob) => { blob.text().then((text) => { globalThis.exported = text; }); return '#'; };
    HTMLAnchorElement.prototype.click = () => {};
  });
  await page.goto(`file://${resolve(speedscope)}/dist/release/index.html#localProfilePath=${script}`);
  for (let tries = 0; tries < 600 && wrong.length === 0; ++tries) {
    const exported = await page.evaluate(() => {
      window.dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true, cancelable: true }));
      return globalThis.exported;
    });
    if (exported) {
      await page.close();
      return exported;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${file}: ${wrong.join('; ') || 'nothing was loaded'}`);
}

try {
  const all = [];
  for (const file of files) all.push(await read(file));
  console.log(`[${all.join(',\n')}]`);
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}

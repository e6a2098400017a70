// Builds dist/explorer.html: one file with the script and the style in it, and a mark where `refrain view` puts the data.
// The content security policy names both by their hashes, so nothing else in the file can run.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const mark = '<!--refrain:payload-->';

const bundle = async (entry) => {
  const result = await build({
    absWorkingDir: here, entryPoints: [entry], bundle: true, minify: true, write: false, format: 'iife', target: ['es2022'],
    jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'eof', charset: 'ascii', logLevel: 'warning',
  });
  return result.outputFiles[0].text;
};
const hash = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

const script = await bundle('src/main.tsx');
const style = await bundle('src/style.css');
if (/<\/(script|style)/i.test(script + style)) throw new Error('the script or the style would end its element');
const policy = ["default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, 'img-src data: blob:', "connect-src 'none'",
  "base-uri 'none'", "form-action 'none'"].join('; ');
// Replacements are functions: a text may hold what replace() takes for a pattern.
const page = readFileSync(`${here}src/index.html`, 'utf8')
  .replace('%POLICY%', () => policy).replace('%STYLE%', () => style).replace('%SCRIPT%', () => script);
if (page.split(mark).length !== 2) throw new Error('the page needs one mark for the data');
mkdirSync(`${here}dist`, { recursive: true });
writeFileSync(`${here}dist/explorer.html`, page);
console.log(`dist/explorer.html: ${page.length} bytes`);

// Pages whose data a test has changed, so that it knows what they must show.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

const BLOCK = /<script type="application\/octet-stream" data-run="0" data-section="(\w+)">([^<]*)<\/script>/g;

const block = (run, section, bytes) =>
  `<script type="application/octet-stream" data-run="${run}" data-section="${section}">${gzipSync(bytes).toString('base64')}</script>`;

/** Writes the page `name` from a page of one run: a run for each function, which gets the head and the other sections,
 * by name, and changes them. */
export function plant(name, of, ...changes) {
  const { PAGES } = process.env, page = readFileSync(join(PAGES, of), 'utf8');
  const sections = [...page.matchAll(BLOCK)].map(([, section, data]) => [section, gunzipSync(Buffer.from(data, 'base64'))]);
  const blocks = changes.flatMap((change, run) => {
    const of = Object.fromEntries(sections.map(([section, bytes]) => [section, Buffer.from(bytes)])), head = JSON.parse(of.head.toString('utf8'));
    change(head, of);
    of.head = Buffer.from(JSON.stringify(head));
    return Object.entries(of).map(([section, bytes]) => block(run, section, bytes));
  });
  const begin = page.search(BLOCK);  // the script after the data reads it immediately
  writeFileSync(join(PAGES, name), page.slice(0, begin) + blocks.join('\n') + page.slice(begin).replace(BLOCK, ''));
}

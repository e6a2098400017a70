// Does what docs/explorer.md tells readers to do, as its comments <!-- browser: ... --> specify for this test.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { close, open, rows, settle, show, textOf } from './page.mjs';

after(close);

const text = readFileSync(new URL('../../../docs/explorer.md', import.meta.url), 'utf8');
const steps = [...text.matchAll(/^<!-- browser: (\w+) ?(.*) -->$/gm)].map(([, verb, rest]) => ({ verb, rest }));

/** Types into the field of a tree, which searches while one types. */
async function find(page, tree, name) {
  const label = { metric: 'Find in metrics', call: 'Find in call paths', system: 'Find in system' }[tree];
  await page.evaluate((of) => document.querySelector(`input[aria-label="${of}"]`).select(), label);
  await page.type(`input[aria-label="${label}"]`, name);
  await settle(page);
  await page.$eval(`input[aria-label="${label}"]`, (field) => { field.value = ''; });
}

async function byRank(page) {
  const found = (await rows(page, 'system')).filter((row) => /^rank \d+$/.test(row.path.at(-1)));
  assert.ok(found.length > 1, 'ranks are to be seen');
  return found;
}

const verbs = {
  view: (page, title) => show(page, title),
  find: (page, rest) => find(page, ...rest.split(' ')),
  hottest: async (page) => {
    await page.evaluate(() => [...document.querySelectorAll('button')].find((button) => button.textContent === 'Open the hottest path').click());
    await settle(page);
  },
  clear: async (page, tree) => {
    await page.evaluate((name) => document.querySelector(`[data-tree=${name}] [aria-selected=true]`)?.click(), tree);
    await settle(page);
  },
  class: async (page, number) => {
    await page.waitForSelector('[aria-label="Classes of iterations"]');
    await page.evaluate((name) => [...document.querySelectorAll('[aria-label="Classes of iterations"] button.link')].find((button) => button.textContent === name).click(), `class ${number}`);
    await settle(page);
  },
  expect: async (page, rest) => {
    const [what, ...words] = rest.split(' '), wanted = words.join(' ');
    if (what === 'text') {
      await page.waitForFunction((part) => document.body.innerText.includes(part), { timeout: 30000 }, wanted);
      assert.ok((await textOf(page)).includes(wanted));
    } else if (what === 'selected') {
      const names = (await rows(page, words[0])).filter((row) => row.selected === 'true').map((row) => row.path.at(-1));
      assert.match(names.join(), new RegExp(words[1]));
    } else {
      await page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
      const ranks = await byRank(page), most = ranks.reduce((best, row) => row.value > best.value ? row : best), of = ranks.find((row) => row.path.at(-1) === wanted);
      if (what === 'most') assert.equal(most.path.at(-1), wanted);
      else assert.ok(of.value < 0.01 * most.value, `${wanted} has ${of.value} of ${most.value}`);
    }
  },
};

// Each "open" begins a test.
for (let at = 0; at < steps.length; at++) {
  if (steps[at].verb !== 'open') continue;
  const end = steps.findIndex((step, i) => i > at && step.verb === 'open'), own = steps.slice(at + 1, end < 0 ? steps.length : end);
  test(`docs/explorer.md: ${steps[at].rest}`, async () => {
    const { page, wrong } = await open(steps[at].rest);
    for (const { verb, rest } of own) await verbs[verb](page, rest);
    assert.deepEqual(wrong, []);
    await page.close();
  });
}

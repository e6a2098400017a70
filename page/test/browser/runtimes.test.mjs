// Successive frames of runtimes are one box of the flame graph.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { violations } from './axe.mjs';
import { close, open, settle, show, textOf } from './page.mjs';
import { plant } from './planted.mjs';

after(close);

/** The text for the box that the keys have reached. */
const active = (page) => page.$eval('.flame figure [aria-live]', (text) => text.textContent);

async function keys(page, ...all) {
  for (const key of all) await page.keyboard.press(key);
  await settle(page);
  return active(page);
}

test('a chain of frames of a runtime opens by Enter, folds by minus, and is in the address', async () => {
  // As if everything that a step calls, except MPI, belonged to the OpenMP runtime.
  plant('runtimes.html', 'stencil.html', (head) => {
    const { nodes, strings } = head, step = nodes.name.findIndex((name) => strings[name] === 'step');
    const isInside = nodes.parent.map(() => false);
    nodes.parent.forEach((above, node) => { isInside[node] = node === step || (above > 0 && isInside[above] && nodes.kind[node] === 0); });
    nodes.runtime = isInside.map((is) => is ? 2 : 0);
  });
  const { page, wrong } = await open('runtimes.html');
  await show(page, 'Flame graph');
  await page.focus('.flame canvas');
  const named = async (name) => {
    for (let deeper = 0; deeper < 20; deeper++) {
      const text = await active(page);
      if (text.startsWith(`${name}:`)) return text;
      await keys(page, 'ArrowDown');
    }
    throw new Error(`${name} is not reached: ${await active(page)}`);
  };
  assert.match(await named('step'), /^step: .*; with \d+ more of the OpenMP runtime: .*sweep/);
  assert.match(await keys(page, 'ArrowDown'), /^MPI_/, 'what is below the chain is below its box');
  await keys(page, 'ArrowUp');
  assert.match(await keys(page, 'Enter'), /^step: [^;]*$/);
  assert.doesNotMatch(await textOf(page), /Sandwich of/, 'a folded box is not enlarged');
  assert.doesNotMatch(await keys(page, 'ArrowDown'), /^MPI_/);
  await page.waitForFunction(() => decodeURIComponent(location.hash).match(/"t":\[\d/), { timeout: 5000 });
  const hash = await page.evaluate(() => location.hash);
  assert.match(decodeURIComponent(hash), /"t":\[\d+\]/);
  assert.match(await keys(page, '-'), /^step: .*; with \d+ more/, 'from within the chain to its first frame');
  await page.click('.flame input[type=checkbox]');
  await page.focus('.flame canvas');
  assert.match(await named('step'), /^step: [^;]*$/, 'all of them open');
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(wrong, []);
  await page.close();
  const again = await open('runtimes.html', { hash, until: '.flame canvas' });
  await again.page.focus('.flame canvas');
  let text = '';
  for (let deeper = 0; deeper < 20 && !text.startsWith('step:'); deeper++) text = await keys(again.page, ...deeper > 0 ? ['ArrowDown'] : []);
  assert.match(text, /^step: [^;]*$/, 'the address keeps what is open');
  await again.page.close();
});

test('a click opens a chain, and what is hidden is found', async () => {
  const { page, wrong } = await open('runtimes.html');
  await show(page, 'Flame graph');
  await page.type('.flame input[type=search], .flame .search input', 'sweep');
  await settle(page);
  assert.match(await active(page), /Found: [1-9]\d* boxes/, 'by a name that is hidden');
  const canvas = await page.$('.flame canvas'), box = await canvas.boundingBox();
  const at = async () => { await settle(page); return active(page); };
  let row = 0;
  for (; row < 10; row++) {
    await page.mouse.move(box.x + 5, box.y + 20 * row + 10);
    if (/^step: .*; with/.test(await at())) break;
  }
  assert.ok(row < 10, 'the box of step is seen');
  await page.mouse.click(box.x + 5, box.y + 20 * row + 10);
  assert.match(await at(), /^step: [^;]*$/);
  assert.deepEqual(wrong, []);
  await page.close();
});

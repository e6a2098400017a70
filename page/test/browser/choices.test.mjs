// Search, value modes, and that each tree says what it shows.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, close, open, press, rows, settle, show } from './page.mjs';

after(close);

const panelText = (page, tree) => page.$eval(`[data-tree=${tree}]`, (grid) => grid.closest('.panel').querySelector('.hint').textContent);

test('typing finds, Enter finds the next one, and what is found is to be seen', async () => {
  const { page, wrong } = await open('drift.html', { height: 500 });
  const selected = async () => (await rows(page, 'call')).filter((row) => row.selected === 'true').map((row) => row.path);
  await page.focus('input[aria-label="Find in call paths"]');
  await page.keyboard.type('mpi_');
  await settle(page);
  const [first, ...others] = await selected();
  assert.match(first.at(-1), /mpi_/i);
  assert.deepEqual(others, []);
  await page.keyboard.press('Enter');
  await settle(page);
  assert.notDeepEqual(await selected(), [first]);
  const isSeen = await page.$eval('[data-tree=call]', (grid) => {
    const row = grid.querySelector('[aria-selected=true]').getBoundingClientRect(), box = grid.querySelector('.rows').getBoundingClientRect();
    return row.top >= box.top - 1 && row.bottom <= box.bottom + 1;
  });
  assert.ok(isSeen);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'INPUT');
  assert.deepEqual(wrong, []);
  await page.close();
});

test('each tree says what it shows', async () => {
  const { page } = await open('stencil.html'), top = (await rows(page, 'call')).find((row) => row.level === 2 && row.expanded !== 'true' && row.value > 0);
  assert.equal(await panelText(page, 'call'), 'Shows Time on all ranks.');
  await press(page, 'call', top.path, ' ');
  assert.equal(await panelText(page, 'system'), `Shows Time in ${top.path.slice(-2).join(' > ')}.`);
  await page.close();
});

test('values in percent, with the base named', async () => {
  const { page } = await open('stencil.html'), root = (await rows(page, 'metric'))[0];
  await press(page, 'metric', root.path, 'ArrowLeft');
  await choose(page, 'Values', 'Own root percent');
  const text = await page.$eval('[data-tree=metric] [data-path] .value', (cell) => cell.textContent);
  assert.equal(text, '100.0 %');
  assert.match(await panelText(page, 'metric'), /own root percent/);
  await page.close();
});

test('the sandwich is in the address', async () => {
  const { page } = await open('stencil.html');
  await show(page, 'Flame graph');
  await page.click('[aria-label="Functions"] button.link');
  await new Promise((done) => setTimeout(done, 500));
  const hash = await page.evaluate(() => location.hash), other = await open('stencil.html', { hash, until: '.flame canvas' });
  const titles = (of) => of.$$eval('.flame h2', (all) => all.map((each) => each.textContent));
  assert.match((await titles(page))[1], /^Sandwich of /);
  assert.deepEqual(await titles(other.page), await titles(page));
  await page.close();
  await other.page.close();
});

test('pictures are on the page as tables, too, and tables can be saved', async () => {
  const { page, wrong } = await open('drift.html');
  await page.waitForSelector('.overview details');
  assert.equal(await page.$$eval('.overview details tbody tr', (all) => all.length), 2, 'a row for each rank');
  await show(page, 'Iterations');
  await page.waitForSelector('[aria-label="Classes of iterations"] table');
  assert.ok(await page.$$eval('.iterations details tbody tr', (all) => all.length) > 8, 'of the graph and of the map');
  assert.deepEqual(await page.$$eval('.iterations figure.table', (all) => all.filter((figure) => ![...figure.querySelectorAll('button')].some((button) =>
    button.textContent === 'Save as CSV')).length), 0);
  assert.deepEqual(wrong, []);
  await page.close();
});

test('the strip of time over ranks is used by keyboard', async () => {
  const { page } = await open('stencil.html');
  await page.waitForSelector('.overview figure canvas[tabindex="0"]');
  await page.focus('.overview figure canvas[tabindex="0"]');
  await page.keyboard.press('ArrowRight');
  await settle(page);
  assert.match(await page.$eval('.overview figure [aria-live]', (text) => text.textContent), /^rank 1: /);
  await page.keyboard.press('Enter');
  await settle(page);
  assert.deepEqual((await rows(page, 'system')).filter((row) => row.selected === 'true').map((row) => row.path.at(-1)), ['rank 1']);
  await page.close();
});

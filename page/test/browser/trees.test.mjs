// Every value that the keyboard reaches equals that of the report.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { close, near, open, press, report, rowOf, rows, show, settle } from './page.mjs';

after(close);

const callsOf = (data, path) => data.callpaths.filter((call) => JSON.stringify(call.path) === JSON.stringify(path));
const sum = (calls, column) => calls.reduce((all, call) => all + call[column], 0);

for (const name of ['drift', 'stencil', 'names']) {
  test(`${name}: each call path has its inclusive value closed and its exclusive value open`, async () => {
    const { page, wrong } = await open(`${name}.html`), data = report(`${name}.json`), seen = new Set();
    for (let again = true; again;) {
      again = false;
      for (const row of await rows(page, 'call')) {
        const key = JSON.stringify(row.path), calls = callsOf(data, row.path);
        if (seen.has(key) || calls.length === 0) continue;
        seen.add(key);
        again = true;
        if (row.expanded === 'true') await press(page, 'call', row.path, 'ArrowLeft');
        near((await rowOf(page, 'call', row.path)).value, sum(calls, 'inclusive_s'), 1e-9, `${key} closed`);
        if (row.expanded === null) continue;
        await press(page, 'call', row.path, 'ArrowRight');
        near((await rowOf(page, 'call', row.path)).value, sum(calls, 'exclusive_s'), 1e-9, `${key} open`);
      }
    }
    assert.equal(seen.size, new Set(data.callpaths.map((call) => JSON.stringify(call.path))).size);
    assert.deepEqual(wrong, []);
    await page.close();
  });

  test(`${name}: a selected call path drives the system tree`, async () => {
    const { page } = await open(`${name}.html`), top = (await rows(page, 'call')).find((row) => row.level === 2 && row.value > 0).path;
    await page.waitForFunction(() => document.querySelector('[data-tree=system] [data-value]'));
    await press(page, 'call', top, ' ');
    for (const rank of [0, 1]) {
      const row = (await rows(page, 'system')).find((each) => each.path.at(-1) === `rank ${rank}`);
      near(row.value, sum(callsOf(report(`${name}.${rank}.json`), top), 'inclusive_s'), 1e-3, `${top} on rank ${rank}`);
    }
    await page.close();
  });
}

test('standard errors are those of the report', async () => {
  const { page } = await open('stencil.html'), data = report('stencil.json');
  for (const row of (await rows(page, 'call')).filter((each) => each.expanded === 'false')) {
    const calls = callsOf(data, row.path);
    if (calls.length === 1 && calls[0].kind === 'user') near(row.error, calls[0].inclusive_standard_error_s, 1e-6, JSON.stringify(row.path));
  }
  await page.close();
});

test('the metric drives the call tree, and its children are its parts', async () => {
  const { page } = await open('stencil.html'), data = report('stencil.json');
  await press(page, 'metric', ['wall'], 'ArrowRight');
  await press(page, 'metric', ['wall', 'mpi'], ' ');
  near((await rows(page, 'call')).filter((row) => row.level === 1).reduce((all, row) => all + row.value, 0) + (await rows(page, 'call')).filter((row) => row.level > 1)
    .reduce((all, row) => all + row.value, 0), data.totals.mpi_s, 1e-9, 'MPI');
  await page.close();
});

test('the tree is a treegrid', async () => {
  const { page } = await open('stencil.html');
  const problems = await page.$$eval('[role=treegrid] [data-path]', (all) => all.filter((row) => row.getAttribute('role') !== 'row' || !row.getAttribute('aria-level') ||
    !row.getAttribute('aria-setsize') || !row.getAttribute('aria-posinset') || !row.getAttribute('aria-selected')).length);
  assert.equal(problems, 0);
  assert.equal(await page.$$eval('[data-tree=call] [data-path][tabindex="0"]', (all) => all.length), 1);
  await page.close();
});

test('selections add up, and the address keeps them', async () => {
  const { page } = await open('stencil.html');
  const two = (await rows(page, 'call')).filter((row) => row.level === 2 && row.value > 0).slice(0, 2);
  await press(page, 'call', two[0].path, ' ');
  await page.keyboard.down('Control');
  await press(page, 'call', two[1].path, ' ');
  await page.keyboard.up('Control');
  const machine = (await rows(page, 'system'))[0];
  await press(page, 'system', machine.path, 'ArrowLeft');
  near((await rowOf(page, 'system', machine.path)).value, two[0].value + two[1].value, 1e-3, 'both');
  await new Promise((done) => setTimeout(done, 500));
  const hash = await page.evaluate(() => location.hash), other = await open('stencil.html', { hash });
  assert.deepEqual((await rows(other.page, 'call')).filter((row) => row.selected === 'true').map((row) => row.path), two.map((row) => row.path));
  await page.close();
  await other.page.close();
});

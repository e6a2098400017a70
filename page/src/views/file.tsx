/** What the file contains, what it gives away, and what it lacks. */
import { nameText } from '../format';
import { bytesInPage, lacksOf, MPI, type Model } from '../model';
import * as state from '../state';

function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;
}

/** Everything in the file that says something about the program, the machine or people. */
function givenAway(model: Model): string[] {
  return model.runs.flatMap(({ head, ranks }) => {
    const functions = new Set(head.nodes.name.filter((_, node) => node > 0 && head.nodes.kind[node] !== MPI)),
        hosts = new Set(ranks.map((rank) => rank.host));
    const marks = count(head.nodes.marked.length, 'marked loop or region', 'marked loops and regions');
    const machines = [...hosts].slice(0, 8).map(nameText).join(', ') + (hosts.size > 8 ? ', \u2026' : '');
    return [
      `Names of ${count(functions.size, 'function')} and of ${marks} of the program.`,
      `Names of ${count(hosts.size, 'machine')}: ${machines}.`,
      ...head.facts.map(([label, text]) => `${label}: ${nameText(text)}`),
      'Times, counts and bytes of each call path and rank, and of iterations.',
    ];
  });
}

export function FileView() {
  const model = state.model.value!;
  const lacks = lacksOf(model, null);
  return <div class="file">
    <section><h2>What this file gives away</h2>
      <ul>{givenAway(model).map((text, i) => <li key={i}>{text}</li>)}</ul>
      <p><code>refrain view --anonymous</code> writes a file in which names of functions, machines and files,
      and the command, are replaced.</p></section>
    <section><h2>What it lacks</h2>
      {lacks.length === 0 ? <p>Nothing was cut.</p>
          : <ul>{lacks.map((text, i) => <li key={i}>{nameText(text)}</li>)}</ul>}
      <p>{Math.round(bytesInPage() / 1024).toLocaleString('en-US')} KiB of data. The page reads nothing but this file,
      and sends nothing.</p></section>
    <section><h2>Keys</h2>
      <dl class="facts">
        <div><dt>Trees</dt><dd>Arrows move; right opens, left closes; Space selects, with Ctrl beside what is selected;
          * opens all on a level; letters find.</dd></div>
        <div><dt>Find</dt><dd>Rows are found as one types; Enter goes to the next one.</dd></div>
        <div><dt>Ranks</dt><dd>Arrows move through the strips, Enter selects a rank.</dd></div>
        <div><dt>Open and closed</dt><dd>A closed row stands for all below it,
        an open one for what is in none of the rows below it. Selections drive the trees to the right.</dd></div>
        <div><dt>Graph and map</dt><dd>Arrows move, + and {'\u2212'} zoom, Escape shows all.</dd></div>
        <div><dt>Flame graph</dt><dd>Arrows move through boxes, Enter enlarges one and shows its callers,
        Escape goes back.</dd></div>
      </dl></section>
    <section><h2>Programs in this page</h2>
      <p>Preact and its signals, and uPlot, under the MIT licence;
        their notices are at the end of the page's script.</p></section>
  </div>;
}

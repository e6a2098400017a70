/** Puts the views together: reads the data first, then shows the chosen view. */
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { keepAddress, stateText } from './address';
import { nameText } from './format';
import { lacksOf, loadModel, namesOf } from './model';
import * as state from './state';
import { FileView } from './views/file';
import { FlameView } from './views/flame';
import { IterationsView } from './views/iterations';
import { Overview } from './views/overview';
import { TreesView } from './views/trees';

const views: readonly { name: state.ViewName; title: string }[] = [
  { name: 'overview', title: 'Overview' }, { name: 'trees', title: 'Trees' },
  { name: 'iterations', title: 'Iterations' }, { name: 'flame', title: 'Flame graph' },
  { name: 'file', title: 'This file' },
];

/** What a view lacks; the flame graph shows what the trees show. */
function Lacks({ view }: { view: state.ViewName }) {
  const texts = lacksOf(state.model.value!, view === 'flame' ? ['flame', 'trees'] : [view]);
  return texts.length === 0 ? null : <ul class="lacks">{texts.map((text, i) => <li key={i}>{nameText(text)}</li>)}</ul>;
}

function CopyState() {
  const [said, setSaid] = useState('');
  const copy = async (): Promise<void> => {
    const address = `${location.href.split('#')[0]}#${stateText()}`;
    try {
      await navigator.clipboard.writeText(address);
      setSaid('copied');
    } catch {
      location.hash = stateText();
      setSaid('it is in the address');
    }
  };
  return <><button type="button" class="quiet" onClick={() => void copy()}>Copy state</button> <span
      role="status">{said}</span></>;
}

/** The overview and the trees are one document: findings lead to its trees. */
function First({ view }: { view: state.ViewName }) {
  const trees = useRef<HTMLElement>(null), isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current || view === 'trees') (view === 'trees' ? trees.current
        : document.body)?.scrollIntoView({ block: 'start' });
    isFirst.current = false;
  }, [view]);
  return <>
    <Overview />
    <section ref={trees} aria-label="Trees" class="first-trees"><h2>Trees</h2><Lacks
      view="trees" /><TreesView /></section>
  </>;
}

function Page() {
  const model = state.model.value!, view = state.view.value,
      names = namesOf(model).map(nameText).join(' and ');
  return <>
    <a class="skip" href="#content" onClick={(event) => {
      event.preventDefault();
      document.getElementById('content')?.focus();
    }}>To the content</a>
    <header>
      <h1>{names}</h1>
      <nav aria-label="Views">{views.map((each) => <button type="button" key={each.name}
        aria-current={each.name === view ? 'page' : undefined}
        onClick={() => { state.view.value = each.name; }}>{each.title}</button>)}<CopyState /></nav>
    </header>
    <main id="content" tabIndex={-1}>
      {view !== 'trees' && <Lacks view={view} />}
      {(view === 'overview' || view === 'trees') && <First view={view} />}
      {view === 'iterations' && <IterationsView />}
      {view === 'flame' && <FlameView />}
      {view === 'file' && <FileView />}
    </main>
  </>;
}

async function start(): Promise<void> {
  const place = document.getElementById('page')!;
  if (typeof DecompressionStream === 'undefined') return; // the page says what it needs
  try {
    const model = await loadModel();
    state.begin(model);
    document.title = `${model.runs.map((run) => nameText(run.head.name)).join(', ')} - Refrain`;
    keepAddress();
    place.textContent = '';
    render(<Page />, place);
    for (const run of model.runs) await run.loadCells();
    state.cellsRead.value++;
  } catch (error) {
    place.textContent = `The measurement cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    place.className = 'message';
  }
}

void start();

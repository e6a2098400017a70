/**
 * A tree as WAI-ARIA's treegrid: one tab stop, arrows move and open, Space selects, letters find. A row that is
 * selected from elsewhere is scrolled into view. Long trees keep only visible rows in the document; on paper all of
 * them.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { css, valueColor } from '../colors';
import { nameText } from '../format';
import type { Item, Row } from '../model';
import { isCommand } from './keys';
import { onPaper } from './paper';

export interface GridCell {
  text: string;
  /** For screen readers, if the text is not enough. */
  label?: string;
  className?: string;
}

export interface GridRow {
  row: Row;
  isSelected: boolean;
  /** In base units at full precision; NaN: not known. */
  value: number;
  error: number;
  /** Fraction of the tree's root, for the colour. */
  part: number;
  cells: readonly GridCell[];
}

export interface TreeGridProps {
  name: string;
  label: string;
  head: readonly string[];
  rows: readonly Row[];
  /** Key of the first selected row; empty: none. */
  selected: string;
  /** Called for shown rows. */
  describe: (row: Row) => GridRow;
  onExpand: (row: Row, open: boolean) => void;
  onExpandAll: (rows: readonly Row[]) => void;
  onSelect: (row: Row, add: boolean) => void;
}

const ROW_HEIGHT = 24; // as in the style sheet
const ALL_BELOW = 1000; // shorter trees are completely in the document
const MARGIN = 40; // rows above and below the visible ones
const TYPING_MS = 800;

/** The range of rows in the document. */
function useWindow(count: number): { begin: number; end: number; scroller: { current: HTMLDivElement | null };
    onScroll: () => void } {
  const scroller = useRef<HTMLDivElement>(null), [top, setTop] = useState(0), [isPrinted, setPrinted] = useState(false);
  useEffect(() => onPaper(() => setPrinted(true), () => setPrinted(false)), []);
  const onScroll = (): void => {
    const now = Math.floor((scroller.current?.scrollTop ?? 0) / ROW_HEIGHT / MARGIN) * MARGIN;
    if (now !== top) setTop(now);
  };
  if (count < ALL_BELOW || isPrinted) return { begin: 0, end: count, scroller, onScroll };
  const seen = Math.ceil((scroller.current?.clientHeight ?? 600) / ROW_HEIGHT);
  return { begin: Math.max(0, top - MARGIN), end: Math.min(count, top + seen + 2 * MARGIN), scroller, onScroll };
}

function GridLine({ grid, index, isActive, onKey, onFocus, onPress, onToggle }: {
  grid: GridRow; index: number; isActive: boolean; onKey: (event: KeyboardEvent) => void; onFocus: () => void;
      onPress: (event: MouseEvent) => void; onToggle: () => void;
}) {
  const { row, value, error } = grid, { item } = row, known = !Number.isNaN(value);
  return <div role="row" class={`row ${item.kind}`} data-key={item.key} data-path={JSON.stringify(item.path)}
      data-value={known ? value : undefined}
    data-error={Number.isNaN(error) ? undefined : error} aria-rowindex={index} aria-level={item.level}
        aria-expanded={row.hasChildren ? row.isExpanded : undefined}
    aria-selected={grid.isSelected} aria-setsize={row.siblings} aria-posinset={row.position}
        tabIndex={isActive ? 0 : -1}
    onKeyDown={onKey} onFocus={onFocus} onClick={onPress}>
    <span role="gridcell" class="name" style={{ paddingLeft: `${1.1 * (item.level - 1)}em` }}
      title={nameText(item.name)}>
      <i class={`mark ${row.hasChildren ? row.isExpanded ? 'open' : 'closed' : ''}`} aria-hidden="true"
        onClick={(event) => {
        event.stopPropagation();
        onToggle();
      }} />
      <i class="box" aria-hidden="true" style={{ background: known ? css(valueColor(grid.part)) : 'transparent' }} />
      {nameText(item.name)}{item.note && <small> {item.note}</small>}
    </span>
    {grid.cells.map((cell, i) => <span role="gridcell" class={`value ${cell.className ?? ''}`} aria-label={cell.label}
        key={i}>{cell.text}</span>)}
  </div>;
}

export function TreeGrid(props: TreeGridProps) {
  const { rows, selected } = props, [activeKey, setActiveKey] = useState(''), moves = useRef(false),
      typed = useRef({ text: '', at: 0 });
  const place = useMemo(() => new Map(rows.map((row, i) => [row.item.key, i])), [rows]);
  const { begin, end, scroller, onScroll } = useWindow(rows.length);
  const active = Math.min(place.get(activeKey) ?? 0, rows.length - 1);

  /** `below`: number of rows after it that must be visible, too. */
  const showRow = (box: HTMLElement, at: number, below: number): void => {
    const top = ROW_HEIGHT * at, bottom = top + (1 + below) * ROW_HEIGHT;
    if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
  };
  const moveTo = (target: number): void => {
    const row = rows[Math.min(Math.max(target, 0), rows.length - 1)], box = scroller.current;
    if (!row || !box) return;
    showRow(box, place.get(row.item.key)!, 2);
    moves.current = true;
    setActiveKey(row.item.key);
  };
  useEffect(() => {
    const box = scroller.current, at = place.get(selected);
    if (!box || at === undefined || box.contains(document.activeElement)) return;
    showRow(box, at, 0);
    setActiveKey(selected);
  }, [selected]);
  useLayoutEffect(() => {
    if (!moves.current) return;
    const line = [...scroller.current?.querySelectorAll<HTMLElement>('[data-key]') ?? []].find((each) =>
        each.dataset.key === activeKey);
    if (!line) return;
    moves.current = false;
    line.focus({ preventScroll: rows.length >= ALL_BELOW });
  });

  const findTyped = (letter: string, from: number): void => {
    const now = Date.now(), old = typed.current;
    const text = (now - old.at < TYPING_MS ? old.text : '') + letter.toLowerCase();
    typed.current = { text, at: now };
    for (let i = 0; i < rows.length; i++) {
      const at = (from + i + (text.length > 1 ? 0 : 1)) % rows.length;
      if (rows[at]!.item.name.toLowerCase().includes(text)) return moveTo(at);
    }
  };

  const onKey = (row: Row, at: number) => (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 240) / ROW_HEIGHT) - 1);
    const up = (item: Item): number => item.parent ? place.get(item.parent.key) ?? at : at;
    const keys: Record<string, () => void> = {
      ArrowDown: () => moveTo(at + 1),
      ArrowUp: () => moveTo(at - 1),
      PageDown: () => moveTo(at + page),
      PageUp: () => moveTo(at - page),
      Home: () => moveTo(0),
      End: () => moveTo(rows.length - 1),
      ArrowRight: () => row.hasChildren && !row.isExpanded ? props.onExpand(row, true) : row.isExpanded
          && moveTo(at + 1),
      ArrowLeft: () => row.isExpanded ? props.onExpand(row, false) : moveTo(up(row.item)),
      ' ': () => props.onSelect(row, event.ctrlKey || event.shiftKey),
      Enter: () => props.onSelect(row, event.ctrlKey || event.shiftKey),
      '*': () => props.onExpandAll(rows.filter((each) => each.item.parent === row.item.parent)),
    };
    const addsToSelection = event.ctrlKey && !event.altKey && !event.metaKey && [' ', 'Enter'].includes(event.key);
    if (isCommand(event) && !addsToSelection) return;
    const act = keys[event.key];
    if (!act && event.key.length !== 1) return;
    event.preventDefault();
    if (act) act();
    else findTyped(event.key, at);
  };

  return <div role="treegrid" class="treegrid" data-tree={props.name} aria-label={props.label}
      aria-multiselectable="true" aria-rowcount={rows.length + 1}
    style={{ '--columns': props.head.length - 1 }}>
    <div role="rowgroup"><div role="row" class="row head" aria-rowindex={1}>
      {props.head.map((text, i) => <span role="columnheader" class={i === 0 ? 'name' : 'value'} key={i}>{text}</span>)}
    </div></div>
    <div role="rowgroup" class="scroll rows" ref={scroller} onScroll={onScroll}>
      <div role="presentation" style={{ height: `${ROW_HEIGHT * begin}px` }} />
      {rows.slice(begin, end).map((row, i) => <GridLine key={row.item.key} grid={props.describe(row)}
          index={begin + i + 2}
          isActive={begin + i === active}
        onKey={onKey(row, begin + i)} onFocus={() => setActiveKey(row.item.key)}
            onToggle={() => props.onExpand(row, !row.isExpanded)}
        onPress={(event) => props.onSelect(row, event.ctrlKey || event.metaKey || event.shiftKey)} />)}
      <div role="presentation" style={{ height: `${ROW_HEIGHT * (rows.length - end)}px` }} />
    </div>
  </div>;
}

/** A table with a caption, which can be saved as CSV. */
import type { ComponentChildren } from 'preact';
import { saveCsv } from './download';

export interface Cell {
  /** What the file gets; the page shows `shown`, or this value. */
  value: string | number;
  shown?: ComponentChildren;
}

export interface TableProps {
  name: string;
  caption: string;
  head: readonly string[];
  /** Whether columns have numbers, which are aligned to the right. */
  numbers: readonly boolean[];
  rows: readonly (readonly Cell[])[];
}

/** Numbers of a picture, for readers who cannot see it. */
export function TableOfPicture(props: TableProps) {
  return <details><summary>As a table</summary><Table {...props} /></details>;
}

export function Table({ name, caption, head, numbers, rows }: TableProps) {
  const kind = (column: number): string => numbers[column] ? 'number' : '';
  return <figure class="table">
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead><tr>{head.map((text, column) => <th scope="col" class={kind(column)}
          key={column}>{text}</th>)}</tr></thead>
        <tbody>{rows.map((row, i) => <tr key={i}>{row.map((cell, column) => <td class={kind(column)}
          key={column}>{cell.shown ?? cell.value}</td>)}</tr>)}</tbody>
      </table>
    </div>
    <button type="button" class="quiet" onClick={() =>
      saveCsv(name, head, rows.map((row) => row.map((cell) => cell.value)))}>Save as CSV</button>
  </figure>;
}

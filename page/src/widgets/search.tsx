/** A field that searches while the user types, and goes to the next match with each Enter. */
import { useState } from 'preact/hooks';

export function Search({ label, onFind, onText }: { label: string; onFind?: (text: string) => void;
    onText?: (text: string) => void }) {
  const [text, setText] = useState('');
  return <form role="search" aria-label={label} class="choice" onSubmit={(event) => {
    event.preventDefault();
    if (text) onFind?.(text);
  }}>
    <input type="search" aria-label={label} placeholder={label} value={text} onInput={(event) => {
      setText(event.currentTarget.value);
      onText?.(event.currentTarget.value);
    }} />
  </form>;
}

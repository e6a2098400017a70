/** Keys of widgets. */

type Modifiers = Pick<KeyboardEvent, 'ctrlKey' | 'metaKey' | 'altKey'>;

/** Whether a key is a command of the browser or the desktop, such as Alt and an arrow, which goes back. */
export function isCommand({ ctrlKey, metaKey, altKey }: Modifiers): boolean {
  return ctrlKey || metaKey || altKey;
}

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

interface CreationProps<Made> {
  /** The verb on the button. */
  label: string;
  title: string;
  /** The title of the dialog with secrets, if there are any. */
  createdTitle?: string;
  /** The form in the dialog, which hands over the secrets of what it has created; null for nothing secret. */
  form: (onCreated: (made: Made | null) => void) => ComponentChildren;
  /** The text around the secrets. `close` ends showing them. */
  showMade?: (made: Made, close: () => void) => ComponentChildren;
  /** The list, with a function to show secrets and read the list again. */
  children: (show: (made: Made) => void, round: number) => ComponentChildren;
}

/** A button to create something, above its list. Its secrets are shown once. */
export function Creation<Made = string>(props: CreationProps<Made>) {
  const { label, title, createdTitle, form, showMade, children } = props;
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const [round, setRound] = useState(0);
  const show = (created: Made | null): void => {
    setNew(false);
    setMade(created);
    setRound(round + 1);
  };
  const close = (): void => setMade(null);
  return (
    <>
      <p class="actions page-actions">
        <button type="button" class="primary" onClick={() => setNew(true)}>
          {label}
        </button>
      </p>
      {isNew ? (
        <Dialog title={title} onClose={() => setNew(false)}>
          {form(show)}
        </Dialog>
      ) : null}
      {made === null || showMade === undefined ? null : (
        <Dialog title={createdTitle ?? title} onClose={close}>
          {showMade(made, close)}
        </Dialog>
      )}
      {children(show, round)}
    </>
  );
}

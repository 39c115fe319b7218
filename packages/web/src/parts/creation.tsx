import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

interface CreationProps {
  /** The verb on the button. */
  label: string;
  title: string;
  /** The title of the dialog that shows the secret. */
  createdTitle: string;
  /** The form in the dialog, which hands over the secret of what it has created. */
  form: (onCreated: (secret: string) => void) => ComponentChildren;
  /** The text around the secret. `close` ends showing it. */
  shown: (secret: string, close: () => void) => ComponentChildren;
  /** The list, with a function that shows a secret and reads the list again. */
  children: (show: (secret: string) => void, round: number) => ComponentChildren;
}

/** A button that creates something with a secret, which is shown once, above the list that then has it. */
export function Creation({ label, title, createdTitle, form, shown, children }: CreationProps) {
  const [isNew, setNew] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const show = (made: string): void => {
    setNew(false);
    setSecret(made);
    setRound(round + 1);
  };
  const close = (): void => setSecret(null);
  return (
    <>
      <p class="actions">
        <button type="button" class="primary" onClick={() => setNew(true)}>
          {label}
        </button>
      </p>
      {isNew ? (
        <Dialog title={title} onClose={() => setNew(false)}>
          {form(show)}
        </Dialog>
      ) : null}
      {secret === null ? null : (
        <Dialog title={createdTitle} onClose={close}>
          {shown(secret, close)}
        </Dialog>
      )}
      {children(show, round)}
    </>
  );
}

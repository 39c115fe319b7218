import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

interface FormButtonProps {
  /** The verb, on the button and in the dialog. */
  label: string;
  /** The thing, for people who hear the page: a list has many of these buttons. Absent where the label names it. */
  subject?: string;
  onDone?: () => void;
  /** The form, with a function to close it and call `onDone`. */
  children: (done: () => void) => ComponentChildren;
}

/** A button to open a form about a thing. */
export function FormButton({ label, subject, onDone, children }: FormButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const name = subject === undefined ? label : `${label} ${subject}`;
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" aria-label={name} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen ? (
        <Dialog title={name} onClose={close}>
          {children(() => {
            close();
            onDone?.();
          })}
        </Dialog>
      ) : null}
    </>
  );
}

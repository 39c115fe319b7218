import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Classes of its form, such as a drawer. */
  kind?: string;
}

/** A modal dialog: the browser keeps the focus in it, and closes it with Escape. */
export function Dialog({ title, onClose, children, kind }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opened = element.current;
    opened?.showModal();
    // Gives the focus back to its button.
    return () => opened?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={kind}
      aria-labelledby={id}
      onClose={onClose}
      // A click on the backdrop has the dialog itself as its target.
      onClick={kind === undefined ? undefined : ({ target }) => target === element.current && onClose()}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {/* Last, so that the first field has the focus. */}
      <button type="button" class="quiet icon-only close" aria-label="Close" onClick={onClose}>
        <Icon name="close" />
      </button>
    </dialog>
  );
}

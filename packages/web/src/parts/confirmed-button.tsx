import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf, EndpointName, InputOf } from '../api/endpoint-types.ts';
import { useAction } from '../api/use-action.ts';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface ConfirmedProps<Name extends EndpointName> {
  /** The verb, on the button and in the dialog. */
  label: string;
  /** The thing, for people listening to the page: a list has many of these buttons. */
  subject: string;
  /** The effect, in a sentence; or fields. */
  children: ComponentChildren;
  name: Name;
  input: InputOf<Name>;
  onDone: (answer: AnswerOf<Name>) => void;
  /** Whether the action can be undone. */
  isSafe?: true;
}

/** A button for an action without undo: a dialog says what happens first. */
export function ConfirmedButton<Name extends EndpointName>(props: ConfirmedProps<Name>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-label={`${props.label} ${props.subject}`} onClick={() => setOpen(true)}>
        {props.label}
      </button>
      {isOpen ? <ConfirmDialog {...props} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

/** The dialog of a confirmed button. */
export function ConfirmDialog<Name extends EndpointName>(
  props: ConfirmedProps<Name> & { onClose: () => void },
) {
  const { label, subject, children, name, input, onDone, isSafe, onClose } = props;
  const action = useAction(name);
  const confirm = async (): Promise<void> => {
    const answer = await action.run(input);
    if (answer === null) return;
    onClose();
    onDone(answer);
  };
  return (
    <Dialog title={`${label} ${subject}?`} onClose={onClose}>
      {typeof children === 'string' ? <p>{children}</p> : children}
      <Problem error={action.error} />
      <p class="actions">
        <button
          type="button"
          class={isSafe ? 'primary' : 'danger'}
          disabled={action.isRunning}
          onClick={() => void confirm()}
        >
          {label}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}

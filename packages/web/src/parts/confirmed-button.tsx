import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerOf, EndpointName, InputOf } from '../api/endpoints.ts';
import { useAction } from '../api/use-action.ts';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface ConfirmedButtonProps<Name extends EndpointName> {
  /** The verb, on the button and in the dialog. */
  label: string;
  /** The thing, for people who hear the page: a list has many such buttons. */
  subject: string;
  /** The effect, in a sentence. */
  children: ComponentChildren;
  name: Name;
  input: InputOf<Name>;
  onDone: (answer: AnswerOf<Name>) => void;
}

/** A button whose action is not undone: a dialog says what happens first. */
export function ConfirmedButton<Name extends EndpointName>(props: ConfirmedButtonProps<Name>) {
  const [isOpen, setOpen] = useState(false);
  const action = useAction(props.name);
  const confirm = async (): Promise<void> => {
    const answer = await action.run(props.input);
    if (answer === null) return;
    setOpen(false);
    props.onDone(answer);
  };
  return (
    <>
      <button type="button" aria-label={`${props.label} ${props.subject}`} onClick={() => setOpen(true)}>
        {props.label}
      </button>
      {isOpen ? (
        <Dialog title={`${props.label} ${props.subject}?`} onClose={() => setOpen(false)}>
          <p>{props.children}</p>
          <Problem error={action.error} />
          <p class="actions">
            <button type="button" class="danger" disabled={action.isRunning} onClick={() => void confirm()}>
              {props.label}
            </button>
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
          </p>
        </Dialog>
      ) : null}
    </>
  );
}

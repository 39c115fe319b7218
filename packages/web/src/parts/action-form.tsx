import type { ComponentChildren } from 'preact';
import type { AnswerOf, EndpointName, InputOf } from '../api/endpoints.ts';
import { useAction } from '../api/use-action.ts';
import { Problem } from './problem.tsx';

interface ActionFormProps<Name extends EndpointName> {
  /** The verb on its button. */
  label: string;
  name: Name;
  /** The input of the call, as of the moment of the button. */
  input: () => InputOf<Name>;
  onDone: (answer: AnswerOf<Name>) => void;
  isIncomplete?: boolean;
  children: ComponentChildren;
}

/** Fields, the error of the API about them, and a button. */
export function ActionForm<Name extends EndpointName>(props: ActionFormProps<Name>) {
  const { label, name, input, onDone, isIncomplete = false, children } = props;
  const action = useAction(name);
  const submit = async (): Promise<void> => {
    const answer = await action.run(input());
    if (answer !== null) onDone(answer);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children}
      <Problem error={action.error} />
      <p class="actions">
        <button type="submit" class="primary" disabled={action.isRunning || isIncomplete}>
          {label}
        </button>
      </p>
    </form>
  );
}

import type { AnswerOf, EndpointName, InputOf } from '../api/endpoint-types.ts';
import { useAction } from '../api/use-action.ts';
import { Problem } from './problem.tsx';

interface ActionButtonProps<Name extends EndpointName> {
  label: string;
  /** The thing, for people who hear the page. */
  subject: string;
  name: Name;
  input: InputOf<Name>;
  onDone: (answer: AnswerOf<Name>) => void;
}

/** A button for an action without a question first. */
export function ActionButton<Name extends EndpointName>(props: ActionButtonProps<Name>) {
  const action = useAction(props.name);
  const start = async (): Promise<void> => {
    const answer = await action.run(props.input);
    if (answer !== null) props.onDone(answer);
  };
  return (
    <>
      <button
        type="button"
        aria-label={`${props.label} ${props.subject}`}
        disabled={action.isRunning}
        onClick={() => void start()}
      >
        {props.label}
      </button>
      <Problem error={action.error} />
    </>
  );
}

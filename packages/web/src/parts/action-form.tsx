import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnswerOf, EndpointName, InputOf } from '../api/endpoint-types.ts';
import { useAction } from '../api/use-action.ts';
import { FormErrorProvider } from './form-error.tsx';
import { Problem } from './problem.tsx';

interface ActionFormProps<Name extends EndpointName> {
  /** The verb on its button. */
  label: string;
  name: Name;
  /** The input of the call, as of the moment of the button. Throws an `ApiError` for an unreadable field. */
  input: () => InputOf<Name>;
  onDone: (answer: AnswerOf<Name>) => void;
  isIncomplete?: boolean;
  children: ComponentChildren;
}

/** Fields, a button, and the error of the API: beside the field with the mistake, which gets the focus. */
export function ActionForm<Name extends EndpointName>(props: ActionFormProps<Name>) {
  const { label, name, input, onDone, isIncomplete = false, children } = props;
  const action = useAction(name);
  const form = useRef<HTMLFormElement>(null);
  const [isBeside, setBeside] = useState(false);
  // Fields get the error in a render of their own.
  useEffect(() => {
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid=true]') ?? null;
    setBeside(field !== null);
    field?.focus();
  }, [action.error]);
  const submit = async (): Promise<void> => {
    const answer = await action.run(input);
    if (answer !== null) onDone(answer);
  };
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <FormErrorProvider error={action.error}>{children}</FormErrorProvider>
      <Problem error={action.error} isBeside={isBeside} />
      <p class="actions">
        <button type="submit" class="primary" disabled={action.isRunning || isIncomplete}>
          {label}
        </button>
      </p>
    </form>
  );
}

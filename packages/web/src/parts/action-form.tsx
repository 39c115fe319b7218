import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/api-error.ts';
import { Problem } from './problem.tsx';

interface ActionFormProps {
  /** The verb on its button. */
  label: string;
  /** The action that it starts: see `useAction`. */
  action: { isRunning: boolean; error: ApiError | null };
  submit: () => Promise<void>;
  isIncomplete?: boolean;
  children: ComponentChildren;
}

/** Fields, what the API says against them, and a button. */
export function ActionForm({ label, action, submit, isIncomplete = false, children }: ActionFormProps) {
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

import type { ApiError } from '../api/api-error.ts';

interface ProblemProps {
  error: ApiError | null;
  /** Repeats the call; absent where a button of the form does. */
  onRetry?: () => void;
  /** Whether a field has the message beside it. */
  isBeside?: boolean;
}

/** An error in the API's words, with the id of its log lines. */
export function Problem({ error, onRetry, isBeside = false }: ProblemProps) {
  if (error === null) return null;
  return (
    <div class="problem" role="alert">
      <p>{isBeside ? 'Check the marked field.' : error.message}</p>
      <p class="faint">
        <code>{error.code}</code>
        {error.requestId === null ? null : (
          <>
            {' · request '}
            <code>{error.requestId}</code>
          </>
        )}
      </p>
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

import type { ApiError } from '../api/api-error.ts';

/** An error in the API's words, with the id of its log lines. */
export function Problem({ error }: { error: ApiError | null }) {
  if (error === null) return null;
  return (
    <div class="problem" role="alert">
      <p>{error.message}</p>
      <p class="faint">
        <code>{error.code}</code>
        {error.requestId === null ? null : (
          <>
            {' · request '}
            <code>{error.requestId}</code>
          </>
        )}
      </p>
    </div>
  );
}

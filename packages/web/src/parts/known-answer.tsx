import type { ComponentChildren } from 'preact';
import type { CurrentAnswer } from '../api/use-answer.ts';
import { Problem } from './problem.tsx';

interface KnownAnswerProps<Answer> {
  known: CurrentAnswer<Answer>;
  children: (answer: Answer) => ComponentChildren;
}

/** Shows an answer of the API when it is there, and its error. */
export function KnownAnswer<Answer>({ known, children }: KnownAnswerProps<Answer>) {
  const { answer, error, isLoading, reload } = known;
  return (
    <div class={answer === null && isLoading ? 'awaited' : ''} aria-busy={isLoading}>
      {error === null ? null : (
        <>
          <Problem error={error} />
          <button type="button" onClick={reload}>
            Try again
          </button>
        </>
      )}
      {answer === null ? isLoading && <p class="faint">Loading…</p> : children(answer)}
    </div>
  );
}

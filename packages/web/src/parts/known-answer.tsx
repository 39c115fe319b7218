import type { ComponentChildren } from 'preact';
import type { CurrentAnswer } from '../api/use-answer.ts';
import { Problem } from './problem.tsx';
import { Skeleton } from './skeleton.tsx';

interface KnownAnswerProps<Answer> {
  known: CurrentAnswer<Answer>;
  children: (answer: Answer) => ComponentChildren;
}

/** Shows an answer of the API: a skeleton until it is there, and its error with a way to try again. */
export function KnownAnswer<Answer>({ known, children }: KnownAnswerProps<Answer>) {
  const { answer, error, isLoading, reload } = known;
  return (
    <div class={answer === null && isLoading ? 'known awaited' : 'known'} aria-busy={isLoading}>
      <Problem error={error} onRetry={reload} />
      {answer === null ? isLoading && <Skeleton /> : children(answer)}
    </div>
  );
}

import type { ComponentChildren } from 'preact';
import type { CurrentAnswer } from '../api/use-answer.ts';
import { KnownAnswer } from './known-answer.tsx';

interface ReloadedAnswerProps<Answer> {
  known: CurrentAnswer<Answer>;
  children: (answer: Answer) => ComponentChildren;
}

/** An answer about a moment, with a button to ask again. */
export function ReloadedAnswer<Answer>({ known, children }: ReloadedAnswerProps<Answer>) {
  return (
    <>
      <p class="actions page-actions">
        <button type="button" onClick={known.reload}>
          Reload
        </button>
      </p>
      <KnownAnswer known={known}>{children}</KnownAnswer>
    </>
  );
}

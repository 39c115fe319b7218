import { timeIn } from '../format/times.ts';
import { usePerson } from '../shell/session.tsx';

/** A time in the tenant's zone. */
export function Time({ at, otherwise = '–' }: { at: string | null; otherwise?: string }) {
  const { timezone } = usePerson();
  if (at === null) return <span class="faint">{otherwise}</span>;
  return (
    <time dateTime={at} class="number">
      {timeIn(at, timezone)}
    </time>
  );
}

/** The time until which a page's figures count runs, and the time zone of its days. */
export function AsOf({ at }: { at: string }) {
  const { timezone } = usePerson();
  return (
    <p class="faint">
      All runs that ended before <Time at={at} /> are counted. Times and days are those of {timezone}.
    </p>
  );
}

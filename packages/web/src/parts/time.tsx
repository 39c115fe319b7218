import { exactTimeIn, shortTimeIn, timeIn } from '../format/times.ts';
import { usePerson } from '../shell/session.tsx';

interface TimeProps {
  at: string | null;
  otherwise?: string;
  /** Whether seconds matter, as in a list of runs. */
  isExact?: true;
}

/** A time in the tenant's zone; all of it on hover. */
export function Time({ at, otherwise = '–', isExact }: TimeProps) {
  const { timezone } = usePerson();
  if (at === null) return <span class="faint">{otherwise}</span>;
  return (
    <time dateTime={at} class="number" title={`${timeIn(at, timezone)} ${timezone}`}>
      {isExact ? exactTimeIn(at, timezone) : shortTimeIn(at, timezone)}
    </time>
  );
}

/** The time until which a page's figures count runs, and the time zone of its days. */
export function AsOf({ at }: { at: string }) {
  const { timezone } = usePerson();
  return (
    <p class="faint">
      All runs that ended before <Time at={at} isExact /> are counted. Times and days are those of {timezone}.
    </p>
  );
}

import { useMemo } from 'preact/hooks';
import {
  daysBefore,
  daysOf,
  isPeriod,
  periodOptions,
  rangeOf,
  type Days,
  type PeriodName,
} from '../format/period.ts';
import { useParameter } from '../shell/location.tsx';
import { usePerson } from '../shell/session.tsx';
import { Choice } from './fields.tsx';

export interface Period {
  name: PeriodName;
  days: Days;
  /** For a summary of the API. */
  range: SummaryRange;
  /** The days before it, by the calendar. */
  before: { days: Days; range: SummaryRange };
}

type SummaryRange = ReturnType<typeof rangeOf>;

/** The one period of all figures of a view, which its address names. */
export function usePeriod(fallback: PeriodName = '30d'): Period {
  const { timezone } = usePerson();
  const [chosen] = useParameter('period');
  const name = isPeriod(chosen) ? chosen : fallback;
  return useMemo(() => {
    const days = daysOf(name, new Date(), timezone);
    const before = daysBefore(name, days);
    return {
      ...{ name, days, range: rangeOf(days, timezone) },
      before: { days: before, range: rangeOf(before, timezone) },
    };
  }, [name, timezone]);
}

export function PeriodChoice({ period }: { period: Period }) {
  const [, set] = useParameter('period');
  return (
    <Choice<string> label="Period" value={period.name} onChange={set} options={periodOptions(period.name)} />
  );
}

import { useMemo } from 'preact/hooks';
import { daysOf, isPeriod, periods, rangeOf, type Days, type PeriodName } from '../format/period.ts';
import { useParameter } from '../shell/location.tsx';
import { usePerson } from '../shell/session.tsx';
import { Choice } from './fields.tsx';

export interface Period {
  name: PeriodName;
  days: Days;
  /** For a summary of the API. */
  range: { from: string; to: string; timezone: string };
}

/** The one period of all figures of a view, which its address names. */
export function usePeriod(fallback: PeriodName = '30d'): Period {
  const { timezone } = usePerson();
  const [chosen] = useParameter('period');
  const name = isPeriod(chosen) ? chosen : fallback;
  return useMemo(() => {
    const days = daysOf(name, new Date(), timezone);
    return { name, days, range: rangeOf(days, timezone) };
  }, [name, timezone]);
}

export function PeriodChoice({ period }: { period: Period }) {
  const [, set] = useParameter('period');
  return <Choice label="Period" value={period.name} onChange={set} options={periods} />;
}

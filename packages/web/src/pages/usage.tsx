import type { UsageSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { daysBetween } from '../format/times.ts';
import { BarChart, type Bar } from '../parts/bar-chart.tsx';
import { Choice } from '../parts/fields.tsx';
import { figureColumn, textColumn } from '../parts/columns.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { PeriodChoice, usePeriod, type Period } from '../parts/period-choice.tsx';
import { OrderedTable, type OrderedColumn } from '../parts/ordered-table.tsx';
import { AsOf } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

type Group = UsageSummary['groups'][number];

const dimensions = {
  day: 'Day',
  model: 'Model',
  agent: 'Agent',
  client: 'Program',
  session: 'Session',
} as const;
type Grouping = keyof typeof dimensions;

const isShown = (text: string): text is Grouping => Object.hasOwn(dimensions, text);

/** Runs and tokens of a period, by one dimension. */
export function Usage() {
  const period = usePeriod();
  const [chosen, setBy] = useParameter('by');
  const by = isShown(chosen) ? chosen : 'day';
  const known = useAnswer('GET /v1/usage/summary', { query: { ...period.range, group_by: by } });
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
        <Choice label="By" value={by} onChange={setBy} options={dimensions} />
      </div>
      <KnownAnswer known={known}>
        {(summary) => (
          <>
            {by === 'day' ? <RunsByDay summary={summary} period={period} /> : null}
            <OrderedTable
              caption={`Usage by ${dimensions[by].toLowerCase()}`}
              file={`usage-${by}-${period.days.first}-${period.days.last}.csv`}
              columns={columnsOf(by)}
              rows={summary.groups}
              keyOf={({ key }) => key[by] ?? ''}
              isTruncated={summary.truncated}
              empty="No runs in this period."
            />
            <AsOf at={summary.as_of} />
          </>
        )}
      </KnownAnswer>
    </>
  );
}

function RunsByDay({ summary, period }: { summary: UsageSummary; period: Period }) {
  const { first, last } = period.days;
  const byDay = new Map(summary.groups.map((group) => [group.key.day, group]));
  const bars = daysBetween(first, last).map((day): Bar => {
    const group = byDay.get(day);
    if (group === undefined) return { label: day, segments: [] };
    const text = `${count(group.requests)} runs`;
    return { label: day, segments: [{ group: 'runs', value: group.requests, text }] };
  });
  return <BarChart label={`Runs by day, ${first} to ${last}`} bars={bars} groups={['runs']} />;
}

function columnsOf(by: Grouping): OrderedColumn<Group>[] {
  return [
    textColumn(dimensions[by], ({ key }) => key[by] ?? 'none'),
    figureColumn('Runs', ({ requests }) => requests),
    figureColumn('Failed', ({ errors }) => errors),
    figureColumn('Tokens in', ({ input_tokens: tokens }) => tokens),
    figureColumn('Tokens out', ({ output_tokens: tokens }) => tokens),
    figureColumn('Tokens', ({ total_tokens: tokens }) => tokens),
    figureColumn('Duration on average', ({ avg_duration_ms: average }) => average, milliseconds),
  ];
}

import type { UsageSummary } from '@gatehouse/contract/usage';
import { useMemo } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { dayLabel, daysBetween } from '../format/times.ts';
import type { Bar } from '../parts/chart-series.ts';
import { figureColumn, shareColumn } from '../parts/columns.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { Choice } from '../parts/fields.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { countedInEach, groupColumn, runsIn } from '../parts/group-name.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { PeriodChoice, usePeriod, type Period } from '../parts/period-choice.tsx';
import { StackedChart } from '../parts/stacked-chart.tsx';
import { AsOf } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

type Group = UsageSummary['groups'][number];

const dimensions = {
  day: 'Day',
  model: 'Model',
  agent: 'Agent',
  client: 'Program',
  user: 'User',
  group: 'User group',
  session: 'Session',
} as const;
type Grouping = keyof typeof dimensions;

const isShown = (text: string): text is Grouping => Object.hasOwn(dimensions, text);

/** Runs and tokens of a period, by one dimension. */
export function Usage() {
  const period = usePeriod();
  const [chosen, setBy] = useParameter('by');
  const by = isShown(chosen) ? chosen : 'day';
  const [group] = useParameter('group');
  const query = { ...period.range, group_by: by, ...(group !== '' && { group }) };
  const known = useAnswer('GET /v1/usage/summary', { query });
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
        <Choice label="Group by" value={by} onChange={setBy} options={dimensions} />
        <FilterField label="User group" name="group" />
      </div>
      <KnownAnswer known={known}>
        {(summary) => (
          <>
            {by === 'day' ? <RunsByDay summary={summary} period={period} /> : null}
            {by === 'group' ? <p class="faint">{countedInEach}</p> : null}
            <DataTable
              caption={`Usage by ${dimensions[by].toLowerCase()}`}
              file={`usage-${by}-${period.days.first}-${period.days.last}.csv`}
              columns={columnsOf(by, summary, period)}
              rows={summary.groups}
              keyOf={({ key }) => key[by] ?? ''}
              orderBy={by === 'day' ? '-Day' : 'Runs'}
              totals={totalsOf(summary.totals)}
              isTruncated={summary.truncated}
              empty="No runs in this period. Choose a longer one, or send a request."
            />
            <AsOf at={summary.as_of} />
          </>
        )}
      </KnownAnswer>
    </>
  );
}

const runs = { id: '', name: 'Runs' };

function RunsByDay({ summary, period }: { summary: UsageSummary; period: Period }) {
  const { first, last } = period.days;
  const bars = useMemo(() => {
    const byDay = new Map(summary.groups.map((group) => [group.key.day, group]));
    return daysBetween(first, last).map((day): Bar => {
      const group = byDay.get(day);
      if (group === undefined) return { label: dayLabel(day), segments: [] };
      const { requests } = group;
      const figures = { value: requests, text: count(requests), exact: String(requests) };
      return { label: dayLabel(day), segments: [{ group: runs, ...figures }] };
    });
  }, [summary, first, last]);
  const label = `Runs by day, ${dayLabel(first)} to ${dayLabel(last)}`;
  return <StackedChart label={label} bars={bars} axis={count} hasTable />;
}

function totalsOf(totals: UsageSummary['totals']): Record<string, string> {
  return {
    Runs: count(totals.requests),
    Failed: count(totals.errors),
    'Tokens in': count(totals.input_tokens),
    'Tokens out': count(totals.output_tokens),
    Tokens: count(totals.total_tokens),
    'Average duration': milliseconds(totals.avg_duration_ms),
  };
}

function columnsOf(by: Grouping, summary: UsageSummary, period: Period): DataColumn<Group>[] {
  const share = { part: ({ requests }: Group) => requests, total: summary.totals.requests };
  return [
    groupColumn<Group>(dimensions[by], by, runsIn(period.name)),
    figureColumn('Runs', ({ requests }) => requests),
    shareColumn('Share', share),
    figureColumn('Failed', ({ errors }) => errors),
    figureColumn('Tokens in', ({ input_tokens: tokens }) => tokens),
    figureColumn('Tokens out', ({ output_tokens: tokens }) => tokens),
    figureColumn('Tokens', ({ total_tokens: tokens }) => tokens),
    figureColumn('Average duration', ({ avg_duration_ms: average }) => average, milliseconds),
  ];
}

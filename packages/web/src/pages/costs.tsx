import type { CostSummary } from '@gatehouse/contract/usage';
import { useCallback } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { dayLabel } from '../format/times.ts';
import { amountColumn, figureColumn, shareColumn } from '../parts/columns.tsx';
import { CostExport } from '../parts/cost-export.tsx';
import { CostsByDay } from '../parts/costs-by-day.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { Choice } from '../parts/fields.tsx';
import { groupColumn, groupText } from '../parts/group-name.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { Money } from '../parts/money.tsx';
import { PeriodChoice, usePeriod, type Period } from '../parts/period-choice.tsx';
import { AsOf } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

type Group = CostSummary['groups'][number];

const dimensions = {
  day: 'Day',
  month: 'Month',
  model: 'Model',
  provider: 'Provider',
  agent: 'Agent',
  user: 'User',
  api_key: 'API key',
  channel: 'Channel',
  client: 'Program',
  session: 'Session',
} as const;
type Dimension = keyof typeof dimensions;

const isDimension = (text: string): text is Dimension => Object.hasOwn(dimensions, text);

/** The spending of the tenant: how much, beside the period before, and by up to two groups. */
export function Costs() {
  const period = usePeriod();
  const [first, setFirst] = useParameter('by');
  const [second, setSecond] = useParameter('and');
  const by = isDimension(first) ? first : 'day';
  const and = isDimension(second) && second !== by ? second : null;
  const groups = and === null ? [by] : [by, and];
  const query = { ...period.range, group_by: groups.join(',') };
  const known = useAnswer('GET /v1/costs/summary', { query });
  const nameOf = useCallback(({ key }: Group) => (and === null ? 'Cost' : groupText(and, key)), [and]);
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
        <Choice label="Group by" value={by} onChange={setFirst} options={dimensions} />
        <Choice
          label="Then by"
          value={and ?? ''}
          onChange={setSecond}
          options={{ '': 'none', ...dimensions }}
        />
      </div>
      <KnownAnswer known={known}>
        {(summary) => (
          <>
            <Totals summary={summary} period={period} />
            {by === 'day' ? (
              <CostsByDay summary={summary} days={period.days} nameOf={nameOf} hasTable />
            ) : null}
            <DataTable
              caption={`Costs by ${groups.map((group) => dimensions[group].toLowerCase()).join(' and ')}`}
              file={`costs-${groups.join('-')}-${period.days.first}-${period.days.last}.csv`}
              columns={columnsOf(groups, summary)}
              rows={summary.groups}
              keyOf={({ key }) => JSON.stringify(key)}
              orderBy={by === 'day' || by === 'month' ? `-${dimensions[by]}` : 'Cost'}
              totals={{ Cost: <Money amount={summary.total_usd} /> }}
              isTruncated={summary.truncated}
              empty="No runs in this period. Choose a longer one, or send a request."
              exports={
                <>
                  <CostExport label="Save as CSV" query={{ ...period.range, group_by: groups.join(',') }} />
                  <CostExport label="Save as FOCUS" query={{ ...period.range, format: 'focus' }} />
                </>
              }
            />
            <AsOf at={summary.as_of} />
          </>
        )}
      </KnownAnswer>
    </>
  );
}

function columnsOf(groups: readonly Dimension[], summary: CostSummary): DataColumn<Group>[] {
  const share = { part: ({ total_usd: cost }: Group) => Number(cost), total: Number(summary.total_usd) };
  return [
    ...groups.map((group) => groupColumn<Group>(dimensions[group], group)),
    figureColumn('Runs', ({ requests }) => requests),
    ...(summary.unpriced.requests === 0
      ? []
      : [figureColumn('Unpriced', ({ unpriced_requests: requests }: Group) => requests)]),
    shareColumn('Share', share),
    amountColumn('Cost', ({ total_usd: cost }) => cost),
  ];
}

/** The total with the period before, and notes on runs that it leaves out or estimates. */
function Totals({ summary, period }: { summary: CostSummary; period: Period }) {
  const { total_usd: total, unpriced, estimated, own_key: byok } = summary;
  const before = useAnswer('GET /v1/costs/summary', { query: period.before.range });
  const { first, last } = period.before.days;
  const days = first === last ? dayLabel(first) : `${dayLabel(first)} – ${dayLabel(last)}`;
  return (
    <>
      <div class="cards">
        <dl class="card">
          <dt>Total cost</dt>
          <dd class="figure">
            <Money amount={total} figure="total_usd" />
          </dd>
        </dl>
        <dl class="card">
          <dt>{`Period before (${days})`}</dt>
          <dd class="figure">
            {before.answer === null ? '–' : <Money amount={before.answer.total_usd} figure="before_usd" />}
          </dd>
        </dl>
      </div>
      <ul class="notes">
        {unpriced.requests === 0 ? null : (
          <li>
            {`${count(unpriced.requests)} runs are unpriced and count as no cost: ${unpriced.models.join(', ')}`}
          </li>
        )}
        {estimated.requests === 0 ? null : (
          <li>
            <Money amount={estimated.total_usd} /> {`of ${count(estimated.requests)} runs is estimated`}
          </li>
        )}
        {byok.requests === 0 ? null : (
          <li>
            {`${count(byok.requests)} runs with your own provider keys, not included: `}
            <Money amount={byok.total_usd} />
          </li>
        )}
      </ul>
    </>
  );
}

import type { CostSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { count, usd } from '../format/amounts.ts';
import { amountColumn, figureColumn, textColumn } from '../parts/columns.tsx';
import { CostExport } from '../parts/cost-export.tsx';
import { CostsByDay } from '../parts/costs-by-day.tsx';
import { Choice } from '../parts/fields.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { PeriodChoice, usePeriod } from '../parts/period-choice.tsx';
import { OrderedTable, type OrderedColumn } from '../parts/ordered-table.tsx';
import { AsOf, Time } from '../parts/time.tsx';
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

/** Costs of the tenant by up to two groups, beside the period before. */
export function Costs() {
  const period = usePeriod();
  const [first, setFirst] = useParameter('by');
  const [second, setSecond] = useParameter('and');
  const by = isDimension(first) ? first : 'day';
  const and = isDimension(second) && second !== by ? second : null;
  const groups = and === null ? [by] : [by, and];
  const query = { ...period.range, group_by: groups.join(','), compare: 'previous' };
  const known = useAnswer('GET /v1/costs/summary', { query });
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
        <Choice label="By" value={by} onChange={setFirst} options={dimensions} />
        <Choice
          label="And"
          value={and ?? ''}
          onChange={setSecond}
          options={{ '': 'nothing else', ...dimensions }}
        />
      </div>
      <KnownAnswer known={known}>
        {(summary) => (
          <>
            <Totals summary={summary} />
            {by === 'day' ? (
              <CostsByDay summary={summary} days={period.days} {...(and !== null && { dimension: and })} />
            ) : null}
            <OrderedTable
              caption={`Costs by ${groups.map((group) => dimensions[group].toLowerCase()).join(' and ')}`}
              file={`costs-${groups.join('-')}-${period.days.first}-${period.days.last}.csv`}
              columns={columnsOf(groups)}
              rows={summary.groups}
              keyOf={({ key }) => JSON.stringify(key)}
              isTruncated={summary.truncated}
              empty="No runs in this period."
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

function columnsOf(groups: readonly Dimension[]): OrderedColumn<Group>[] {
  return [
    ...groups.map((group) => textColumn(dimensions[group], ({ key }: Group) => key[group] ?? 'none')),
    figureColumn('Runs', ({ requests }) => requests),
    figureColumn('Without a price', ({ unpriced_requests: requests }) => requests),
    amountColumn('Cost in USD', ({ total_usd: cost }) => cost),
  ];
}

function Totals({ summary }: { summary: CostSummary }) {
  const { total_usd: total, previous, unpriced, estimated, own_key: ownKey } = summary;
  return (
    <div class="cards">
      <dl class="card">
        <dt>Cost</dt>
        <dd class="figure" data-figure="total_usd">
          {usd(total)}
        </dd>
      </dl>
      {previous === null ? null : (
        <dl class="card">
          <dt>
            Before: <Time at={previous.from} /> to <Time at={previous.to} />
          </dt>
          <dd class="figure">{usd(previous.total_usd)}</dd>
        </dl>
      )}
      <dl class="card">
        <dt>Without a price</dt>
        <dd class="figure">{count(unpriced.requests)}</dd>
        <dd class="faint">
          {unpriced.models.length === 0 ? 'Every run has one.' : unpriced.models.join(', ')}
        </dd>
      </dl>
      <dl class="card">
        <dt>Estimated</dt>
        <dd class="figure">{usd(estimated.total_usd)}</dd>
        <dd class="faint">{count(estimated.requests)} runs</dd>
      </dl>
      <dl class="card">
        <dt>With the tenant’s keys, in no other amount</dt>
        <dd class="figure">{usd(ownKey.total_usd)}</dd>
        <dd class="faint">{count(ownKey.requests)} runs</dd>
      </dl>
    </div>
  );
}

import type { ComponentChildren } from 'preact';
import { useCallback } from 'preact/hooks';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import type { Days } from '../format/period.ts';
import { dayLabel } from '../format/times.ts';
import { amountColumn, figureColumn, shareColumn } from './columns.tsx';
import { CostExport } from './cost-export.tsx';
import type { ChartGroup } from './chart-series.ts';
import { CostsByDay, type AnyCosts } from './costs-by-day.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';
import { Choice } from './fields.tsx';
import { countedInEach, groupColumn, groupText, runsIn, type GroupLink } from './group-name.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { Money } from './money.tsx';
import { PeriodChoice, usePeriod, type Period } from './period-choice.tsx';
import { AsOf } from './time.tsx';
import { useParameter } from '../shell/location.tsx';

/** The endpoints of a report: those of a tenant, or of all tenants. */
export interface CostEndpoints {
  summary: 'GET /v1/costs/summary' | 'GET /internal/v1/owner/costs/summary';
  exports: 'GET /v1/costs/export' | 'GET /internal/v1/owner/costs/export';
}

interface CostReportProps {
  endpoints: CostEndpoints;
  /** The groups that a person can choose, the first one first. */
  dimensions: readonly [ReportDimension, ...ReportDimension[]];
  /** Filters of the report. */
  filter?: Partial<Record<'tenant_id' | 'model' | 'provider' | 'channel', string>>;
  /** Links of groups; to their runs without it. */
  hrefOf?: GroupLink;
  /** The page with prices of models, for those who set them. */
  pricesHref?: string;
  /** Cards beside the totals. */
  cards?: ComponentChildren;
  /** Further answers, between the chart and the table. */
  children?: ComponentChildren;
}

type Group = AnyCosts['groups'][number];

/** Names of the groups of reports. */
export const reportTitles = {
  tenant: 'Tenant',
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
  group: 'User group',
} as const;
export type ReportDimension = keyof typeof reportTitles;

/** The groups in the address: one of the dimensions, and another one within it. */
export function useGrouping(dimensions: CostReportProps['dimensions']) {
  const [first, setFirst] = useParameter('by');
  const [second, setSecond] = useParameter('and');
  const chosenIn = (text: string) => dimensions.find((dimension) => dimension === text);
  const by = chosenIn(first) ?? dimensions[0];
  const and = second === by ? undefined : chosenIn(second);
  return { by, and, setFirst, setSecond };
}

/** Costs of a period: how much, beside the period before, and by up to two groups. */
export function CostReport(props: CostReportProps) {
  const { endpoints, dimensions, filter = {}, hrefOf, pricesHref, cards, children } = props;
  const period = usePeriod();
  const { by, and, setFirst, setSecond } = useGrouping(dimensions);
  const groups = and === undefined ? [by] : [by, and];
  const options: Readonly<Record<string, string>> = Object.fromEntries(
    dimensions.map((dimension) => [dimension, reportTitles[dimension]]),
  );
  const query = { ...period.range, ...filter, group_by: groups.join(',') };
  const known = useAnswer(endpoints.summary, { query });
  const before = useAnswer(endpoints.summary, { query: { ...period.before.range, ...filter } });
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
        <Choice<string> label="Group by" value={by} onChange={setFirst} options={options} />
        <Choice<string>
          label="Then by"
          value={and ?? ''}
          onChange={setSecond}
          options={{ '': 'none', ...options }}
        />
      </div>
      <KnownAnswer known={known}>
        {(summary) => (
          <>
            <Totals
              summary={summary}
              before={before.answer}
              days={period.before.days}
              pricesHref={pricesHref}
              cards={cards}
            />
            <Chart {...{ summary, by, and, filter, period }} name={endpoints.summary} />
            {children}
            <DataTable
              caption={`Costs by ${groups.map((group) => reportTitles[group].toLowerCase()).join(' and ')}`}
              file={`costs-${groups.join('-')}-${period.days.first}-${period.days.last}.csv`}
              columns={columnsOf(groups, summary, hrefOf ?? runsIn(period.name, 'Cost'))}
              rows={summary.groups}
              keyOf={({ key }) => JSON.stringify(key)}
              orderBy={by === 'day' || by === 'month' ? `-${reportTitles[by]}` : 'Cost'}
              totals={{ Cost: <Money amount={summary.total_usd} /> }}
              isTruncated={summary.truncated}
              empty="No runs in this period. Choose a longer one, or send a request."
              exports={
                <>
                  <CostExport label="Save as CSV" name={endpoints.exports} query={query} />
                  <CostExport
                    label="Save as FOCUS"
                    name={endpoints.exports}
                    query={{ ...period.range, ...filter, format: 'focus' }}
                  />
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

interface GroupsByDayProps {
  name: CostEndpoints['summary'];
  by: ReportDimension;
  filter: NonNullable<CostReportProps['filter']>;
  period: Period;
}

interface ChartProps extends GroupsByDayProps {
  summary: AnyCosts;
  and: ReportDimension | undefined;
}

/** The costs of a report by day. */
function Chart({ summary, and, ...groups }: ChartProps) {
  const { by, period } = groups;
  const chartGroup = useCallback(({ key }: Group) => groupIn(and, key), [and]);
  if (by === 'group' || and === 'group') return <p class="faint">{countedInEach}</p>;
  if (by !== 'day') return <GroupsByDay key={by} {...groups} />;
  return <CostsByDay summary={summary} days={period.days} groupOf={chartGroup} hasTable />;
}

/** The groups of a report by day, where several days have them and all of them came. */
function GroupsByDay({ name, by, filter, period }: GroupsByDayProps) {
  const isDrawn = by !== 'month' && period.days.first !== period.days.last;
  const query = { ...period.range, ...filter, group_by: `day,${by}` };
  const known = useAnswer(name, isDrawn ? { query } : null);
  const chartGroup = useCallback(({ key }: Group) => groupIn(by, key), [by]);
  if (!isDrawn) return null;
  return (
    <KnownAnswer known={known}>
      {(summary) =>
        summary.truncated ? null : <CostsByDay summary={summary} days={period.days} groupOf={chartGroup} />
      }
    </KnownAnswer>
  );
}

/** A group of a dimension as a chart has it; one of all costs without a dimension. */
function groupIn(dimension: ReportDimension | undefined, key: Group['key']): ChartGroup {
  if (dimension === undefined) return { id: '', name: 'Cost' };
  return { id: key[dimension] ?? '', name: groupText(dimension, key) };
}

function columnsOf(
  groups: readonly ReportDimension[],
  summary: AnyCosts,
  hrefOf: GroupLink,
): DataColumn<Group>[] {
  const share = { part: ({ total_usd: cost }: Group) => Number(cost), total: Number(summary.total_usd) };
  return [
    ...groups.map((group) => groupColumn<Group>(reportTitles[group], group, hrefOf)),
    figureColumn('Runs', ({ requests }) => requests),
    ...(summary.unpriced.requests === 0
      ? []
      : [figureColumn('Unpriced', ({ unpriced_requests: requests }: Group) => requests)]),
    shareColumn('Share', share),
    amountColumn('Cost', ({ total_usd: cost }) => cost),
  ];
}

interface TotalsProps {
  summary: AnyCosts;
  /** The costs of the period before; null until they have come. */
  before: AnyCosts | null;
  days: Days;
  pricesHref: string | undefined;
  cards: ComponentChildren;
}

/** The total with the period before, and notes on runs that it leaves out or estimates. */
function Totals({ summary, before, days: { first, last }, pricesHref, cards }: TotalsProps) {
  const { total_usd: total, unpriced, estimated, own_key: byok } = summary;
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
            {before === null ? '–' : <Money amount={before.total_usd} figure="before_usd" />}
          </dd>
        </dl>
        {cards}
      </div>
      <ul class="notes">
        {unpriced.requests === 0 ? null : (
          <li>
            {`${count(unpriced.requests)} runs are unpriced and count as no cost: ${unpriced.models.join(', ')}`}
            {pricesHref === undefined ? null : (
              <>
                {' · '}
                <a href={pricesHref}>Prices of models</a>
              </>
            )}
          </li>
        )}
        {estimated.requests === 0 ? null : (
          <li>
            <Money amount={estimated.total_usd} /> {`of ${count(estimated.requests)} runs is estimated`}
          </li>
        )}
        {byok.requests === 0 ? null : (
          <li>
            {`${count(byok.requests)} runs with own provider keys (BYOK), not included: `}
            <Money amount={byok.total_usd} />
          </li>
        )}
      </ul>
    </>
  );
}

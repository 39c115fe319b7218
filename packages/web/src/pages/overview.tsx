import type { CostSummary, UsageSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { count, usd } from '../format/amounts.ts';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { LimitsTable } from '../parts/limits-table.tsx';
import { PeriodChoice, usePeriod } from '../parts/period-choice.tsx';
import { CostsByDay } from '../parts/costs-by-day.tsx';
import { AsOf } from '../parts/time.tsx';

/** The spending of a period, and the rest before a limit stops the next run. */
export function Overview() {
  const period = usePeriod();
  const costs = useAnswer('GET /v1/costs/summary', { query: { ...period.range, group_by: 'day' } });
  const usage = useAnswer('GET /v1/usage/summary', { query: period.range });
  const limits = useAnswer('GET /v1/limits', {});
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
      </div>
      <div class="cards">
        <KnownAnswer known={costs}>{(summary) => <Spent summary={summary} />}</KnownAnswer>
        <KnownAnswer known={usage}>{(summary) => <Used totals={summary.totals} />}</KnownAnswer>
      </div>
      <KnownAnswer known={costs}>
        {(summary) => (
          <>
            <CostsByDay summary={summary} days={period.days} />
            <AsOf at={summary.as_of} />
          </>
        )}
      </KnownAnswer>
      <h2>Limits</h2>
      <KnownAnswer known={limits}>{({ limits: states }) => <LimitsTable limits={states} />}</KnownAnswer>
    </>
  );
}

function Spent({ summary }: { summary: CostSummary }) {
  const { total_usd: total, unpriced, estimated } = summary;
  return (
    <dl class="card">
      <dt>Spent</dt>
      <dd class="figure" data-figure="total_usd">
        {usd(total)}
      </dd>
      {unpriced.requests === 0 ? null : (
        <dd class="faint">
          {count(unpriced.requests)} runs have no price: {unpriced.models.join(', ')}
        </dd>
      )}
      {estimated.requests === 0 ? null : (
        <dd class="faint">
          {count(estimated.requests)} runs, {usd(estimated.total_usd)}, are estimates
        </dd>
      )}
    </dl>
  );
}

function Used({ totals }: { totals: UsageSummary['totals'] }) {
  return (
    <dl class="card">
      <dt>Runs</dt>
      <dd class="figure" data-figure="requests">
        {count(totals.requests)}
      </dd>
      <dd class="faint">
        {count(totals.errors)} failed · {count(totals.input_tokens)} tokens in, {count(totals.output_tokens)}{' '}
        out
      </dd>
    </dl>
  );
}

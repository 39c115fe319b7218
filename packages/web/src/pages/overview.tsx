import type { LimitState } from '@gatehouse/contract/limits';
import type { CostSummary, UsageSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { count, milliseconds } from '../format/amounts.ts';
import { nextBudget, policyOfLimit } from '../format/limits.ts';
import { dayLabel } from '../format/times.ts';
import { CostsByDay } from '../parts/costs-by-day.tsx';
import { FirstRequest } from '../parts/first-request.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { LimitsTable } from '../parts/limits-table.tsx';
import { Money } from '../parts/money.tsx';
import { PeriodChoice, usePeriod, type Period } from '../parts/period-choice.tsx';
import { Section } from '../parts/section.tsx';
import { TopSpenders } from '../parts/top-spenders.tsx';
import { AsOf } from '../parts/time.tsx';
import { useView } from '../shell/location.tsx';

/** The spending of a period, who spends it, and the rest before a limit stops the next run. */
export function Overview() {
  const period = usePeriod();
  const { query } = useView();
  const costs = useAnswer('GET /v1/costs/summary', { query: { ...period.range, group_by: 'day' } });
  const usage = useAnswer('GET /v1/usage/summary', { query: period.range });
  const before = useAnswer('GET /v1/costs/summary', { query: period.before.range });
  const limits = useAnswer('GET /v1/limits', {});
  const isFirst = usage.answer?.totals.requests === 0 && !query.has('period');
  const reload = (): void => {
    usage.reload();
    costs.reload();
  };
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
      </div>
      {isFirst ? (
        <FirstRequest onDone={reload} />
      ) : (
        <KnownAnswer known={costs}>
          {(summary) => (
            <>
              <div class="cards">
                <Spent summary={summary} before={before.answer} period={period} />
                {usage.answer === null ? null : <Used totals={usage.answer.totals} period={period} />}
                {limits.answer === null ? null : <NextBudget limits={limits.answer.limits} />}
              </div>
              <CostsByDay summary={summary} days={period.days} />
              {summary.groups.length === 0 ? null : <TopSpenders period={period} />}
              <AsOf at={summary.as_of} />
            </>
          )}
        </KnownAnswer>
      )}
      <Section title="Limits">
        <KnownAnswer known={limits}>{({ limits: states }) => <LimitsTable limits={states} />}</KnownAnswer>
      </Section>
    </>
  );
}

interface SpentProps {
  summary: CostSummary;
  before: CostSummary | null;
  period: Period;
}

function Spent({ summary, before, period }: SpentProps) {
  const { total_usd: total, unpriced, estimated } = summary;
  const { first, last } = period.before.days;
  return (
    <dl class="card">
      <dt>Spent</dt>
      <dd class="figure">
        <Money amount={total} figure="total_usd" />
      </dd>
      {before === null ? null : (
        <dd class="faint">
          <Money amount={before.total_usd} />{' '}
          {first === last ? `on ${dayLabel(first)}` : `from ${dayLabel(first)} to ${dayLabel(last)}`}
        </dd>
      )}
      {unpriced.requests === 0 ? null : (
        <dd class="faint">{`${count(unpriced.requests)} runs are unpriced: ${unpriced.models.join(', ')}`}</dd>
      )}
      {estimated.requests === 0 ? null : (
        <dd class="faint">
          <Money amount={estimated.total_usd} /> {`of ${count(estimated.requests)} runs is estimated`}
        </dd>
      )}
    </dl>
  );
}

function Used({ totals, period }: { totals: UsageSummary['totals']; period: Period }) {
  return (
    <dl class="card">
      <dt>Runs</dt>
      <dd class="figure" data-figure="requests">
        {count(totals.requests)}
      </dd>
      <dd class="faint">
        <a href={`/app/traces?period=${period.name}&status=error`}>{`${count(totals.errors)} failed`}</a>
        {totals.refused === 0 ? null : (
          <>
            {' · '}
            <a
              href={`/app/traces?period=${period.name}&status=refused`}
            >{`${count(totals.refused)} refused`}</a>
          </>
        )}
        {` · ${milliseconds(totals.avg_duration_ms)} on average`}
      </dd>
      <dd class="faint">{`${count(totals.input_tokens)} tokens in, ${count(totals.output_tokens)} out`}</dd>
    </dl>
  );
}

/** The budget with the least left, as the limit that people ask about first. */
function NextBudget({ limits }: { limits: readonly LimitState[] }) {
  const budget = nextBudget(limits);
  if (budget === undefined)
    return (
      <dl class="card">
        <dt>Budget</dt>
        <dd class="figure">None</dd>
        <dd class="faint">No amount stops your requests.</dd>
      </dl>
    );
  const { used, limit, remaining, window } = budget;
  const policy = policyOfLimit(budget);
  return (
    <dl class="card">
      <dt>{window === 'total' ? 'Budget left' : `Budget left this ${window ?? 'period'}`}</dt>
      <dd class="figure">{remaining === null ? 'Unknown' : <Money amount={String(remaining)} />}</dd>
      <dd>
        <meter min={0} max={Number(limit)} value={Number(used)} aria-label="Budget used" />
      </dd>
      <dd class="faint">
        of <Money amount={String(limit)} />
        {policy === '' ? null : ` · policy ${policy}`}
      </dd>
    </dl>
  );
}

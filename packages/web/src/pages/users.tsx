import type { CostSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { compareDecimals, count, usd } from '../format/amounts.ts';
import { CostExport } from '../parts/cost-export.tsx';
import { DeleteUserData } from '../parts/delete-user-data.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { PeriodChoice, usePeriod } from '../parts/period-choice.tsx';
import { SummaryTable, type FigureColumn } from '../parts/summary-table.tsx';
import { AsOf } from '../parts/time.tsx';

type Group = CostSummary['groups'][number];

/** End users that runs were for, with their costs. */
export function Users() {
  const period = usePeriod();
  const known = useAnswer('GET /v1/costs/summary', { query: { ...period.range, group_by: 'user' } });
  return (
    <>
      <div class="choices">
        <PeriodChoice period={period} />
      </div>
      <KnownAnswer known={known}>
        {(summary) => (
          <>
            <SummaryTable
              caption="Costs by user"
              file={`users-${period.days.first}-${period.days.last}.csv`}
              columns={columns}
              groups={summary.groups}
              keyOf={({ key }) => key.user ?? ''}
              isTruncated={summary.truncated}
              exports={<CostExport label="Save as CSV" query={{ ...period.range, group_by: 'user' }} />}
            />
            <AsOf at={summary.as_of} />
          </>
        )}
      </KnownAnswer>
      <h2>Delete the data of a user</h2>
      <DeleteUserData />
    </>
  );
}

const columns: readonly FigureColumn<Group>[] = [
  {
    header: 'User',
    text: ({ key }) => key.user ?? 'none',
    showGroup: ({ key: { user } }) =>
      typeof user === 'string' ? (
        <a href={`/app/traces?user_id=${encodeURIComponent(user)}`}>{user}</a>
      ) : (
        'none'
      ),
  },
  {
    header: 'Keys and limits',
    text: () => '',
    showGroup: ({ key: { user } }) =>
      typeof user === 'string' ? (
        <a href={`/app/keys?user_id=${encodeURIComponent(user)}`} aria-label={`Keys and limits of ${user}`}>
          keys
        </a>
      ) : (
        '–'
      ),
  },
  {
    header: 'Runs',
    text: ({ requests }) => String(requests),
    showGroup: ({ requests }) => count(requests),
    isNumber: true,
    compare: (one, other) => other.requests - one.requests,
  },
  {
    header: 'Cost in USD',
    text: ({ total_usd: cost }) => cost,
    showGroup: ({ total_usd: cost }) => usd(cost),
    isNumber: true,
    compare: (one, other) => compareDecimals(other.total_usd, one.total_usd),
  },
];

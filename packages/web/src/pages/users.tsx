import type { CostSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { amountColumn, figureColumn, textColumn } from '../parts/columns.tsx';
import { CostExport } from '../parts/cost-export.tsx';
import { DeleteUserData } from '../parts/delete-user-data.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { PeriodChoice, usePeriod } from '../parts/period-choice.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { AsOf } from '../parts/time.tsx';

type Group = CostSummary['groups'][number];

/** End users with runs, and their costs. */
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
            <DataTable
              caption="Costs by user"
              file={`users-${period.days.first}-${period.days.last}.csv`}
              columns={columns}
              rows={summary.groups}
              keyOf={({ key }) => key.user ?? ''}
              isTruncated={summary.truncated}
              empty="No runs in this period."
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

const columns: readonly DataColumn<Group>[] = [
  {
    ...textColumn('User', ({ key }: Group) => key.user ?? 'none'),
    cell: ({ key: { user } }) =>
      typeof user === 'string' ? (
        <a href={`/app/traces?user_id=${encodeURIComponent(user)}`}>{user}</a>
      ) : (
        'none'
      ),
  },
  {
    header: 'Keys and limits',
    value: null,
    cell: ({ key: { user } }) =>
      typeof user === 'string' ? (
        <a href={`/app/keys?user_id=${encodeURIComponent(user)}`} aria-label={`Keys and limits of ${user}`}>
          keys
        </a>
      ) : (
        '–'
      ),
  },
  figureColumn('Runs', ({ requests }) => requests),
  amountColumn('Cost in USD', ({ total_usd: cost }) => cost),
];

import type { CostSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import type { PeriodName } from '../format/period.ts';
import { amountColumn, figureColumn, shareColumn } from '../parts/columns.tsx';
import { CostExport } from '../parts/cost-export.tsx';
import { DeleteUserData } from '../parts/delete-user-data.tsx';
import { groupColumn, runsIn } from '../parts/group-name.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { Money } from '../parts/money.tsx';
import { PeriodChoice, usePeriod } from '../parts/period-choice.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { Section } from '../parts/section.tsx';
import { AsOf } from '../parts/time.tsx';
import { UserDirectory } from '../parts/user-directory.tsx';
import { usePerson } from '../shell/session.tsx';
import { may } from '../shell/rights.ts';

type Group = CostSummary['groups'][number];

/** The directory of users, and the costs of all end users: who spends most. */
export function Users() {
  const person = usePerson();
  return (
    <>
      {may(person, { scope: 'users.write' }) ? <UserDirectory /> : null}
      <Section title="Costs by user">
        <CostsByUser />
      </Section>
      <Section title="Delete the data of a user">
        <DeleteUserData />
      </Section>
    </>
  );
}

function CostsByUser() {
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
              columns={columnsOf(summary, period.name)}
              orderBy="Cost"
              totals={{ Cost: <Money amount={summary.total_usd} /> }}
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
    </>
  );
}

function columnsOf(summary: CostSummary, period: PeriodName): DataColumn<Group>[] {
  const share = { part: ({ total_usd: cost }: Group) => Number(cost), total: Number(summary.total_usd) };
  return [
    groupColumn<Group>('User', 'user', runsIn(period, 'Cost')),
    {
      header: 'Keys and limits',
      value: null,
      cell: ({ key: { user } }) =>
        typeof user === 'string' ? (
          <a href={`/app/keys?user_id=${encodeURIComponent(user)}`} aria-label={`Keys and limits of ${user}`}>
            Keys
          </a>
        ) : (
          '–'
        ),
    },
    figureColumn('Runs', ({ requests }) => requests),
    shareColumn('Share', share),
    amountColumn('Cost', ({ total_usd: cost }) => cost),
  ];
}

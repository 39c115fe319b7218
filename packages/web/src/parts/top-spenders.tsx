import type { CostSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { compareDecimals } from '../format/amounts.ts';
import { urlWith } from '../shell/location.tsx';
import { may } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';
import { amountColumn, figureColumn, shareColumn } from './columns.tsx';
import { CostExport } from './cost-export.tsx';
import { DataTable } from './data-table.tsx';
import { groupColumn, runsIn } from './group-name.tsx';
import { KnownAnswer } from './known-answer.tsx';
import type { Period } from './period-choice.tsx';

type Group = CostSummary['groups'][number];

const mostListed = 5;

/** The models, agents and, for admins, users that cost most in a period. */
export function TopSpenders({ period }: { period: Period }) {
  const seesUsers = may(usePerson(), { role: 'admin' });
  return (
    <div class="beside">
      {seesUsers ? <Spenders title="User" dimension="user" period={period} /> : null}
      <Spenders title="Model" dimension="model" period={period} />
      <Spenders title="Agent" dimension="agent" period={period} />
    </div>
  );
}

interface SpendersProps {
  title: string;
  dimension: 'model' | 'agent' | 'user';
  period: Period;
}

function Spenders({ title, dimension, period }: SpendersProps) {
  const query = { ...period.range, group_by: dimension };
  const known = useAnswer('GET /v1/costs/summary', { query });
  const path = may(usePerson(), { role: 'admin' }) ? '/app/costs' : '/app/usage';
  const all = urlWith(path, new URLSearchParams({ period: period.name }), { by: dimension });
  return (
    <section>
      <KnownAnswer known={known}>
        {({ groups, total_usd: total, truncated }) => (
          <DataTable
            caption={`Cost by ${title.toLowerCase()}`}
            file={`costs-${dimension}.csv`}
            parameter={`sort_${dimension}`}
            exports={
              <>
                <a href={all}>{`All by ${title.toLowerCase()}`}</a>
                <CostExport label="Save as CSV" query={query} />
              </>
            }
            columns={[
              groupColumn<Group>(title, dimension, runsIn(period.name, 'Cost')),
              figureColumn('Runs', ({ requests }: Group) => requests),
              shareColumn('Share', {
                part: ({ total_usd: cost }: Group) => Number(cost),
                total: Number(total),
              }),
              amountColumn('Cost', ({ total_usd: cost }: Group) => cost),
            ]}
            rows={groups
              .toSorted((one, other) => compareDecimals(other.total_usd, one.total_usd))
              .slice(0, mostListed)}
            keyOf={({ key }) => key[dimension] ?? ''}
            isTruncated={truncated}
            empty="No runs in this period."
          />
        )}
      </KnownAnswer>
    </section>
  );
}

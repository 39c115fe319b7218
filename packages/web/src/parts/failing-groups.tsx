import type { GroupKey, UsageSummary } from '@gatehouse/contract/usage';
import type { CurrentAnswer } from '../api/use-answer.ts';
import { byFigure } from '../format/order.ts';
import { figureColumn } from './columns.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';
import { groupColumn, type GroupLink } from './group-name.tsx';
import { KnownAnswer } from './known-answer.tsx';
import { reportTitles, type ReportDimension } from './cost-report.tsx';

/** Usage of a tenant, or of all tenants. */
export interface AnyUsage extends Omit<UsageSummary, 'groups'> {
  groups: (Omit<UsageSummary['groups'][number], 'key'> & { key: Partial<GroupKey> })[];
}

type Group = AnyUsage['groups'][number];

interface FailingGroupsProps {
  usage: CurrentAnswer<AnyUsage>;
  by: ReportDimension;
  hrefOf: GroupLink;
}

const mostListed = 5;
const byErrors = byFigure<Group>(({ errors }) => errors);
const byRefused = byFigure<Group>(({ refused }) => refused);

/** The groups with most failed runs, then those with most refused requests. */
export function FailingGroups({ usage, by, hrefOf }: FailingGroupsProps) {
  return (
    <section>
      <KnownAnswer known={usage}>
        {({ groups, truncated }) => (
          <DataTable
            caption="Failing"
            file={`failing-${by}.csv`}
            parameter="sort_failing"
            columns={columnsOf(by, hrefOf)}
            rows={groups
              .filter(({ errors, refused }) => errors > 0 || refused > 0)
              .toSorted((one, other) => byErrors(one, other) || byRefused(one, other))
              .slice(0, mostListed)}
            keyOf={({ key }) => key[by] ?? ''}
            isTruncated={truncated}
            empty="Nothing failed in this period."
          />
        )}
      </KnownAnswer>
    </section>
  );
}

function columnsOf(by: ReportDimension, hrefOf: GroupLink): DataColumn<Group>[] {
  return [
    groupColumn<Group>(reportTitles[by], by, hrefOf),
    figureColumn('Failed', ({ errors }) => errors),
    {
      header: 'Share',
      cell: ({ errors, requests }) => (
        <span class="share" aria-hidden="true">
          <span style={{ width: requests === 0 ? '0' : `${(errors / requests) * 100}%` }} />
        </span>
      ),
      value: null,
      text: () => '',
    },
    figureColumn('Runs', ({ requests }) => requests),
    figureColumn('Refused', ({ refused }) => refused),
  ];
}

import type { UsageSummary } from '@gatehouse/contract/usage';
import { useAnswer } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { urlWith, useView } from '../shell/location.tsx';
import { figureColumn, shareColumn, textColumn } from './columns.tsx';
import { DataTable, type DataColumn } from './data-table.tsx';
import { KnownAnswer } from './known-answer.tsx';
import type { Period } from './period-choice.tsx';
import { RefusalAdvice } from './refusal-advice.tsx';

type Group = UsageSummary['groups'][number];

interface RefusedByCodeProps {
  period: Period;
  /** Filters of counts, which the list beside it has, too. */
  filters: Record<'model' | 'api_key_id' | 'user_id' | 'agent_id' | 'channel', string>;
}

/** All refused requests of a period by their code; the list beside it has up to 1,000 of an hour. */
export function RefusedByCode({ period, filters }: RefusedByCodeProps) {
  const { path, query } = useView();
  const known = useAnswer('GET /v1/usage/summary', {
    query: { ...period.range, ...filters, group_by: 'error_code' },
  });
  const hrefOf = (code: string): string => urlWith(path, query, { error_code: code, cursor: '' });
  return (
    <KnownAnswer known={known}>
      {({ groups, totals }) =>
        totals.refused === 0 ? null : (
          <DataTable
            caption="Refused requests by code"
            file={`refused-${period.days.first}-${period.days.last}.csv`}
            parameter="sort_codes"
            columns={columnsOf(totals.refused, hrefOf)}
            rows={groups.filter(({ refused }) => refused > 0)}
            keyOf={codeOf}
            orderBy="Requests"
            totals={{ Requests: count(totals.refused) }}
            empty="No request was refused."
          />
        )
      }
    </KnownAnswer>
  );
}

const codeOf = ({ key }: Group): string => key.error_code ?? '';

function columnsOf(total: number, hrefOf: (code: string) => string): DataColumn<Group>[] {
  return [
    {
      ...textColumn('Code', codeOf),
      cell: (group) => (
        <a href={hrefOf(codeOf(group))}>
          <code>{codeOf(group)}</code>
        </a>
      ),
    },
    figureColumn('Requests', ({ refused }) => refused),
    shareColumn('Share', { part: ({ refused }) => refused, total }),
    { header: 'Next step', cell: (group) => <RefusalAdvice code={codeOf(group)} />, value: null },
  ];
}

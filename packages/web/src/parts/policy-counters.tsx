import type { OwnerPolicyCounter, PolicyCounter } from '@gatehouse/contract/policy-counters';
import { count } from '../format/amounts.ts';
import { amountColumn, timeColumn } from './columns.tsx';
import type { AnyPolicy } from './policy-draft.ts';
import type { PolicyPath } from './policy-form.tsx';
import { ResourceList } from './resource-list.tsx';
import { Section } from './section.tsx';
import type { Column } from './table.tsx';
import { TextLines } from './text-lines.tsx';

type AnyCounter = PolicyCounter | OwnerPolicyCounter;

/** Amounts spent and left of each value of a policy. */
export function PolicyCounters({ path, policy }: { path: PolicyPath; policy: AnyPolicy }) {
  return (
    <Section title="Counters">
      <ResourceList
        name={`GET ${path}/{policy}/counters`}
        input={{ params: { policy: policy.id } }}
        caption="Counters"
        columns={() => columnsOf(path, policy)}
        keyOf={(counter: AnyCounter) => `${tenantOf(counter)} ${counter.value ?? ''}`}
        empty="Nothing is counted in the present window yet."
        {...(policy.budget !== null && { sorts: { Spent: 'spent', Remaining: 'remaining' } })}
      />
    </Section>
  );
}

function columnsOf(path: PolicyPath, { per, budget }: AnyPolicy): Column<AnyCounter>[] {
  const isOwner = path.startsWith('/internal/');
  return [
    ...(isOwner ? [{ header: 'Tenant', cell: tenantOf }] : []),
    ...(per === null ? [] : [{ header: 'Value', cell: ({ value }: AnyCounter) => value ?? '' }]),
    ...(budget === null ? [] : moneyColumns),
    { header: 'Limits', cell: ({ limits }) => <TextLines texts={limits.map(limitText)} /> },
  ];
}

const moneyColumns: Column<AnyCounter>[] = [
  amountColumn<AnyCounter>('Spent', ({ spent_usd: amount }) => amount),
  amountColumn<AnyCounter>('Reserved', ({ reserved_usd: amount }) => amount),
  amountColumn<AnyCounter>('Remaining', ({ remaining_usd: amount }) => amount),
  amountColumn<AnyCounter>('Budget', ({ budget_usd: amount }) => amount),
  timeColumn<AnyCounter>('Resets', ({ resets_at: at }) => at, 'never'),
];

const resources: Record<PolicyCounter['limits'][number]['resource'], string> = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  concurrency: 'requests at a time',
};

function limitText({ resource, used, limit }: PolicyCounter['limits'][number]): string {
  return `${count(used)} of ${count(limit)} ${resources[resource]}`;
}

function tenantOf(counter: AnyCounter): string {
  return 'tenant_name' in counter ? counter.tenant_name : '';
}

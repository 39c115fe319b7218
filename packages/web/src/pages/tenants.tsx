import type { TenantBudget } from '@gatehouse/contract/owner-budgets';
import type { Tenant } from '@gatehouse/contract/tenants';
import { useAnswer } from '../api/use-answer.ts';
import { count, usd } from '../format/amounts.ts';
import { ActionButton } from '../parts/action-button.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { Choice } from '../parts/fields.tsx';
import { FilterField } from '../parts/filter-field.tsx';
import { NewTenantForm } from '../parts/new-tenant-form.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Name } from '../parts/name.tsx';
import { NewSecret } from '../parts/new-secret.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { SpentBudget } from '../parts/tenant-budgets.tsx';
import { TenantEditButton } from '../parts/tenant-edit-button.tsx';
import { Time } from '../parts/time.tsx';
import { useParameter } from '../shell/location.tsx';

const statuses = { '': 'any', active: 'active', suspended: 'suspended', archived: 'archived' };

/** The tenants of the platform. */
export function Tenants() {
  const [q] = useParameter('q');
  const [status, setStatus] = useParameter('status');
  const budgets = useAnswer('GET /internal/v1/owner/budgets', { query: { limit: '200' } });
  const budgetsById = new Map(budgets.answer?.data.map((budget) => [budget.tenant, budget]));
  return (
    <Creation
      label="Create a tenant"
      title="Create a tenant"
      createdTitle="The new tenant"
      form={(onCreated) => <NewTenantForm onCreated={onCreated} />}
      showMade={(secret) => <NewSecret label="Key of its first admin." secret={secret} />}
    >
      {(_show, round) => (
        <>
          <div class="choices">
            <FilterField label="Search" name="q" />
            <Choice label="Status" value={status} onChange={setStatus} options={statuses} />
          </div>
          <ResourceList
            key={round}
            name="GET /internal/v1/owner/tenants"
            input={{ query: { q, status } }}
            caption="Tenants"
            columns={(reload) => columnsOf(budgetsById, reload)}
            keyOf={({ id }) => id}
            empty="No tenant has such a name or status."
          />
        </>
      )}
    </Creation>
  );
}

/** `budgetsById`: those with the largest spent share. */
function columnsOf(budgetsById: ReadonlyMap<string, TenantBudget>, reload: () => void): Column<Tenant>[] {
  return [
    {
      header: 'Name',
      cell: ({ id, name }) => <Name id={id} name={name} href={`/app/?tenant_id=${id}&by=model`} />,
    },
    { header: 'Slug', cell: ({ slug }) => <code class="line">{slug}</code> },
    { header: 'Status', cell: ({ status }) => <Status state={status} /> },
    {
      header: 'Spent',
      cell: ({ id }) => {
        const budget = budgetsById.get(id);
        return budget === undefined ? '–' : <SpentBudget budget={budget} />;
      },
    },
    {
      header: 'Budget',
      cell: ({ budget }) => (budget === null ? 'none' : `${usd(budget.usd)}/${budget.period}`),
    },
    { header: 'Requests/min', cell: ({ limits }) => limit(limits.requests_per_minute), isNumber: true },
    { header: 'Tokens/min', cell: ({ limits }) => limit(limits.tokens_per_minute), isNumber: true },
    { header: 'Concurrency', cell: ({ limits }) => limit(limits.max_concurrent), isNumber: true },
    { header: 'Models', cell: ({ allowed_models: models }) => models?.join(', ') ?? 'all' },
    { header: 'Time zone', cell: ({ timezone }) => timezone },
    { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
    {
      header: 'Actions',
      cell: (tenant) => (
        <span class="actions">
          <TenantEditButton tenant={tenant} onDone={reload} />
          <StatusButton tenant={tenant} onDone={reload} />
        </span>
      ),
    },
  ];
}

function StatusButton({ tenant: { id, name, status }, onDone }: { tenant: Tenant; onDone: () => void }) {
  const endpoint = 'PATCH /internal/v1/owner/tenants/{id}';
  if (status === 'archived') return null;
  if (status === 'suspended')
    return (
      <>
        <ActionButton
          label="Activate"
          subject={name}
          name={endpoint}
          input={{ params: { id }, body: { status: 'active' } }}
          onDone={onDone}
        />
        <ConfirmedButton
          label="Archive"
          subject={name}
          name={endpoint}
          input={{ params: { id }, body: { status: 'archived' } }}
          onDone={onDone}
        >
          It is out of use for good: pages don’t bring it back. Nothing is deleted before its retention.
        </ConfirmedButton>
      </>
    );
  return (
    <ConfirmedButton
      label="Suspend"
      subject={name}
      name={endpoint}
      input={{ params: { id }, body: { status: 'suspended' } }}
      onDone={onDone}
    >
      All its keys and sessions get 403 within 5 seconds. Nothing is deleted.
    </ConfirmedButton>
  );
}

function limit(value: number | null | undefined): string {
  return value === null || value === undefined ? 'none' : count(value);
}

import type { budgetList } from '@gatehouse/contract/owner-budgets';
import type { Tenant } from '@gatehouse/contract/tenants';
import { useEffect, useRef } from 'preact/hooks';
import type { z } from 'zod';
import { useAnswer, type CurrentAnswer } from '../api/use-answer.ts';
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
import { useParameter, useView } from '../shell/location.tsx';

const statuses = { '': 'any', active: 'active', suspended: 'suspended', archived: 'archived' };

/** The tenants of the platform. */
export function Tenants() {
  const [status, setStatus] = useParameter('status');
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
          <TenantList key={round} status={status} />
        </>
      )}
    </Creation>
  );
}

function TenantList({ status }: { status: string }) {
  const [q] = useParameter('q');
  const budgets = useBudgets();
  return (
    <ResourceList
      name="GET /internal/v1/owner/tenants"
      input={{ query: { q, status } }}
      caption="Tenants"
      columns={(reload) =>
        columnsOf(budgets, () => {
          reload();
          budgets.reload();
        })
      }
      keyOf={({ id }) => id}
      empty="No tenant has such a name or status."
    />
  );
}

type Budgets = CurrentAnswer<z.output<typeof budgetList>>;

/** The budgets with the largest spent share, asked for again with each page of the list. */
function useBudgets(): Budgets {
  const budgets = useAnswer('GET /internal/v1/owner/budgets', { query: { limit: '200' } });
  const view = useView().query.toString();
  const lastView = useRef(view);
  useEffect(() => {
    if (lastView.current !== view) budgets.reload();
    lastView.current = view;
  }, [view]);
  return budgets;
}

/** The spent part of a tenant's budget. */
function Spent({ tenant: { id, budget }, budgets: { answer } }: { tenant: Tenant; budgets: Budgets }) {
  if (budget === null || answer === null) return <>–</>;
  const listed = answer.data.find(({ tenant }) => tenant === id);
  if (listed !== undefined) return <SpentBudget budget={listed} />;
  return answer.has_more ? <UnlistedSpent key={JSON.stringify(budget)} id={id} /> : <>–</>;
}

/** The same of a tenant with a share too small for the list of budgets. */
function UnlistedSpent({ id }: { id: string }) {
  const { answer } = useAnswer('GET /internal/v1/owner/budgets', { query: { tenant_id: id } });
  const [budget] = answer?.data ?? [];
  return budget === undefined ? <>–</> : <SpentBudget budget={budget} />;
}

function columnsOf(budgets: Budgets, reload: () => void): Column<Tenant>[] {
  return [
    {
      header: 'Name',
      cell: ({ id, name }) => <Name id={id} name={name} href={`/app/?tenant_id=${id}&by=model`} />,
    },
    { header: 'Slug', cell: ({ slug }) => <code class="line">{slug}</code> },
    { header: 'Status', cell: ({ status }) => <Status state={status} /> },
    { header: 'Spent', cell: (tenant) => <Spent tenant={tenant} budgets={budgets} /> },
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

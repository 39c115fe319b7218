import { ActionButton } from '../parts/action-button.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { FormButton } from '../parts/form-button.tsx';
import type { AnyPolicy } from '../parts/policy-draft.ts';
import { NewPolicyForm, PolicyForm, type PolicyPath } from '../parts/policy-form.tsx';
import { amountsOf, perOf, selectionOf } from '../parts/policy-texts.ts';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TextLines } from '../parts/text-lines.tsx';
import { count } from '../format/amounts.ts';

/** Limits and budgets of selected runs of the tenant. */
export function Policies() {
  return <PolicyList path="/v1/policies" page="/app/policies" />;
}

/** Limits and budgets of selected runs of all tenants. */
export function OwnerPolicies() {
  return <PolicyList path="/internal/v1/owner/policies" page="/app/owner-policies" />;
}

function PolicyList({ path, page }: { path: PolicyPath; page: string }) {
  return (
    <Creation
      label="Create a policy"
      title="Create a policy"
      form={(onCreated) => <NewPolicyForm path={path} onCreated={() => onCreated(null)} />}
    >
      {(_show, round) => (
        <ResourceList
          key={round}
          name={`GET ${path}`}
          input={{}}
          caption="Policies"
          columns={(reload) => columnsOf(path, page, reload)}
          keyOf={({ id }) => id}
          empty="There is no policy yet. Create one to bound what users, groups, agents or models may use."
        />
      )}
    </Creation>
  );
}

function columnsOf(path: PolicyPath, page: string, reload: () => void): Column<AnyPolicy>[] {
  return [
    {
      header: 'Name',
      cell: ({ id, name, enabled }) => (
        <>
          <a href={`${page}/${id}`}>{name}</a> {enabled ? null : <Status state="disabled" />}
        </>
      ),
    },
    { header: 'Counter per', cell: perOf },
    { header: 'For', cell: (policy) => <TextLines texts={selectionOf(policy)} /> },
    { header: 'Limits', cell: (policy) => <TextLines texts={amountsOf(policy)} /> },
    {
      header: 'Exceptions',
      cell: ({ overrides }) => count(Object.keys(overrides).length),
      isNumber: true,
    },
    {
      header: 'Actions',
      cell: (policy) => <PolicyButtons path={path} policy={policy} onDone={reload} />,
    },
  ];
}

interface PolicyButtonsProps {
  path: PolicyPath;
  policy: AnyPolicy;
  onDone: () => void;
}

function PolicyButtons({ path, policy, onDone }: PolicyButtonsProps) {
  const { id, name, enabled } = policy;
  // Tenants see those of the operator.
  if (name.startsWith('owner:')) return <span class="faint">of your operator</span>;
  return (
    <span class="actions">
      <FormButton label="Edit" subject={name} onDone={onDone}>
        {(done) => <PolicyForm path={path} policy={policy} onDone={done} />}
      </FormButton>
      <ActionButton
        label={enabled ? 'Disable' : 'Enable'}
        subject={name}
        name={`PATCH ${path}/{policy}`}
        input={{ params: { policy: id }, body: { enabled: !enabled } }}
        onDone={onDone}
      />
      <ConfirmedButton
        label="Delete"
        subject={name}
        name={`DELETE ${path}/{policy}`}
        input={{ params: { policy: id } }}
        onDone={onDone}
      >
        It bounds nothing any more, and its exceptions and counters are gone.
      </ConfirmedButton>
    </span>
  );
}

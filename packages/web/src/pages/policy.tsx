import type { PolicyOverride } from '@gatehouse/contract/policies';
import { useAnswer } from '../api/use-answer.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { textColumn, timeColumn } from '../parts/columns.tsx';
import { DataTable, type DataColumn } from '../parts/data-table.tsx';
import { Facts } from '../parts/facts.tsx';
import { TextField } from '../parts/fields.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import {
  newOverride,
  overrideBody,
  overrideDraft,
  overrideTexts,
  type OverrideDraft,
} from '../parts/override-draft.ts';
import { PolicyCounters } from '../parts/policy-counters.tsx';
import type { AnyPolicy } from '../parts/policy-draft.ts';
import type { PolicyPath } from '../parts/policy-form.tsx';
import { amountsOf, perOf, selectionOf } from '../parts/policy-texts.ts';
import { RateFields } from '../parts/rate-fields.tsx';
import { Section } from '../parts/section.tsx';
import { Status } from '../parts/status.tsx';
import { TextLines } from '../parts/text-lines.tsx';
import { Time } from '../parts/time.tsx';
import { useFields } from '../parts/use-fields.ts';
import type { PageProps } from './page.ts';

/** One policy of the tenant, what its values have spent, and its exceptions. */
export function PolicyPage({ id }: PageProps) {
  return <KnownPolicy path="/v1/policies" id={id} />;
}

/** One policy of the owner, what values of tenants have spent, and its exceptions. */
export function OwnerPolicyPage({ id }: PageProps) {
  return <KnownPolicy path="/internal/v1/owner/policies" id={id} />;
}

function KnownPolicy({ path, id }: { path: PolicyPath; id: string }) {
  const known = useAnswer(`GET ${path}/{policy}`, { params: { policy: id } });
  return (
    <KnownAnswer known={known}>
      {(policy: AnyPolicy) => (
        <>
          <PolicyFacts policy={policy} />
          {policy.name.startsWith('owner:') ? null : (
            <p class="actions">
              <FormButton label="Reset counters" onDone={known.reload}>
                {(done) => <ResetForm path={path} policy={policy} onDone={done} />}
              </FormButton>
            </p>
          )}
          <PolicyCounters path={path} policy={policy} />
          {policy.per === null ? null : <Overrides path={path} policy={policy} onDone={known.reload} />}
        </>
      )}
    </KnownAnswer>
  );
}

function PolicyFacts({ policy }: { policy: AnyPolicy }) {
  const { name, enabled, alerts, budget, counts_since: since } = policy;
  return (
    <Facts
      facts={{
        Name: name,
        Status: <Status state={enabled ? 'enabled' : 'disabled'} />,
        'Counter per': perOf(policy),
        For: <TextLines texts={selectionOf(policy)} />,
        Limits: <TextLines texts={amountsOf(policy)} />,
        Alerts: budget === null ? null : alerts.map((percent) => `${percent} %`).join(', '),
        'Counts since': <Time at={since} />,
      }}
    />
  );
}

const amountHint = 'Empty: that of the policy. none: no limit';

interface OverridesProps {
  path: PolicyPath;
  policy: AnyPolicy;
  onDone: () => void;
}

function ResetForm({ path, policy: { id, per }, onDone }: OverridesProps) {
  const { values, field } = useFields({ value: '' });
  return (
    <ActionForm
      label="Reset"
      name={`POST ${path}/{policy}/reset`}
      input={() => ({
        params: { policy: id },
        body: values.value === '' ? {} : { value: values.value },
      })}
      onDone={onDone}
    >
      <p>A new window begins within 5 seconds. Calls under way count in the one before.</p>
      {per === null ? null : (
        <TextField
          label="Value"
          {...field('value')}
          maxLength={512}
          hint="The user, agent or other value with the counter. Empty: all counters"
        />
      )}
    </ActionForm>
  );
}

interface NamedOverride {
  value: string;
  override: PolicyOverride;
}

const facts: DataColumn<NamedOverride>[] = [
  textColumn('Value', ({ value }) => value),
  {
    header: 'Amounts',
    cell: ({ override }) => <TextLines texts={overrideTexts(override)} />,
    value: ({ override }) => overrideTexts(override).join(', '),
  },
  timeColumn('Until', ({ override: { until } }) => until),
  textColumn('Note', ({ override: { note } }) => note ?? ''),
];

function Overrides({ path, policy, onDone }: OverridesProps) {
  const isChangeable = !policy.name.startsWith('owner:');
  const rows = Object.entries(policy.overrides).map(([value, override]) => ({ value, override }));
  const columns = isChangeable ? [...facts, actionsColumn({ path, policy, onDone })] : facts;
  return (
    <Section title="Exceptions">
      {isChangeable ? (
        <p class="actions">
          <FormButton label="Add an exception" onDone={onDone}>
            {(done) => <OverrideForm {...{ path, policy }} draft={newOverride} onDone={done} />}
          </FormButton>
        </p>
      ) : null}
      <DataTable
        caption="Exceptions"
        file={`exceptions-of-${policy.name}.csv`}
        columns={columns}
        rows={rows}
        keyOf={({ value }) => value}
        empty="There is no exception. All values have the amounts of the policy."
      />
    </Section>
  );
}

function actionsColumn({ path, policy, onDone }: OverridesProps): DataColumn<NamedOverride> {
  return {
    header: 'Actions',
    value: null,
    cell: ({ value, override }) => (
      <span class="actions">
        <FormButton label="Edit" subject={`exception of ${value}`} onDone={onDone}>
          {(done) => (
            <OverrideForm {...{ path, policy }} draft={overrideDraft(value, override)} onDone={done} />
          )}
        </FormButton>
        <ConfirmedButton
          label="Delete"
          subject={`exception of ${value}`}
          name={`DELETE ${path}/{policy}/overrides/{value}`}
          input={{ params: { policy: policy.id, value } }}
          onDone={onDone}
        >
          The amounts of the policy hold for it again.
        </ConfirmedButton>
      </span>
    ),
  };
}

interface OverrideFormProps extends OverridesProps {
  draft: OverrideDraft;
}

function OverrideForm({ path, policy: { id, per, budget }, draft, onDone }: OverrideFormProps) {
  const { values, field } = useFields(draft);
  return (
    <ActionForm
      label="Save"
      name={`PUT ${path}/{policy}/overrides/{value}`}
      input={() => ({ params: { policy: id, value: values.value }, body: overrideBody(values) })}
      onDone={onDone}
    >
      {draft.value === '' ? (
        <TextField
          label="Value"
          {...field('value')}
          isRequired
          maxLength={512}
          hint={per === 'user' ? 'A user ID, or group:<name> for the users of a group' : 'As it is counted'}
        />
      ) : null}
      {budget === null ? null : (
        <TextField label="Budget in USD" {...field('budget_usd')} hint={amountHint} />
      )}
      <RateFields field={field} hint={amountHint} isText />
      <TextField label="Until" {...field('until')} hint="For example 2027-01-31T00:00:00Z. Empty: no end" />
      <TextField label="Note" {...field('note')} maxLength={500} />
    </ActionForm>
  );
}

import { changesOf } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { Choice, TextField } from './fields.tsx';
import {
  newPolicy,
  newPolicyBody,
  periods,
  pers,
  policyBody,
  policyDraft,
  type AnyPolicy,
  type PolicyDraft,
} from './policy-draft.ts';
import { RateFields } from './rate-fields.tsx';
import { SelectFields } from './select-fields.tsx';
import { useFields } from './use-fields.ts';

/** The policies of a tenant, or those of the owner. */
export type PolicyPath = '/v1/policies' | '/internal/v1/owner/policies';

function isOwnerPath(path: PolicyPath): boolean {
  return path === '/internal/v1/owner/policies';
}

/** Creates a policy. */
export function NewPolicyForm({ path, onCreated }: { path: PolicyPath; onCreated: () => void }) {
  const isOwner = isOwnerPath(path);
  const fields = useFields(newPolicy);
  const { field } = fields;
  return (
    <ActionForm
      label="Create"
      name={`POST ${path}`}
      input={() => ({ body: newPolicyBody(fields.values, isOwner) })}
      onDone={onCreated}
    >
      <NameField {...fields} />
      <Choice<string>
        label="Counter per"
        {...field('per')}
        options={isOwner ? pers.owner : pers.tenant}
        hint="Limits and budget hold for each of them. This never changes."
      />
      <SettingFields {...fields} isOwner={isOwner} hasPeriod />
    </ActionForm>
  );
}

interface PolicyFormProps {
  path: PolicyPath;
  policy: AnyPolicy;
  onDone: () => void;
}

/** Changes a policy. */
export function PolicyForm({ path, policy, onDone }: PolicyFormProps) {
  const isOwner = isOwnerPath(path);
  const fields = useFields(() => policyDraft(policy));
  return (
    <ActionForm
      label="Save"
      name={`PATCH ${path}/{policy}`}
      input={() => ({
        params: { policy: policy.id },
        body: changesOf(policyBody(policyDraft(policy), isOwner), policyBody(fields.values, isOwner)),
      })}
      onDone={onDone}
    >
      <NameField {...fields} />
      <SettingFields {...fields} isOwner={isOwner} hasPeriod={policy.budget === null} />
    </ActionForm>
  );
}

type Fields = ReturnType<typeof useFields<PolicyDraft>>;

function NameField({ field }: Pick<Fields, 'field'>) {
  return (
    <TextField
      label="Name"
      {...field('name')}
      isRequired
      maxLength={64}
      hint="Lower case. Errors of refused requests name it."
    />
  );
}

interface SettingFieldsProps extends Pick<Fields, 'field'> {
  isOwner: boolean;
  /** Whether the period can be chosen: it never changes. */
  hasPeriod: boolean;
}

function SettingFields({ field, isOwner, hasPeriod }: SettingFieldsProps) {
  return (
    <>
      <RateFields field={field} hint="Empty: no limit" />
      <TextField
        label="Budget in USD"
        {...field('usd')}
        param="budget"
        isNumber="decimal"
        hint="Empty: no budget"
      />
      {hasPeriod ? (
        <Choice label="Budget per" {...field('period')} param="budget.period" options={periods} />
      ) : null}
      <TextField label="Alert at percent" {...field('alerts')} hint="Of the budget, each once in a period" />
      <Choice
        label="When the budget is spent"
        {...field('enforce')}
        options={{ true: 'refuse requests', false: 'count and alert only' }}
      />
      <SelectFields field={field} isOwner={isOwner} />
    </>
  );
}

import { ActionForm } from './action-form.tsx';
import { CheckFields } from './check-fields.tsx';
import { Checks } from './checks.tsx';
import { Choice, LinesField, LongTextField, TextField } from './fields.tsx';
import {
  actions,
  checkTypes,
  guarded,
  guardrailChanges,
  guardrailDraft,
  newGuardrail,
  newGuardrailBody,
  type AnyGuardrail,
  type GuardrailDraft,
} from './guardrail-draft.ts';
import { SelectFields } from './select-fields.tsx';
import { useFields } from './use-fields.ts';

/** The guardrails of a tenant, or those of the owner. */
export type GuardrailPath = '/v1/guardrails' | '/internal/v1/owner/guardrails';

function isOwnerPath(path: GuardrailPath): boolean {
  return path === '/internal/v1/owner/guardrails';
}

/** Creates a guardrail. */
export function NewGuardrailForm({ path, onCreated }: { path: GuardrailPath; onCreated: () => void }) {
  const isOwner = isOwnerPath(path);
  const fields = useFields(newGuardrail);
  return (
    <ActionForm
      label="Create"
      name={`POST ${path}`}
      input={() => ({ body: newGuardrailBody(fields.values, isOwner) })}
      onDone={onCreated}
    >
      <GuardrailFields fields={fields} isOwner={isOwner} isStored={false} />
    </ActionForm>
  );
}

interface GuardrailFormProps {
  path: GuardrailPath;
  guardrail: AnyGuardrail;
  onDone: () => void;
}

/** Changes a guardrail. Its credentials stay unless they are typed again. */
export function GuardrailForm({ path, guardrail, onDone }: GuardrailFormProps) {
  const isOwner = isOwnerPath(path);
  const before = guardrailDraft(guardrail);
  const fields = useFields(() => before);
  const { values } = fields;
  const isStored = before.login !== 'none' && before.type === values.type && before.login === values.login;
  return (
    <ActionForm
      label="Save"
      name={`PATCH ${path}/{guardrail}`}
      input={() => ({
        params: { guardrail: guardrail.id },
        body: guardrailChanges(before, values, isOwner),
      })}
      onDone={onDone}
    >
      <GuardrailFields fields={fields} isOwner={isOwner} isStored={isStored} />
    </ActionForm>
  );
}

interface GuardrailFieldsProps {
  fields: ReturnType<typeof useFields<GuardrailDraft>>;
  isOwner: boolean;
  isStored: boolean;
}

function GuardrailFields({ fields, isOwner, isStored }: GuardrailFieldsProps) {
  const { field } = fields;
  return (
    <>
      <TextField
        label="Name"
        {...field('name')}
        isRequired
        maxLength={64}
        hint="Lower case. Blocked requests name it."
      />
      <Choice label="Check" {...field('type')} param="check" options={checkTypes} />
      <CheckFields {...fields} isStored={isStored} />
      <Choice label="Action" {...field('action')} options={actions} />
      <BehaviourFields fields={fields} />
      <SelectFields field={field} isOwner={isOwner} />
    </>
  );
}

const texts = (['system', 'user', 'tool_result', 'answer', 'tool_call'] as const).map(
  (text) => [text, guarded[text]] as const,
);
const outside = new Set(['moderation', 'model', 'presidio', 'webhook']);

function BehaviourFields({ fields: { field, values } }: Pick<GuardrailFieldsProps, 'fields'>) {
  return (
    <>
      <Checks legend="Texts (none: all that the check can read)" options={texts} {...field('on')} />
      <LinesField
        label="Exceptions"
        {...field('except')}
        rows={2}
        hint="Texts that are no match, one per line; * stands for any text"
      />
      <LongTextField
        label="Message"
        {...field('message')}
        rows={2}
        hint="For the client of a blocked request or answer"
      />
      <Choice
        label="Pictures, files and other parts that no check can read"
        {...field('unreadable')}
        options={{ allow: 'allow', block: 'block' }}
      />
      <Choice
        label="If the check fails"
        {...field('on_error')}
        options={{ '': 'by the action', closed: 'block', open: 'let the text pass' }}
      />
      {outside.has(values.type) ? (
        <TextField label="Time-out in ms" {...field('timeout_ms')} isRequired isNumber="whole" />
      ) : null}
      <TextField
        label="Hold of streamed answers"
        {...field('hold')}
        maxLength={6}
        hint="answer: all of it; a number: pieces of so many characters, for checks that ask outside. Empty: the default"
      />
    </>
  );
}

import { ActionButton } from '../parts/action-button.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { actions, checkTypes, type AnyGuardrail } from '../parts/guardrail-draft.ts';
import { GuardrailForm, NewGuardrailForm, type GuardrailPath } from '../parts/guardrail-form.tsx';
import { GuardrailTest } from '../parts/guardrail-test.tsx';
import { selectionOf } from '../parts/policy-texts.ts';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { TextLines } from '../parts/text-lines.tsx';

/** Checks of the texts of selected runs of the tenant. */
export function Guardrails() {
  return <GuardrailList path="/v1/guardrails" />;
}

/** Checks of the texts of selected runs of all tenants. */
export function OwnerGuardrails() {
  return <GuardrailList path="/internal/v1/owner/guardrails" />;
}

function GuardrailList({ path }: { path: GuardrailPath }) {
  return (
    <Creation
      label="Create a guardrail"
      title="Create a guardrail"
      form={(onCreated) => <NewGuardrailForm path={path} onCreated={() => onCreated(null)} />}
    >
      {(_show, round) => (
        <ResourceList
          key={round}
          name={`GET ${path}`}
          input={{}}
          caption="Guardrails"
          columns={(reload) => columnsOf(path, reload)}
          keyOf={({ id }) => id}
          empty="There is no guardrail yet. Create one to check what goes to models."
        />
      )}
    </Creation>
  );
}

function columnsOf(path: GuardrailPath, reload: () => void): Column<AnyGuardrail>[] {
  return [
    {
      header: 'Name',
      cell: ({ name, enabled }) => (
        <>
          {name} {enabled ? null : <Status state="disabled" />}
        </>
      ),
    },
    { header: 'Check', cell: ({ check }) => checkTypes[check.type] },
    { header: 'Action', cell: ({ action }) => actions[action] },
    { header: 'Texts go to', cell: recipientOf },
    { header: 'For', cell: (guardrail) => <TextLines texts={selectionOf(guardrail)} /> },
    {
      header: 'Actions',
      cell: (guardrail) => <GuardrailButtons path={path} guardrail={guardrail} onDone={reload} />,
    },
  ];
}

/** The host or the model that gets the texts; empty for a check of the gateway itself. */
function recipientOf({ check }: AnyGuardrail): string {
  if ('url' in check) return URL.parse(check.url)?.host ?? check.url;
  return 'model' in check ? check.model : '';
}

interface GuardrailButtonsProps {
  path: GuardrailPath;
  guardrail: AnyGuardrail;
  onDone: () => void;
}

function GuardrailButtons({ path, guardrail, onDone }: GuardrailButtonsProps) {
  const { id, name, enabled } = guardrail;
  const test =
    path === '/v1/guardrails' && enabled ? (
      <FormButton label="Test" subject={name}>
        {() => <GuardrailTest name={name} />}
      </FormButton>
    ) : null;
  // Tenants see those of the operator.
  if (name.startsWith('owner:'))
    return (
      <span class="actions">
        <span class="faint">of your operator</span>
        {test}
      </span>
    );
  return (
    <span class="actions">
      {test}
      <FormButton label="Edit" subject={name} onDone={onDone}>
        {(done) => <GuardrailForm path={path} guardrail={guardrail} onDone={done} />}
      </FormButton>
      <ActionButton
        label={enabled ? 'Disable' : 'Enable'}
        subject={name}
        name={`PATCH ${path}/{guardrail}`}
        input={{ params: { guardrail: id }, body: { enabled: !enabled } }}
        onDone={onDone}
      />
      <ConfirmedButton
        label="Delete"
        subject={name}
        name={`DELETE ${path}/{guardrail}`}
        input={{ params: { guardrail: id } }}
        onDone={onDone}
      >
        It checks no text any more.
      </ConfirmedButton>
    </span>
  );
}

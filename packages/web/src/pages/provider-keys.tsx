import { useAnswer } from '../api/use-answer.ts';
import { textOrNull, trimmed } from '../format/changes.ts';
import { ActionForm } from '../parts/action-form.tsx';
import { ConfirmedButton } from '../parts/confirmed-button.tsx';
import { Creation } from '../parts/creation.tsx';
import { Choice, LinesField, TextField } from '../parts/fields.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import { useFields } from '../parts/use-fields.ts';

/** The tenant's own keys at model providers. */
export function ProviderKeys() {
  return (
    <Creation
      label="Add a key"
      title="Add a key of a provider"
      form={(onCreated) => <NewProviderKeyForm onCreated={onCreated} />}
    >
      {(_show, round) => (
        <>
          <p class="faint">
            Requests for models of a provider are made with your newest key for it, and never with the
            platform’s. They don’t count towards budgets. To rotate a key, add its successor and then delete
            it.
          </p>
          <ResourceList
            key={round}
            name="GET /v1/provider-keys"
            input={{}}
            caption="Provider keys"
            columns={(reload) => [
              { header: 'Provider', cell: ({ provider }) => provider },
              { header: 'Prefix', cell: ({ prefix }) => <code>{prefix}</code> },
              { header: 'Status', cell: ({ status }) => <Status state={status} /> },
              { header: 'Models', cell: ({ models }) => models?.join(', ') ?? 'all' },
              { header: 'User', cell: ({ user_id: user }) => user ?? 'all' },
              { header: 'Last used', cell: ({ last_used_at: at }) => <Time at={at} otherwise="never" /> },
              { header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
              {
                header: 'Actions',
                cell: ({ id, provider, prefix }) => (
                  <span class="actions">
                    <ConfirmedButton
                      label="Delete"
                      subject={`the key ${prefix}… of ${provider}`}
                      name="DELETE /v1/provider-keys/{id}"
                      input={{ params: { id } }}
                      onDone={reload}
                    >
                      Within 5 seconds, requests are made with another of your keys, or else with the
                      platform’s.
                    </ConfirmedButton>
                  </span>
                ),
              },
            ]}
            keyOf={({ id }) => id}
            empty="There is no key of your own. Add one to pay a provider yourself."
          />
        </>
      )}
    </Creation>
  );
}

function NewProviderKeyForm({ onCreated }: { onCreated: (secret: null) => void }) {
  const known = useAnswer('GET /v1/models', {});
  const { values, field } = useFields({
    provider: '',
    key: '',
    models: [] as readonly string[],
    user_id: '',
  });
  const { provider, key, user_id } = values;
  const models = trimmed(values.models);
  const input = () => ({
    body: { provider, key, user_id: textOrNull(user_id), models: models.length === 0 ? null : models },
  });
  return (
    <ActionForm
      label="Add"
      name="POST /v1/provider-keys"
      input={input}
      onDone={() => onCreated(null)}
      isIncomplete={provider === ''}
    >
      <KnownAnswer known={known}>
        {({ data }) => (
          <Choice
            label="Provider"
            {...field('provider')}
            options={providersOf(data.map(({ owned_by: owner }) => owner))}
          />
        )}
      </KnownAnswer>
      <TextField
        label="Key"
        {...field('key')}
        isRequired
        maxLength={4_096}
        hint="It is checked at the provider, stored encrypted and never shown again"
      />
      <LinesField
        label="Models"
        {...field('models')}
        hint="One per line; gpt-4* matches every model with this prefix. Empty: all of the provider"
      />
      <TextField
        label="User"
        {...field('user_id')}
        maxLength={255}
        hint="The key is for requests of this user alone. Empty: for all"
      />
    </ActionForm>
  );
}

/** The providers of models; agents belong to the tenant. */
function providersOf(owners: readonly string[]): Record<string, string> {
  const providers = [...new Set(owners)].filter((owner) => owner !== 'tenant').toSorted();
  return { '': 'Choose a provider', ...Object.fromEntries(providers.map((name) => [name, name])) };
}

import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { changesOf } from '../format/changes.ts';
import { ActionForm } from './action-form.tsx';
import { Choice, LinesField, TextField } from './fields.tsx';
import {
  authOf,
  isAuthSent,
  isSecretRepeated,
  logins,
  newServer,
  serverBody,
  serverDraft,
  transports,
  trusts,
  type ServerDraft,
} from './mcp-server-draft.ts';
import { useFields } from './use-fields.ts';

type Fields = ReturnType<typeof useFields<ServerDraft>>;

/** Registers a server with tools for agents. */
export function NewMcpServerForm({ onCreated }: { onCreated: (created: WireMcpServer) => void }) {
  const fields = useFields(newServer);
  const { values } = fields;
  return (
    <ActionForm
      label="Register"
      name="POST /v1/mcp/servers"
      input={() => ({ body: { ...serverBody(values), auth: authOf(values) } })}
      onDone={onCreated}
    >
      <ServerFields fields={fields} secret="new" />
    </ActionForm>
  );
}

interface McpServerFormProps {
  server: WireMcpServer;
  onDone: () => void;
}

/** Changes a server. Its secrets stay unless the authentication changes, for which they are typed again. */
export function McpServerForm({ server, onDone }: McpServerFormProps) {
  const before = serverDraft(server);
  const fields = useFields(before);
  const { values } = fields;
  const input = () => ({
    params: { id: server.id },
    body: {
      ...changesOf(serverBody(before), serverBody(values)),
      ...(isAuthSent(before, values) && { auth: authOf(values) }),
    },
  });
  return (
    <ActionForm label="Save" name="PATCH /v1/mcp/servers/{id}" input={input} onDone={onDone}>
      <ServerFields fields={fields} secret={secretState(before, values)} />
    </ActionForm>
  );
}

/** Whether a secret is typed for the first time, left as it is stored, or typed again to survive the change. */
type SecretState = 'new' | 'kept' | 'repeated';

function secretState(before: ServerDraft, values: ServerDraft): SecretState {
  if (isSecretRepeated(before, values)) return 'repeated';
  return isAuthSent(before, values) ? 'new' : 'kept';
}

const secretHints: Record<SecretState, string> = {
  new: 'It is never shown again',
  kept: 'Empty: unchanged',
  repeated: 'Type it again: the authentication is stored as a whole',
};

function ServerFields({ fields, secret }: { fields: Fields; secret: SecretState }) {
  const { field } = fields;
  return (
    <>
      <TextField
        label="Name"
        {...field('name')}
        isRequired
        maxLength={64}
        hint="Lower case: models get its tools as NAME__TOOL"
      />
      <TextField label="URL" {...field('url')} isRequired maxLength={2_000} />
      <Choice label="Authentication" {...field('login')} options={logins} />
      <AuthFields fields={fields} state={secret} />
      <Choice label="Transport" {...field('transport')} options={transports} />
      <TextField
        label="Time-out of a call in milliseconds"
        {...field('timeout_ms')}
        isRequired
        isNumber="whole"
      />
      <Choice
        label="Changed tools"
        {...field('trust')}
        options={trusts}
        hint="When the server changes the definition of a tool"
      />
    </>
  );
}

function AuthFields({ fields: { values, field }, state }: { fields: Fields; state: SecretState }) {
  const { login, client } = values;
  const needsClient = login === 'oauth_client_credentials';
  const needsSecret = login === 'bearer' || needsClient;
  return (
    <>
      {login === 'headers' ? (
        <LinesField
          label="Headers"
          {...field('headers')}
          param="auth.headers"
          hint={
            state === 'new'
              ? 'One per line, as NAME: VALUE. They are never shown again'
              : 'One per line, as NAME: VALUE. Stored values are not shown: to change one, type all of them'
          }
        />
      ) : null}
      {login.startsWith('oauth') ? (
        <>
          <TextField
            label="Client ID"
            {...field('client')}
            param="auth.client_id"
            maxLength={2_000}
            {...(needsClient ? { isRequired: true } : { hint: 'Empty: dynamic client registration' })}
          />
          <TextField
            label="Scopes"
            {...field('scope')}
            param="auth.scope"
            maxLength={1_000}
            hint="With spaces between them"
          />
        </>
      ) : null}
      {needsSecret || (login.startsWith('oauth') && client !== '') ? (
        <TextField
          label={login === 'bearer' ? 'Token' : 'Client secret'}
          {...field('secret')}
          param={login === 'bearer' ? 'auth.token' : 'auth.client_secret'}
          maxLength={8_192}
          isRequired={state === 'repeated' || (needsSecret && state === 'new')}
          hint={secretHints[state]}
        />
      ) : null}
    </>
  );
}

import type { EndpointName } from '../api/endpoint-types.ts';
import { ActionButton } from './action-button.tsx';
import { ConfirmedButton } from './confirmed-button.tsx';

/** Resources with the actions disable and delete. */
type Path =
  | '/v1/webhooks/endpoints/{id}'
  | '/v1/webhooks/subscriptions/{id}'
  | '/internal/v1/owner/webhook-subscriptions/{id}'
  | '/v1/channels/instances/{id}'
  | '/v1/mcp/servers/{id}';
type Changes = Extract<EndpointName, `PATCH ${Path}`>;
type Deletions = Extract<EndpointName, `DELETE ${Path}`>;

interface EnabledButtonsProps<Resource extends Path> {
  path: Resource;
  id: string;
  /** The name of the resource, for people who hear the page. */
  subject: string;
  enabled: boolean;
  /** The effect of deleting it, in a sentence. */
  effect: string;
  onDone: () => void;
}

/** Buttons to disable, enable and delete a resource. */
export function EnabledButtons<Resource extends Path>(props: EnabledButtonsProps<Resource>) {
  const { path, id, subject: of, enabled, effect, onDone } = props;
  const change: Changes = `PATCH ${path}`;
  const deletion: Deletions = `DELETE ${path}`;
  return (
    <>
      <ActionButton
        label={enabled ? 'Disable' : 'Enable'}
        subject={of}
        name={change}
        input={{ params: { id }, body: { enabled: !enabled } }}
        onDone={onDone}
      />
      <ConfirmedButton label="Delete" subject={of} name={deletion} input={{ params: { id } }} onDone={onDone}>
        {effect}
      </ConfirmedButton>
    </>
  );
}

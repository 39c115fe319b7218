import type { tenantAlertTypes } from '@gatehouse/contract/alert-types';
import { ActionForm } from './action-form.tsx';
import { Checks } from './checks.tsx';
import { TextField } from './fields.tsx';
import { useFields } from './use-fields.ts';

type AlertType = (typeof tenantAlertTypes)[number];

const types: Record<AlertType, string> = {
  'budget.threshold': 'A budget is spent by 50, 80 or 100 %',
  'limit.exceeded': 'A limit was exceeded',
  'run.failed': 'A run failed',
  'endpoint.disabled': 'An address that gets results or events was disabled',
  'channel.needs_reauth': 'A channel needs consent again',
  'mcp.needs_auth': 'An MCP server needs a login',
  'mcp.tool_changed': 'A tool of an MCP server has changed',
  'provider_key.failing': 'A provider refuses a key of yours',
  'key.expiring': 'An API key expires soon',
  'transfer.finished': 'A transfer has finished',
};
const options = Object.entries(types) as [AlertType, string][];

/** Subscribes an address to events. */
export function NewSubscriptionForm({ onCreated }: { onCreated: (secret: string) => void }) {
  const { values, field } = useFields({ url: '', types: [] as readonly AlertType[] });
  return (
    <ActionForm
      label="Subscribe"
      name="POST /v1/webhooks/subscriptions"
      input={() => ({ body: { url: values.url, event_types: [...values.types] } })}
      onDone={({ secret }) => onCreated(secret)}
      isIncomplete={values.types.length === 0}
    >
      <TextField label="Address" {...field('url')} isRequired maxLength={2_000} />
      <Checks legend="Events" options={options} {...field('types')} />
    </ActionForm>
  );
}

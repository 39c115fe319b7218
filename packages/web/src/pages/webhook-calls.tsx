import { useAnswer } from '../api/use-answer.ts';
import { EndpointNextSteps } from '../parts/endpoint-next-steps.tsx';
import { KnownAnswer } from '../parts/known-answer.tsx';
import { ResourceList } from '../parts/resource-list.tsx';
import { Status } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';
import type { PageProps } from './page.ts';

/** One endpoint: its calls, its address and a line to try it. */
export function WebhookCalls({ id }: PageProps) {
  const endpoint = useAnswer('GET /v1/webhooks/endpoints/{id}', { params: { id } });
  return (
    <>
      <Calls id={id} />
      <h2>Address</h2>
      <KnownAnswer known={endpoint}>{(known) => <EndpointNextSteps endpoint={known} />}</KnownAnswer>
    </>
  );
}

function Calls({ id }: { id: string }) {
  return (
    <ResourceList
      name="GET /v1/webhooks/endpoints/{id}/calls"
      input={{ params: { id } }}
      caption="Calls, newest first"
      columns={() => [
        {
          header: 'Received',
          cell: ({ call_id: call, created_at: at }) => (
            <a href={`/app/webhook-calls/${call}`}>
              <Time at={at} />
            </a>
          ),
        },
        { header: 'Status', cell: ({ status }) => <Status state={status} /> },
        { header: 'Mode', cell: ({ mode }) => mode },
        { header: 'Delivery ID', cell: ({ delivery_id: delivery }) => delivery ?? '–' },
        { header: 'User', cell: ({ user_id: user }) => user ?? '–' },
        { header: 'Error', cell: ({ error }) => error?.message ?? '' },
      ]}
      keyOf={({ call_id: call }) => call}
      empty="No sender has called this endpoint yet."
    />
  );
}
